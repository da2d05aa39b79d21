"""What a consumer reads in the end, from the first record of a topic to the last committed one."""

from time import monotonic, sleep
from typing import Any, Final, NamedTuple

from regent.errors import RegentError
from regent.model.ids import TopicPartition
from tests.runtime.listener.clients import confluent

ANSWER_S: Final = 30.0
#: Without a single record for so long, something is wrong.
STANDSTILL_S: Final = 60.0


class ReadPartition(NamedTuple):
    """The committed records of a partition by offset."""

    high_watermark: int
    values: dict[int, bytes]


class ReadingStopped(RegentError):  # noqa: N818 - the name says it
    """A consumer got no further."""


def read_topics(
    bootstrap: str, topics: tuple[str, ...], partition_count: int
) -> dict[TopicPartition, ReadPartition]:
    """Everything that is committed now."""
    consumer: Any = confluent.Consumer(
        {
            "bootstrap.servers": bootstrap,
            # It is asked for, and not used: nothing is committed and nobody joins.
            "group.id": "judge",
            "enable.auto.commit": False,
            "check.crcs": True,
            "log_level": 0,
            "error_cb": lambda _error: None,
        }
    )
    names = [TopicPartition(each, index) for each in topics for index in range(partition_count)]
    try:
        return {name: _read(consumer, name) for name in names}
    finally:
        consumer.close()


def _read(consumer: Any, name: TopicPartition) -> ReadPartition:
    place = confluent.TopicPartition(name.topic, name.partition, 0)
    place.offset, high_watermark = _watermarks(consumer, place)
    values: dict[int, bytes] = {}
    consumer.assign([place])
    deadline_s = monotonic() + STANDSTILL_S
    while not values or max(values) < high_watermark - 1:
        if not high_watermark:
            break
        for message in consumer.consume(1_000, timeout=0.2):
            if message.error() is None:
                values[message.offset()] = message.value()
                deadline_s = monotonic() + STANDSTILL_S
        if monotonic() > deadline_s:
            raise ReadingStopped(f"{name}: nothing is read after {len(values)} records")
    return ReadPartition(high_watermark, values)


def _watermarks(consumer: Any, place: Any) -> tuple[int, int]:
    """The first and the end; leaders may have moved since the consumer last heard of them."""
    deadline_s = monotonic() + STANDSTILL_S
    while True:
        try:
            first, end = consumer.get_watermark_offsets(place, timeout=ANSWER_S)
        except confluent.KafkaException:
            if monotonic() > deadline_s:
                raise
            sleep(0.1)
            consumer.list_topics(place.topic, timeout=ANSWER_S)
        else:
            return first, end
