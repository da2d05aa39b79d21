"""Which batches of producers a broker takes, and that a batch refused for now holds up the next.

A producer has up to five batches under way. If the first is refused because this broker does not
lead yet, and the broker leads when the third arrives, Kafka calls that one out of order, or takes
it if it knows nothing of the producer. librdkafka makes the worst of both: it begins a new producer
epoch and repeats what may be stored already (confluentinc/librdkafka#4953), or takes the first for
acknowledged. So a batch that does not follow what is stored gets the same answer as the one it came
behind, until that one has come again. The producer sends them all once more, in order, as it would
have had to anyway.
"""

import logging
from typing import Final

from msgspec import Struct

from regent.core.topic_rules import misnamed
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.record_requests import AppendResult, Records
from regent.node.disk_logs import DiskLog
from regent.storage.producers import StoredBatch
from regent.storage.record_batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    CheckedBatch,
    RecordsRefused,
    is_later,
    read_header,
)

#: No batch is under way for longer: its producer would have hung up.
KEPT_MS: Final = 30_000
#: Whoever invents producers must not fill the memory; the oldest are forgotten first.
KEPT_PRODUCERS: Final = 10_000

logger = logging.getLogger(__name__)


class _TurnedAway(Struct, frozen=True, gc=False):
    """The batch of a producer that was last refused for now, and why."""

    producer_epoch: int
    sequence: int
    error: ErrorCode
    at_ms: int

    def is_ahead_of(self, header: BatchHeader) -> bool:
        """Whether it must be stored before that batch."""
        return self.producer_epoch == header.producer_epoch and is_later(
            header.base_sequence, self.sequence
        )

    def is_over_with(self, header: BatchHeader) -> bool:
        """Whether it need not be awaited once that batch is stored."""
        return self.producer_epoch != header.producer_epoch or not is_later(
            self.sequence, header.base_sequence
        )


class Admission:
    """The door of one broker."""

    def __init__(self) -> None:
        #: By partition and producer; whoever was turned away last stands last.
        self._turned_away: dict[tuple[TopicPartition, int], _TurnedAway] = {}

    def turn_away(
        self, name: TopicPartition, records: Records, error: ErrorCode, now_ms: int
    ) -> AppendResult:
        """Refuse a batch, whatever it is, for a reason that passes."""
        header = _numbered(records)
        if header is not None and misnamed(name.topic) is None:
            self._note(name, header, error, now_ms)
        return AppendResult(name, error)

    def admit(
        self, name: TopicPartition, records: Records, log: DiskLog, now_ms: int
    ) -> CheckedBatch | StoredBatch | RecordsRefused:
        """What to do with a batch: append it, answer with an older one, or refuse it."""
        admitted = log.admit(records)
        if self._turned_away:
            self._forget_old(now_ms)
            noted = self._ahead_of(name, records, admitted, log)
            if noted is not None:
                return RecordsRefused(noted.error, "the producer's batch before was refused so")
        if isinstance(admitted, RecordsRefused):
            logger.info("%s: records are refused: %s", name, admitted.reason)
        return admitted

    def _note(
        self, name: TopicPartition, header: BatchHeader, error: ErrorCode, now_ms: int
    ) -> None:
        self._forget_old(now_ms)
        key = (name, header.producer_id)
        self._turned_away.pop(key, None)
        self._turned_away[key] = _TurnedAway(
            header.producer_epoch, header.base_sequence, error, now_ms
        )
        if len(self._turned_away) > KEPT_PRODUCERS:
            del self._turned_away[next(iter(self._turned_away))]

    def _forget_old(self, now_ms: int) -> None:
        while self._turned_away:
            key, noted = next(iter(self._turned_away.items()))
            if noted.at_ms + KEPT_MS >= now_ms:
                return
            del self._turned_away[key]

    def _ahead_of(
        self,
        name: TopicPartition,
        records: Records,
        admitted: CheckedBatch | StoredBatch | RecordsRefused,
        log: DiskLog,
    ) -> _TurnedAway | None:
        """What was turned away and must come before this batch; what has come is forgotten."""
        header = _numbered(records)
        if header is None:
            return None
        noted = self._turned_away.get((name, header.producer_id))
        if noted is None:
            return None
        if noted.is_ahead_of(header) and not _follows(admitted, header, log):
            return noted
        if not isinstance(admitted, RecordsRefused) and noted.is_over_with(header):
            del self._turned_away[name, header.producer_id]
        return None


def _numbered(records: Records) -> BatchHeader | None:
    """The header of a batch that has a place among others of its producer."""
    header = read_header(records)
    if isinstance(header, RecordsRefused) or header.producer_id == NO_PRODUCER_ID:
        return None
    return header


def _follows(
    admitted: CheckedBatch | StoredBatch | RecordsRefused, header: BatchHeader, log: DiskLog
) -> bool:
    """Whether nothing is missing between what is stored and this batch, as far as one can know."""
    if isinstance(admitted, RecordsRefused):
        return admitted.error is not ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    return isinstance(admitted, StoredBatch) or log.knows_producer(header.producer_id)
