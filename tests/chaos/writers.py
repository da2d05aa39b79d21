"""Two producers that nobody here wrote, each idempotent and with acks=all, writing all the time.

A writer never has more than a few hundred records without an outcome, and gives a record up only
after minutes: in a campaign everything is mended long before that.
"""

import logging
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Final, Self

from tests.chaos.ledger import Ledger, Note
from tests.runtime.listener.clients import confluent, kafka_python

#: Long enough for every fault of a campaign, and for a machine that does ten other things.
DELIVERY_MS: Final = 300_000
OPEN_MAX: Final = 300
#: Between two rounds, of one record for each partition.
PAUSE_S: Final = 0.02


class Writer(ABC):
    """A thread that writes to all partitions of a topic while the context lasts."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run, name=ledger.writer, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self.close()

    def stop(self) -> None:
        """Write no more; what is under way goes on."""
        self._enough.set()
        self._thread.join()

    @abstractmethod
    def finish(self, within_s: float) -> None:
        """Wait for the outcome of all that was sent, but no longer than that."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the client, and of what has no outcome."""

    @abstractmethod
    def _send(self, note: Note) -> None: ...

    @abstractmethod
    def _pause(self) -> None: ...

    def _run(self) -> None:
        try:
            while not self._enough.is_set():
                if self.ledger.open_count < OPEN_MAX:
                    for partition in range(len(self.ledger.sent)):
                        self._send(self.ledger.next_note(partition))
                self._pause()
        except Exception as failure:  # noqa: BLE001 - it is for the judge to find
            self.ledger.failure = repr(failure)


class ConfluentWriter(Writer):
    """librdkafka."""

    def __init__(self, ledger: Ledger, bootstrap: str) -> None:
        super().__init__(ledger)
        self._producer: Any = confluent.Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": ledger.writer,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "compression.type": "lz4",
                "message.timeout.ms": DELIVERY_MS,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.max.ms": 200,
                # Brokers that are gone are no news here.
                "log_level": 0,
                "error_cb": lambda _error: None,
            }
        )

    def finish(self, within_s: float) -> None:
        """Serve the callbacks as well, which `flush` does."""
        self._producer.flush(within_s)

    def close(self) -> None:
        """There is no other way to let go of it."""
        self._producer.purge()
        self._producer.flush(10)

    def _send(self, note: Note) -> None:
        def delivered(error: Any, message: Any) -> None:
            if error is None:
                self.ledger.acknowledge(note, message.offset())
            else:
                self.ledger.give_up(note, str(error))

        self._producer.produce(
            self.ledger.topic, note.to_value(), partition=note.partition, on_delivery=delivered
        )

    def _pause(self) -> None:
        self._producer.poll(PAUSE_S)
        self._enough.wait(PAUSE_S / 2)


class KafkaPythonWriter(Writer):
    """kafka-python."""

    def __init__(self, ledger: Ledger, bootstrap: str) -> None:
        super().__init__(ledger)
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._producer: Any = kafka_python.KafkaProducer(
            bootstrap_servers=bootstrap,
            client_id=ledger.writer,
            enable_idempotence=True,
            acks="all",
            linger_ms=5,
            compression_type="gzip",
            delivery_timeout_ms=DELIVERY_MS,
            max_block_ms=DELIVERY_MS,
            request_timeout_ms=10_000,
            retry_backoff_ms=50,
            reconnect_backoff_max_ms=500,
        )

    def finish(self, within_s: float) -> None:
        """What is still open then is for the judge to find."""
        try:
            self._producer.flush(within_s)
        except kafka_python.errors.KafkaTimeoutError:
            return

    def close(self) -> None:
        """Its own thread ends with it."""
        self._producer.close(timeout=10)

    def _send(self, note: Note) -> None:
        future = self._producer.send(self.ledger.topic, note.to_value(), partition=note.partition)
        future.add_callback(lambda told: self.ledger.acknowledge(note, told.offset))
        future.add_errback(lambda error: self.ledger.give_up(note, repr(error)))

    def _pause(self) -> None:
        self._enough.wait(PAUSE_S)
