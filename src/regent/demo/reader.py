"""The demo's consumers: members of a group, and one that reads everything again."""

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message
from confluent_kafka import TopicPartition as ClientPartition

from regent.demo.arrivals import Arrivals
from regent.demo.client_settings import COMMON, CONSUMER, GROUP, PATIENCE_S
from regent.demo.numbered_records import to_number
from regent.model.ids import TopicPartition

POLL_S: Final = 0.1
BATCH_RECORDS: Final = 1_000


class GroupReader:
    """One member of the group; what it reads is committed as it goes."""

    def __init__(self, bootstrap: str, topics: Sequence[str], arrivals: Arrivals) -> None:
        self.count = 0
        self._arrivals = arrivals
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **COMMON, **CONSUMER})
        self._consumer.subscribe(list(topics))
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo reader", daemon=True)

    def start(self) -> None:
        """Join the group, and read."""
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, once."""
        if not self._enough.is_set():
            self._enough.set()
            if self._thread.is_alive():
                self._thread.join()
            self._consumer.close()

    def _run(self) -> None:
        while not self._enough.is_set():
            message = self._consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                self.count += 1
                self._arrivals.note(_name_of(message), monotonic())


def read_all(
    bootstrap: str, names: Sequence[TopicPartition]
) -> dict[TopicPartition, dict[int, int]]:
    """By partition, the number of the record at each offset; read outside of any group."""
    settings = {"group.id": f"{GROUP}-audit", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, **COMMON, **settings})
    found: dict[TopicPartition, dict[int, int]] = {name: {} for name in names}
    try:
        missing = {name: _end_of(consumer, name) for name in names}
        consumer.assign([ClientPartition(*name, OFFSET_BEGINNING) for name in names])
        deadline_s = monotonic() + PATIENCE_S
        while any(missing.values()) and monotonic() < deadline_s:
            for message in consumer.consume(BATCH_RECORDS, POLL_S):
                offset = message.offset()
                if message.error() is None and offset is not None:
                    found[_name_of(message)][offset] = to_number(message.value())
                    missing[_name_of(message)] -= 1
    finally:
        consumer.close()
    return found


def _end_of(consumer: Consumer, name: TopicPartition) -> int:
    marks = consumer.get_watermark_offsets(ClientPartition(*name), timeout=PATIENCE_S)
    return marks[1]


def _name_of(message: Message) -> TopicPartition:
    topic, partition = message.topic(), message.partition()
    assert topic is not None, "a record comes from a topic"
    assert partition is not None, "and from one of its partitions"
    return TopicPartition(topic, partition)
