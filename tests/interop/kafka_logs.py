"""`make kafka-logs`: what Apache's own brokers write into their logs while things happen to them.

One short story is played on three brokers of each release, led by one of themselves, with every
line on that there is. Their `state-change.log` and `controller.log` stay in
`build/kafka-logs/VERSION/broker-N/`, beside `story.json`, which says what happened.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import Holder, free_controller
from regent.zookeeper.kazoo_session import KazooSession
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_tools import Tool
from tests.interop.kafka_jars import JarsMissing
from tests.interop.operator_tools import Operator

#: One for each era of the controller; the oldest that a Java of today can run is the first.
VERSIONS: Final = ("0.10.2.2", "1.1.1", "2.4.1", "2.8.2", "3.9.1")
RESULT: Final = Path("build/kafka-logs")
LOGS: Final = ("state-change.log", "controller.log")
#: Before, a controller did not notice that a broker had forgotten everything between two looks.
BOUNCES_NOTICED_SINCE: Final = (2, 2)
#: Before 1.0, topics were deleted only where somebody had allowed it.
CONFIG: Final = {"delete.topic.enable": "true"}
RECORDS: Final = 200


class Reign(Struct, frozen=True):
    """Who was the controller, and in which epoch."""

    controller_id: int
    controller_epoch: int


class Succession(Struct, frozen=True):
    """A leader that was killed, and who led its partition then."""

    topic: str
    partition: int
    killed: int
    leader: int
    leader_epoch: int


class Story(Struct, kw_only=True):
    """What was done to the brokers, for whoever wants to find it in their logs."""

    version: str
    reigns: list[Reign] = []
    succession: Succession | None = None
    bounced: int | None = None
    stopped: int | None = None
    moved: str = ""
    deleted: str = ""


class StoryTeller:
    """Plays the story on a cluster that has just been opened."""

    def __init__(self, apache: ApacheCluster) -> None:
        self.story = Story(version=apache.mode.version)
        self._apache = apache
        self._operator = Operator(apache)

    def play(self) -> None:
        """From the first broker to the last deletion."""
        self._apache.start()
        self._note_reign()
        self._topics_come()
        self._a_leader_dies()
        if self._apache.mode.release >= BOUNCES_NOTICED_SINCE:
            self._a_broker_bounces()
        self._a_broker_stops()
        self._a_partition_moves()
        self._operator.elect_preferred()
        self._controllers_change()
        self._a_topic_goes()
        assert self._holder() == self._reign(), "nobody else was in office"

    def _topics_come(self) -> None:
        self._operator.create("orders", 3)
        self._operator.create("payments", 1, replicas=2)
        self._apache.tool(
            *(Tool.PRODUCER, "--topic", "orders", "--num-records", str(RECORDS)),
            *("--record-size", "100", "--throughput", "1000"),
            *("--producer-props", f"bootstrap.servers={self._apache.bootstrap}", "acks=all"),
        )
        self._operator.grow("orders", 4)

    def _a_leader_dies(self) -> None:
        """Of a partition that the controller does not lead: it shall see it."""
        controller_id = self._reign().controller_id
        partition, killed = next(
            (each.partition, each.leadership.leader)
            for each in self._apache.partitions("orders")
            if each.leadership is not None and each.leadership.leader != controller_id
        )
        self._apache.kill(killed)
        self._apache.wait_for(
            lambda: self._apache.leader("orders", partition) != killed, "another leader"
        )
        after = self._apache.partition("orders", partition).leadership
        assert after is not None, "a partition stays written"
        self.story.succession = Succession(
            "orders", partition, killed, after.leader, after.leader_epoch
        )
        self._bring_back(killed)

    def _a_broker_bounces(self) -> None:
        """The controller looks away meanwhile, and finds the same id with another epoch."""
        bounced = self._other_than_controller()
        controller = self._apache.broker(self._reign().controller_id)
        controller.pause()
        try:
            self._apache.kill(bounced)
            self._apache.broker(bounced).launch()
            self._apache.wait_for(
                lambda: bounced in self._apache.known().brokers, f"broker {bounced} to register"
            )
        finally:
            controller.resume()
        self._apache.wait_until_known(bounced)
        self._apache.wait_until_led("orders", 4)
        self.story.bounced = bounced

    def _a_broker_stops(self) -> None:
        stopped = self._other_than_controller()
        self._apache.stop(stopped)
        self._bring_back(stopped)
        self.story.stopped = stopped

    def _a_partition_moves(self) -> None:
        first, second = self._apache.partition("payments").assignment.replicas
        (third,) = set(self._apache.broker_ids) - {first, second}
        self._operator.move("payments", (third, second))
        self.story.moved = "payments"

    def _controllers_change(self) -> None:
        """One gives the role up, the next dies with it."""
        with closing(KazooSession.open(self._apache.zookeeper_options)) as session:
            run(session, free_controller(self._apache.holder()))
        self._note_reign()
        killed = self._reign().controller_id
        self._apache.kill(killed)
        self._note_reign()
        self._bring_back(killed)

    def _a_topic_goes(self) -> None:
        self._operator.delete("payments")
        self.story.deleted = "payments"

    def _bring_back(self, broker_id: int) -> None:
        self._apache.start(broker_id)
        self._apache.wait_until_led("orders", 4)

    def _other_than_controller(self) -> int:
        controller_id = self._reign().controller_id
        return next(each for each in self._apache.broker_ids if each != controller_id)

    def _note_reign(self) -> None:
        """The next controller is in office, and all know it."""
        before = self._reign().controller_epoch if self.story.reigns else 0
        holder = self._apache.holder(after=before)
        self._apache.wait_until_followed(holder.node_id)
        self.story.reigns.append(_reign_of(holder))

    def _reign(self) -> Reign:
        return self.story.reigns[-1]

    def _holder(self) -> Reign:
        return _reign_of(self._apache.holder())


def _reign_of(holder: Holder) -> Reign:
    return Reign(holder.node_id, holder.controller_epoch)


def make_logs(version: str, out: Path) -> Path:
    """Play the story on this release; the folder with its logs, made anew."""
    kept = out / version
    with tempfile.TemporaryDirectory(prefix="kafka-logs-") as made:
        with ApacheCluster(Path(made), 3, version, config=CONFIG) as apache:
            teller = StoryTeller(apache)
            teller.play()
        shutil.rmtree(kept, ignore_errors=True)
        for broker_id in apache.broker_ids:
            folder = kept / f"broker-{broker_id}"
            folder.mkdir(parents=True)
            for log in LOGS:
                shutil.copy(apache.broker(broker_id).folder / log, folder / log)
    (kept / "story.json").write_bytes(
        msgspec.json.format(msgspec.json.encode(teller.story), indent=2) + b"\n"
    )
    return kept


def main(say: Callable[[str], object] = print) -> int:
    """The exit code is 1 if a release could not be had."""
    parser = argparse.ArgumentParser(prog="tests.interop.kafka_logs", description=__doc__)
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--out", type=Path, default=RESULT, metavar="DIR")
    options = parser.parse_args()
    missing = 0
    for version in options.versions:
        try:
            say(f"{version}: {make_logs(version, options.out)}")
        except JarsMissing as error:
            say(f"{version}: {error}")
            missing += 1
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
