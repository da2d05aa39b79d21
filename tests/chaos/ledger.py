"""What one producer sent, and what it was told of it: the first witness of a campaign.

Every record says by itself whose it is, so that a log can be judged without its producer.
"""

import threading
from time import monotonic
from typing import NamedTuple, Self


class Note(NamedTuple):
    """The content of one record. Numbers count from 0, for each writer and partition by itself."""

    writer: str
    partition: int
    number: int

    def to_value(self) -> bytes:
        """As it is sent."""
        return f"{self.writer} {self.partition} {self.number}".encode()

    @classmethod
    def from_value(cls, value: bytes) -> Self:
        """As it is read; a ValueError if it is none."""
        writer, partition, number = value.decode().split(" ")
        return cls(writer, int(partition), int(number))


class Silence(NamedTuple):
    """The time from one acknowledgement to the next one."""

    from_s: float
    to_s: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.to_s - self.from_s


class Ledger:
    """The account of one writer to one topic. Clients report from threads of their own."""

    def __init__(self, writer: str, topic: str, partition_count: int) -> None:
        self.writer = writer
        self.topic = topic
        #: How many records were given to the client, by partition.
        self.sent = [0] * partition_count
        #: Where each record is that was acknowledged with acks=all. None: librdkafka concluded from
        #: the answer to a later batch that this one is stored, and does not know where.
        self.acknowledged: dict[Note, int | None] = {}
        #: Records that the client gave up on, with its reason; they may have been stored.
        self.given_up: dict[Note, str] = {}
        #: Why the client takes no more records at all; None while it does.
        self.failure: str | None = None
        self._last_s = monotonic()
        self.longest_silence = Silence(self._last_s, self._last_s)
        self._lock = threading.Lock()

    @property
    def open_count(self) -> int:
        """How many records have no outcome yet."""
        return sum(self.sent) - len(self.acknowledged) - len(self.given_up)

    def next_note(self, partition: int) -> Note:
        """One more record, which counts as sent."""
        note = Note(self.writer, partition, self.sent[partition])
        self.sent[partition] += 1
        return note

    def acknowledge(self, note: Note, offset: int | None) -> None:
        """The client was told that the record is safe, and mostly where."""
        now_s = monotonic()
        with self._lock:
            self.acknowledged[note] = offset
            if now_s - self._last_s > self.longest_silence.seconds:
                self.longest_silence = Silence(self._last_s, now_s)
            self._last_s = now_s

    def give_up(self, note: Note, reason: str) -> None:
        """The client will not try again."""
        with self._lock:
            self.given_up[note] = reason
