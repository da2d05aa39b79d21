"""Nodes that are stopped, started again, and started where they must not be."""

import resource
import signal
import subprocess
from pathlib import Path

import pytest

from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.options import ZooKeeperOptions
from tests.node.nodes import Nodes
from tests.node.test_nodes_and_their_clients import described, leader_of, make_topic, read_all
from tests.runtime.listener.clients import (
    CLIENT_WARNINGS,
    confluent_admin,
    kafka_python,
    kafka_python_errors,
)
from tests.support.waiting import eventually

pytestmark = CLIENT_WARNINGS


def produce(nodes: Nodes, *values: bytes) -> None:
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=nodes.bootstrap, acks="all", retry_backoff_ms=50
    )
    for value in values:
        producer.send("orders", value, partition=0).get(timeout=30)
    producer.close()


def test_a_stopped_node_hands_its_leaderships_over_and_comes_back_into_the_isr(
    three: Nodes,
) -> None:
    make_topic(three)
    produce(three, b"a")
    leader = leader_of(three)

    assert three.stop(leader) == 0
    assert "all leaderships are handed over" in three.log(leader).read_text()
    assert (three.data(leader) / ".kafka_cleanshutdown").exists()
    produce(three, b"b")
    three.start(leader)
    eventually(lambda: len(described(three)[0]["isr_nodes"]) == 3, "its return to the ISR")

    assert read_all(three, 2) == [b"a", b"b"]


def test_what_all_have_survives_that_all_are_killed(three: Nodes) -> None:
    make_topic(three)
    produce(three, b"a", b"b")
    for node_id in (1, 2, 3):
        three.kill(node_id)

    three.start(1, 2, 3)
    leader_of(three)
    produce(three, b"c")

    assert read_all(three, 3) == [b"a", b"b", b"c"]


def test_nobody_starts_on_another_ones_data(nodes: Nodes) -> None:
    nodes.start(1)

    said = nodes.refused(2, "--data", str(nodes.data(1)))

    assert "is in use by another process" in said
    nodes.stop(1)
    assert "says broker.id=1" in nodes.refused(2, "--data", str(nodes.data(1)))


def test_nobody_takes_the_id_of_another(nodes: Nodes, tmp_path: Path) -> None:
    nodes.start(1)
    elsewhere = str(tmp_path / "elsewhere")

    said = nodes.refused(
        1,
        *("--data", elsewhere, "--journal", f"{elsewhere}-journal", "--listen", "127.0.0.1:0"),
        *("--session-timeout-ms", "500"),
    )

    assert "another process is broker 1 in this cluster" in said


def test_a_port_in_use_is_named(nodes: Nodes) -> None:
    nodes.start(1)

    said = nodes.refused(2, "--listen", nodes.bootstrap)

    assert f"cannot listen on {nodes.bootstrap}" in said


def test_a_leader_whose_disk_is_full_goes_and_takes_nothing_along(three: Nodes) -> None:
    """Its last write is undone and not acknowledged; the producer goes on with the next leader."""
    make_topic(three)
    leader = leader_of(three)
    process = three.by_id[leader].process
    values = [b"%d" % number + bytes(50_000) for number in range(10)]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (5 * len(values[0]), -1))

    produce(three, *values)

    eventually(lambda: process.poll() is not None, "the end of the leader")
    assert process.returncode not in {0, -signal.SIGXFSZ}
    assert "is offline: [Errno 27] File too large" in three.log(leader).read_text()
    assert leader_of(three) != leader
    assert read_all(three, len(values)) == values
    three.kill(leader)
    three.start(leader)
    eventually(lambda: len(described(three)[0]["isr_nodes"]) == 3, "its return to the ISR")


def test_a_topics_own_settings_hold_at_once_and_when_they_change(nodes: Nodes) -> None:
    """A record may be large until the topic says that it may not."""
    nodes.start(1)
    admin = confluent_admin.AdminClient({"bootstrap.servers": nodes.bootstrap})
    new = confluent_admin.NewTopic("orders", 1, 1, config={"max.message.bytes": "1000"})
    for future in admin.create_topics([new]).values():
        future.result(timeout=30)
    produce(nodes, b"a")
    wanted = confluent_admin.ConfigEntry(
        "max.message.bytes",
        "100",
        incremental_operation=confluent_admin.AlterConfigOpType.SET,
    )
    topic = confluent_admin.ConfigResource(
        confluent_admin.ResourceType.TOPIC, "orders", incremental_configs=[wanted]
    )
    for future in admin.incremental_alter_configs([topic]).values():
        future.result(timeout=30)
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=nodes.bootstrap, acks="all", retries=0, enable_idempotence=False
    )

    def look() -> bool:
        try:
            producer.send("orders", bytes(200), partition=0).get(timeout=30)
        except kafka_python_errors.MessageSizeTooLargeError:
            return True
        return False

    eventually(look, "a refusal")
    producer.close()


def test_a_second_signal_ends_a_node_whose_controller_does_not_answer(tmp_path: Path) -> None:
    """It is itself the controller, and without ZooKeeper it cannot even refuse."""
    with EmbeddedZooKeeper(tmp_path / "zookeeper") as server:
        options = ZooKeeperOptions(connect=f"{server.address}/kafka", creates_chroot=True)
        with Nodes(options, tmp_path) as nodes:
            nodes.start(1)
            admin = confluent_admin.AdminClient({"bootstrap.servers": nodes.bootstrap})
            eventually(lambda: admin.list_topics(timeout=30).controller_id == 1, "its own word")
            process = nodes.by_id[1].process
            server.kill()
            eventually(lambda: "resigned" in nodes.log(1).read_text(), "the end of its reign")
            process.terminate()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(2)
            process.terminate()
            assert process.wait(60) == 0
