"""Topics on Apache's brokers, from their creation to their end, by whatever tool."""

from typing import Any, Final

import pytest

from tests.interop.apache_tools import Tool
from tests.interop.led_cluster import LedCluster
from tests.interop.operator_tools import Operator
from tests.runtime.listener.clients import CLIENT_WARNINGS, confluent, confluent_admin

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

OFFSETS_TOPIC: Final = "__consumer_offsets"
ANSWER_S: Final = 120.0


def test_topics_live_and_die_by_apaches_own_tool(led: LedCluster) -> None:
    """Created, grown and deleted; what the tool reads back is what was wanted."""
    topic = "by-the-tool"
    operator = Operator(led.apache)

    operator.create(topic, 2)
    operator.grow(topic, 4)
    told = led.tool(Tool.TOPICS, "--describe", "--topic", topic)
    assert "PartitionCount: 4" in told
    assert "ReplicationFactor: 3" in told

    operator.delete(topic)


def test_topics_live_and_die_by_a_client(led: LedCluster) -> None:
    """The admin client of librdkafka finds the controller among the live brokers."""
    topic = "by-a-client"
    admin: Any = confluent_admin.AdminClient({"bootstrap.servers": led.apache.bootstrap})

    created = admin.create_topics([confluent_admin.NewTopic(topic, 2, 3)])
    created[topic].result(ANSWER_S)
    led.apache.wait_until_led(topic, 2)
    grown = admin.create_partitions([confluent_admin.NewPartitions(topic, 3)])
    grown[topic].result(ANSWER_S)
    led.apache.wait_until_led(topic, 3)

    admin.delete_topics([topic])[topic].result(ANSWER_S)
    Operator(led.apache).wait_until_gone(topic)


def test_brokers_keep_the_topic_ids_that_regent_gave_them(led: LedCluster) -> None:
    """`partition.metadata` stands beside every replica."""
    if led.apache.mode.protocol != "3.9":
        pytest.skip("protocol 2.6 has no topic ids, and 2.8 keeps those of new topics in memory")
    led.create_topic("named")

    def ids() -> list[str]:
        return [
            metadata.read_text()
            for broker_id in led.apache.broker_ids
            for log_dir in led.apache.broker(broker_id).log_dirs
            for metadata in log_dir.glob("named-0/partition.metadata")
        ]

    led.apache.wait_for(lambda: len(ids()) == 3, "the topic's id on all brokers")
    assert set(ids()) == {f"version: 0\ntopic_id: {led.apache.topic_id('named')}"}


def test_internal_topics_lie_on_brokers_only(led: LedCluster) -> None:
    """Brokers list Regent among them. Whoever places replicas must not place any there."""
    led.create_topic("read")
    consumer: Any = confluent.Consumer(
        {
            "bootstrap.servers": led.apache.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe(["read"])
        led.apache.wait_for(
            lambda: consumer.poll(0.2) is None and len(consumer.assignment()) == 1,
            "the group to have its first member",
        )
    finally:
        consumer.close()

    led.apache.wait_until_led(OFFSETS_TOPIC, 4)
    placed = {
        replica
        for partition in led.apache.partitions(OFFSETS_TOPIC)
        for replica in partition.assignment.replicas
    }
    assert placed == set(led.apache.broker_ids)


def test_topics_that_brokers_create_by_themselves_lie_on_brokers_only(led: LedCluster) -> None:
    """One for each of twenty names: each time somebody chooses among the listed nodes."""
    topics = [f"unasked-{number}" for number in range(20)]
    producer: Any = confluent.Producer({"bootstrap.servers": led.apache.bootstrap})
    for topic in topics:
        producer.produce(topic, b"first")
    assert producer.flush(ANSWER_S) == 0

    placed = {
        replica
        for topic in topics
        for partition in led.apache.partitions(topic)
        for replica in partition.assignment.replicas
    }
    assert placed == set(led.apache.broker_ids)
