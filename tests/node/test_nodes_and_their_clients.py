"""Three `regent node` processes, and a client nobody here wrote: what is acknowledged is kept."""

import logging
from typing import Any

import pytest

from tests.node.nodes import Nodes
from tests.runtime.listener.clients import CLIENT_WARNINGS, kafka_python, kafka_python_admin
from tests.support.waiting import eventually

pytestmark = CLIENT_WARNINGS

PARTITION = kafka_python.TopicPartition("orders", 0)


@pytest.fixture(autouse=True)
def quiet() -> None:
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def make_topic(nodes: Nodes, name: str = "orders", partitions: int = 1) -> None:
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=nodes.bootstrap)
    try:
        admin.create_topics([kafka_python_admin.NewTopic(name, partitions, 3)])
    finally:
        admin.close()


def leader_of(nodes: Nodes, topic: str = "orders", partition: int = 0) -> int:
    """As the nodes that are alive tell it."""

    def look() -> int | None:
        leader = described(nodes, topic).get(partition, {}).get("leader_id")
        return leader if leader in nodes.by_id else None

    return eventually(look, "a leader")


def described(nodes: Nodes, topic: str = "orders") -> dict[int, dict[str, Any]]:
    """The partitions of a topic, as some node that is alive tells it."""
    admin = kafka_python.KafkaAdminClient(bootstrap_servers=nodes.bootstrap)
    try:
        (told,) = admin.describe_topics([topic])
    finally:
        admin.close()
    return {each["partition_index"]: each for each in told["partitions"]}


def read_all(nodes: Nodes, count: int) -> list[bytes]:
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=nodes.bootstrap, auto_offset_reset="earliest", group_id=None
    )
    values: list[Any] = []

    def look() -> bool:
        for records in consumer.poll(timeout_ms=200).values():
            values.extend(record.value for record in records)
        return len(values) >= count

    try:
        consumer.assign([PARTITION])
        eventually(look, f"{count} records")
    finally:
        consumer.close()
    return values


def test_a_killed_leader_takes_no_acknowledged_record_along(three: Nodes) -> None:
    make_topic(three)
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=three.bootstrap, acks="all", retry_backoff_ms=50
    )
    acknowledged = []
    leader = leader_of(three)
    for number in range(60):
        if number == 20:
            three.kill(leader)
        producer.send("orders", b"%d" % number, partition=0).get(timeout=30)
        acknowledged.append(b"%d" % number)
    producer.close()

    assert read_all(three, len(acknowledged)) == acknowledged
    assert leader_of(three) != leader
