"""`regent controller` as a process, with brokers on real sockets, and clients nobody here wrote.

Each client takes a topic from its creation to its end: created, described, grown, moved, led by
its preferred replica, deleted. The commands of Regent do the same.

A client may ask any broker what there is: one that has just started, or is told last, does not
know the topic yet, or knows how it was before.
"""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from regent.cli.main import main
from tests.runtime.listener.clients import (
    confluent,
    confluent_admin,
    kafka_python,
    kafka_python_admin,
)
from tests.support.leading import Leading
from tests.support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

PREFERRED = 0
NO_LEADER = -1
#: No leader, no replicas.
NOWHERE: tuple[int, list[int]] = (NO_LEADER, [])


@pytest.mark.requirement("K1")
def test_kafka_python_does_all_of_it(leading: Leading) -> None:
    logging.getLogger("kafka").setLevel(logging.ERROR)
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=leading.bootstrap)
    partition = kafka_python.TopicPartition("orders", 0)

    def placed() -> dict[int, tuple[int, list[int]]]:
        (topic,) = admin.describe_topics(["orders"])
        return {
            p["partition_index"]: (p["leader_id"], p["replica_nodes"]) for p in topic["partitions"]
        }

    def is_elected() -> bool:
        admin.elect_leaders(PREFERRED, {"orders": [0]}, raise_errors=False)
        return placed().get(0) == (spare, target)

    try:
        admin.create_topics([kafka_python_admin.NewTopic("orders", 1, 2)])
        ((_, replicas),) = eventually(lambda: placed() or None, "the topic").values()
        (spare,) = {1, 2, 3} - set(replicas)
        target = [spare, replicas[0]]
        admin.create_partitions({"orders": kafka_python_admin.NewPartitions(2)})
        eventually(lambda: list(placed()) == [0, 1], "the new partition")
        admin.alter_partition_reassignments({partition: target})
        eventually(lambda: placed().get(0, NOWHERE)[1] == target, "the move")
        eventually(is_elected, "the preferred leader")
        admin.delete_topics(["orders"])
        eventually(lambda: admin.list_topics() == [], "the deletion")
    finally:
        admin.close()


@pytest.mark.requirement("K1")
def test_confluent_kafka_does_all_that_it_can(leading: Leading) -> None:
    """It cannot move partitions: librdkafka has no such request."""
    admin = confluent_admin.AdminClient({"bootstrap.servers": leading.bootstrap})

    def done(futures: Any) -> None:
        for future in futures.values():
            future.result(timeout=60)

    def described() -> Any:
        return admin.list_topics(timeout=60).topics

    def partitions() -> Any:
        topic = described().get("orders")
        return {} if topic is None else topic.partitions

    def leader() -> int | None:
        first = partitions().get(0)
        return None if first is None else first.leader

    def is_elected() -> bool:
        # Refused until the controller, too, has the replica in the ISR.
        admin.elect_leaders(
            confluent.ElectionType.PREFERRED, [confluent.TopicPartition("orders", 0)]
        ).result(timeout=60)
        return bool(leader() == preferred)

    done(admin.create_topics([confluent_admin.NewTopic("orders", 1, 2)]))
    preferred = eventually(lambda: partitions() or None, "the topic")[0].replicas[0]
    done(admin.create_partitions([confluent_admin.NewPartitions("orders", 2)]))
    eventually(lambda: sorted(partitions()) == [0, 1], "the new partition")
    leading.brokers.kill(preferred)
    eventually(lambda: leader() not in (preferred, NO_LEADER, None), "another leader")
    leading.brokers.start(preferred)
    eventually(is_elected, "its leadership")
    done(admin.delete_topics(["orders"]))
    eventually(lambda: "orders" not in described(), "the deletion")


@pytest.mark.requirement("K1")
def test_the_commands_do_all_of_it(
    leading: Leading, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what they print can be read by a script."""

    def regent(*arguments: str) -> Any:
        assert main([*arguments, "--bootstrap", leading.bootstrap, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    plan = tmp_path / "plan.json"
    plan.write_text(
        '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [3, 1]}]}'
    )
    regent("topics", "create", "orders", "--replica-assignment", "1:2")
    regent("topics", "add-partitions", "orders", "--to", "2")
    regent("reassign", "start", str(plan), "--wait")
    # These brokers only obey; they have no configs that a throttle could be in.
    regent("reassign", "verify", str(plan), "--preserve-throttles")
    regent("elect", "preferred", "--all")
    status = regent("status")

    assert (status["controller_id"], status["partition_count"]) == (100, 2)
    assert status["offline"] == status["under_replicated"] == status["not_preferred"] == []
    assert main(["status", "--zookeeper", leading.connect, "--json"]) == 0
    from_zookeeper = json.loads(capsys.readouterr().out)
    assert from_zookeeper["controller_epoch"] == 1
    assert from_zookeeper["offline"] == from_zookeeper["under_replicated"] == []
    assert from_zookeeper["partition_count"] == 2
    regent("topics", "delete", "orders")
    eventually(lambda: regent("topics", "list") == [], "the deletion")


def test_a_live_cluster_can_be_kept_and_asked(
    leading: Leading, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From its ZooKeeper, with nothing changed there."""
    bootstrap = ("--bootstrap", leading.bootstrap)
    assert main(["topics", "create", "orders", "--replica-assignment", "1:2,2:3", *bootstrap]) == 0
    kept = tmp_path / "kept.json"

    assert main(["snapshot", "--zookeeper", leading.connect, "--output", str(kept)]) == 0
    capsys.readouterr()
    questions = ("--broker-dies", "1", "--json")
    assert main(["what-if", str(kept), *questions]) == 0
    from_file = json.loads(capsys.readouterr().out)
    assert main(["what-if", "--zookeeper", leading.connect, *questions]) == 0
    from_life = json.loads(capsys.readouterr().out)

    assert from_file == from_life
    assert from_file["partition_count"] == 2
    assert from_file["changes"]


def test_a_topic_that_zookeeper_would_not_take_costs_nobody_the_role(
    leading: Leading, capsys: pytest.CaptureFixture[str]
) -> None:
    """One znode has the whole assignment, and a server takes a megabyte."""
    huge = ["topics", "create", "huge", "--partitions", "90000", "--replication-factor", "3"]

    assert main([*huge, "--bootstrap", leading.bootstrap]) == 1

    assert "so many partitions in one znode" in capsys.readouterr().out
    assert leading.controllers.elected().controller_epoch == 1


@pytest.mark.requirement("E9")
def test_the_role_is_handed_over_on_request(
    leading: Leading, capsys: pytest.CaptureFixture[str]
) -> None:
    """To whoever stands by; with nobody there it stays where it is, and that is said."""
    resign = ["controller", "resign", "--zookeeper", leading.connect]

    assert main(resign) == 1
    assert "nobody else stands" in capsys.readouterr().err

    # It has a session; until it has seen who is in office it does not stand yet.
    leading.controllers.start(101).credentials()
    eventually(lambda: main(resign) == 0, "another one in office")
    assert "100 gave the role up; 101 is the controller now" in capsys.readouterr().out
