"""The demo's producer, and what was acknowledged to it."""

import threading
from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from regent.demo.arrivals import Arrivals
from regent.demo.client_settings import COMMON, PATIENCE_S, PRODUCER
from regent.demo.numbered_records import to_value
from regent.demo.reckoning import Acknowledged
from regent.errors import RegentError
from regent.model.ids import TopicPartition

WRITE_EVERY_S: Final = 0.01


class SteadyWriter:
    """Writes a numbered record to every partition of its topics, again and again."""

    def __init__(self, bootstrap: str, arrivals: Arrivals) -> None:
        self.arrivals = arrivals
        #: By partition, the records that were acknowledged, each by its number.
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {}
        self.count = 0
        #: Records that were given up, by the reason.
        self.refused: Counter[str] = Counter()
        self._producer = Producer({"bootstrap.servers": bootstrap, **COMMON, **PRODUCER})
        self._partitions: tuple[TopicPartition, ...] = ()
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._number = 0
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo writer", daemon=True)

    @property
    def partitions(self) -> Sequence[TopicPartition]:
        """What is written now."""
        return self._partitions

    def start(self, partitions: Sequence[TopicPartition]) -> None:
        """Begin to write there."""
        self._partitions = tuple(partitions)
        self._thread.start()

    def leave(self, topic: str) -> None:
        """Write no more to a topic; returns when all that was sent has its answer."""
        with self._lock:
            self._partitions = tuple(each for each in self._partitions if each.topic != topic)
        deadline_s = monotonic() + PATIENCE_S
        while self._under_way[topic]:
            if monotonic() > deadline_s:
                raise RegentError(f"{self._under_way[topic]} records of {topic} got no answer")
            self._enough.wait(WRITE_EVERY_S)
        self.arrivals.forget(topic)

    def finish(self) -> None:
        """Stop writing, and wait for the answers to what was sent."""
        self.stop()
        if left := self._producer.flush(PATIENCE_S):
            raise RegentError(f"{left} records got no answer within {PATIENCE_S:g} s")

    def stop(self) -> None:
        """Stop writing."""
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._enough.is_set():
            with self._lock:
                for name in self._partitions:
                    self._write(name)
            self._producer.poll(WRITE_EVERY_S)
            self._enough.wait(WRITE_EVERY_S)

    def _write(self, name: TopicPartition) -> None:
        self._number += 1
        number = self._number

        def answered(error: KafkaError | None, message: Message) -> None:
            self._under_way[name.topic] -= 1
            if error is not None:
                self.refused[error.name()] += 1
                return
            answer = Acknowledged(number, message.offset())
            self.acknowledged.setdefault(name, []).append(answer)
            self.count += 1
            self.arrivals.note(name, monotonic())

        try:
            self._producer.produce(
                name.topic, to_value(number), partition=name.partition, on_delivery=answered
            )
        except BufferError:
            return  # so much is under way that no more fits; the next round will do
        self._under_way[name.topic] += 1
