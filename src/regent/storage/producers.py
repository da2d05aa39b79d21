"""Which batches of idempotent producers a log has: so that a retry is stored only once.

The rules are those of Kafka's `ProducerAppendInfo`. A batch that repeats one of the last five of
its producer is known and gets its old offset. Any other must carry on where the last one ended. A
producer that is not known may begin anywhere: its earlier records may be gone (KIP-360), so Kafka
3.9 never answers UNKNOWN_PRODUCER_ID either.

How long a producer has been silent is told by this broker's clock. Kafka goes by the records' own
timestamps, and so forgets at once whoever copies old records; a retry of theirs is stored twice.
"""

from collections import deque
from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.storage.clock import Clock
from regent.storage.record_batch import (
    NO_PRODUCER_ID,
    BatchHeader,
    RecordsRefused,
    sequence_after,
)

#: A producer may have so many batches under way, and any of them may be repeated.
KEPT_BATCHES: Final = 5


class StoredBatch(Struct, frozen=True, gc=False):
    """Where a batch of a producer stands in the log."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int


class ProducerState(Struct):
    """The last batches of one producer in its present epoch, oldest first."""

    producer_epoch: int
    #: When this broker last took something of it, or read it in the log.
    last_seen_ms: int
    batches: deque[StoredBatch]


class Producers:
    """The producers of one log."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._states: dict[int, ProducerState] = {}

    @property
    def states(self) -> dict[int, ProducerState]:
        """Every producer by its id, for reading."""
        return self._states

    def known(self, header: BatchHeader) -> StoredBatch | None:
        """The batch that this one repeats, if it does."""
        state = self._states.get(header.producer_id)
        if state is None or state.producer_epoch != header.producer_epoch:
            return None
        for batch in state.batches:
            if batch.base_sequence == header.base_sequence:
                return batch if batch.last_sequence == header.last_sequence else None
        return None

    def refusal(self, header: BatchHeader) -> RecordsRefused | None:
        """Why a batch that is not known cannot come next, or None."""
        state = self._states.get(header.producer_id)
        if state is None:
            return None
        who = f"producer {header.producer_id} sent"
        if header.producer_epoch < state.producer_epoch:
            return RecordsRefused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"{who} epoch {header.producer_epoch} after {state.producer_epoch}",
            )
        if header.producer_epoch > state.producer_epoch:
            expected_sequence = 0
        else:
            expected_sequence = sequence_after(state.batches[-1].last_sequence)
        if header.base_sequence == expected_sequence:
            return None
        return RecordsRefused(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"{who} sequence number {header.base_sequence}, and {expected_sequence} is next",
        )

    def note(self, header: BatchHeader, base_offset: int) -> None:
        """Remember a batch that is in the log, whatever its sequence number."""
        if header.producer_id == NO_PRODUCER_ID or header.is_control:
            return
        state = self._states.get(header.producer_id)
        if state is None or state.producer_epoch != header.producer_epoch:
            state = ProducerState(header.producer_epoch, 0, deque(maxlen=KEPT_BATCHES))
            self._states[header.producer_id] = state
        state.last_seen_ms = self._clock()
        state.batches.append(
            StoredBatch(
                header.base_sequence,
                header.last_sequence,
                base_offset,
                base_offset + header.last_offset_delta,
            )
        )

    def restore(self, producer_id: int, state: ProducerState) -> None:
        """Take over what a snapshot says of one producer."""
        self._states[producer_id] = state

    def clear(self) -> None:
        """Forget all, as before the log is read anew."""
        self._states.clear()

    def expire(self, silence_ms: int) -> None:
        """Forget producers that have been silent for longer."""
        oldest_ms = self._clock() - silence_ms
        silent = [
            producer_id
            for producer_id, state in self._states.items()
            if state.last_seen_ms < oldest_ms
        ]
        for producer_id in silent:
            del self._states[producer_id]
