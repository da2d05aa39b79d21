"""The offsets of one group: what is stored, and what is on its way there.

Appends of one partition are numbered in the order in which they were asked for, which is their
order in the log. Whatever is confirmed late does not undo what was asked for after it.
"""

from collections.abc import Callable, Container, Iterable, Mapping

from regent.broker.groups.offsets_records import OffsetValue
from regent.model.ids import TopicPartition


class CommittedOffsets:
    """A cache of the log: it says what a coordinator that reads the log would say."""

    def __init__(self) -> None:
        self.stored: dict[TopicPartition, OffsetValue] = {}
        #: Under way: the last append of each partition that is neither confirmed nor refused.
        self.pending: dict[TopicPartition, int] = {}
        #: Which append each stored offset came with; those that were loaded came before all.
        self._came_with: dict[TopicPartition, int] = {}

    def __bool__(self) -> bool:
        return bool(self.stored or self.pending)

    def names(self) -> tuple[TopicPartition, ...]:
        """All partitions of which the log has, or may soon have, an offset."""
        return tuple(self.stored | self.pending)

    def asked(self, append_id: int, names: Iterable[TopicPartition]) -> None:
        """An append with offsets of these partitions is under way."""
        for name in names:
            self.pending[name] = append_id

    def confirmed(self, append_id: int, offsets: Mapping[TopicPartition, OffsetValue]) -> None:
        """It is in the log."""
        for name, value in offsets.items():
            if append_id > self._came_with.get(name, -1):
                self.stored[name] = value
                self._came_with[name] = append_id
        self.refused(append_id, offsets)

    def refused(self, append_id: int, names: Iterable[TopicPartition]) -> None:
        """It will not be, or not by this append."""
        for name in names:
            if self.pending.get(name) == append_id:
                del self.pending[name]
                if name not in self.stored:
                    self._came_with.pop(name, None)

    def forgotten(self, append_id: int, names: Iterable[TopicPartition]) -> None:
        """Tombstones are in the log; what was committed after them stays."""
        for name in names:
            if append_id > self._came_with.get(name, -1):
                self.stored.pop(name, None)
                if name in self.pending:
                    self._came_with[name] = append_id
                else:
                    self._came_with.pop(name, None)

    def expired(
        self,
        now_ms: int,
        retention_ms: int,
        *,
        base_ms: Callable[[OffsetValue], int],
        kept_topics: Container[str] = (),
    ) -> tuple[TopicPartition, ...]:
        """Those whose time is over, counted from `base_ms`, unless they carry a time of their own.

        Nothing expires that is about to be committed anew.
        """
        return tuple(
            name
            for name, value in self.stored.items()
            if name.topic not in kept_topics
            and name not in self.pending
            and (
                now_ms - base_ms(value) >= retention_ms
                if value.expire_ms is None
                else now_ms >= value.expire_ms
            )
        )
