"""What a controller shows over HTTP: whether it could lead, and its figures under Kafka's names."""

import re
import urllib.error
import urllib.request
from pathlib import Path

from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.options import ZooKeeperOptions
from tests.support.controllers import ControllerProcess, Controllers
from tests.support.obedient_broker import ObedientBrokers
from tests.support.topics import write_topic
from tests.support.waiting import eventually

HTTP = ("--metrics", "127.0.0.1:0")


def page(process: ControllerProcess, path: str) -> tuple[int, str]:
    """A page, and with what status it came."""
    said = eventually(
        lambda: re.search(r"HTTP on port (\d+)", process.log.read_text()), "where it listens"
    )
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{said[1]}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def figure(process: ControllerProcess, name: str) -> float | None:
    """One figure of a controller, if it shows it."""
    _, text = page(process, "/metrics")
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return None if found is None else float(found[1])


def test_the_one_in_office_shows_the_cluster_and_a_standby_shows_nothing(
    zookeeper_options: ZooKeeperOptions, tmp_path: Path
) -> None:
    """Both are healthy; what only a controller knows is zero elsewhere."""
    kafka = "kafka_controller_KafkaController_"
    with (
        ObedientBrokers(zookeeper_options, range(1, 3)),
        Controllers(zookeeper_options, tmp_path) as controllers,
    ):
        write_topic(controllers.session, "orders", {0: (1, 2), 1: (2, 9), 2: (9,)})
        leader = controllers.start(101, *HTTP)
        controllers.elected()
        standby = controllers.start(102, *HTTP)

        eventually(
            lambda: figure(leader, f"{kafka}GlobalPartitionCount") == 2.0, "the led partitions"
        )
        assert figure(leader, f"{kafka}ActiveControllerCount") == 1
        assert figure(leader, f"{kafka}ActiveBrokerCount") == 2
        assert figure(leader, "regent_controller_epoch") == 1
        queue = 'kafka_controller_ControllerChannelManager_QueueSize{broker_id="1"}'
        assert figure(leader, queue) is not None
        assert page(leader, "/healthz") == (200, "active\n")
        eventually(lambda: page(standby, "/healthz") == (200, "standby\n"), "a standby")
        assert figure(standby, f"{kafka}ActiveControllerCount") == 0
        assert figure(standby, f"{kafka}ActiveBrokerCount") == 0
        assert figure(standby, f"{kafka}CurrentControllerId") == 101


def test_without_zookeeper_it_says_that_it_could_not_lead(tmp_path: Path) -> None:
    """So that whoever looks after it knows."""
    with EmbeddedZooKeeper(tmp_path / "zookeeper") as server:
        options = ZooKeeperOptions(connect=f"{server.address}/kafka", creates_chroot=True)
        with Controllers(options, tmp_path) as controllers:
            alone = controllers.start(101, *HTTP)
            controllers.elected()

            server.stop()

            eventually(lambda: page(alone, "/healthz")[0] == 503, "the missing session")
