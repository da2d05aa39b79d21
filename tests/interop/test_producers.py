"""Producers of the Java client: idempotent ones, and transactional ones."""

from typing import Any, Final

import pytest

from tests.interop.apache_tools import Tool
from tests.interop.led_cluster import LedCluster
from tests.runtime.listener.clients import CLIENT_WARNINGS, confluent

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

RECORDS: Final = 500
TRANSACTIONAL: Final = ("--transactional-id", "of-the-tool", "--transaction-duration-ms", "50")


@pytest.mark.parametrize(
    ("topic", "options"),
    [("idempotent", ()), ("transactional", TRANSACTIONAL)],
    ids=["idempotent", "transactional"],
)
def test_producers_of_the_java_client_get_their_ids(
    led: LedCluster, topic: str, options: tuple[str, ...]
) -> None:
    """Every such producer needs an id, which comes from the controller or through ZooKeeper."""
    led.create_topic(topic)

    led.apache.run_tool(
        *(Tool.PRODUCER, "--topic", topic, "--num-records", str(RECORDS)),
        *("--record-size", "100", "--throughput", "1000", *options),
        *("--producer-props", f"bootstrap.servers={led.apache.bootstrap}"),
        *("acks=all", "enable.idempotence=true"),
    )

    assert count_committed(led, topic) == RECORDS


def count_committed(led: LedCluster, topic: str) -> int:
    """What a reader gets that waits for transactions to end."""
    consumer: Any = confluent.Consumer(
        {
            "bootstrap.servers": led.apache.bootstrap,
            "group.id": f"readers of {topic}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    read: list[bytes] = []

    def is_at_the_end() -> bool:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            read.append(message.value())
        return bool(
            message is not None
            and message.error() is not None
            and message.error().code() == confluent.KafkaError._PARTITION_EOF
        )

    try:
        consumer.assign([confluent.TopicPartition(topic, 0, confluent.OFFSET_BEGINNING)])
        led.apache.wait_for(is_at_the_end, f"the end of {topic}")
    finally:
        consumer.close()
    return len(read)
