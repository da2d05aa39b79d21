"""Fetches between brokers: what the broker's logic says, in Kafka's Fetch, and back.

Sessions go over as they are. What an answer of Kafka's does not repeat (the epoch and the offset
that a partition was asked with) the follower's side remembers here, as its leader does.
"""

from collections.abc import Mapping
from typing import Final

from regent.broker.log import LogEntry
from regent.broker.replication_requests import (
    EpochQuery,
    EpochQueryAnswer,
    EpochQuestion,
    EpochReply,
    Fetch,
    FetchAnswer,
    FetchedPartition,
    FetchPosition,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import LeaderEpoch, TopicPartition
from regent.model.log_requests import (
    LeaderEpochEnd,
    LeaderEpochQuestion,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
)
from regent.model.record_requests import (
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionToFetch,
)

#: The epoch of records is in their batches.
_EPOCH_INSIDE: Final = LeaderEpoch(-1)
_NOTHING_ASKED: Final = FetchPosition(TopicPartition("", -1), LeaderEpoch(-1), -1)

# --- the follower's side ------------------------------------------------------------------------


class AskedPositions:
    """With what a leader was asked last about each partition of the session."""

    def __init__(self) -> None:
        self._asked: dict[TopicPartition, FetchPosition] = {}

    def to_wire(
        self, request: Fetch, *, max_wait_ms: int, partition_bytes: int, answer_bytes: int
    ) -> FetchRecords:
        """The request as Kafka has it."""
        if request.session_epoch == 0:
            self._asked.clear()
        for name in request.forgotten:
            self._asked.pop(name, None)
        for position in request.positions:
            self._asked[position.name] = position
        return FetchRecords(
            tuple(
                PartitionToFetch(
                    each.name, each.fetch_offset, partition_bytes, each.current_leader_epoch
                )
                for each in request.positions
            ),
            max_wait_ms,
            min_bytes=1,
            max_bytes=answer_bytes,
            replica_id=request.replica_id,
            session_id=request.session_id,
            session_epoch=request.session_epoch,
            forgotten=request.forgotten,
        )

    def from_wire(self, answer: FetchRecordsAnswer) -> FetchAnswer:
        """The answer as the broker's logic has it; any error of the whole ends the session."""
        if answer.error is not ErrorCode.NONE:
            return FetchAnswer(session_id=0, session_lost=True)
        return FetchAnswer(
            answer.session_id, partitions=tuple(map(self._partition, answer.partitions))
        )

    def _partition(self, fetched: FetchedRecords) -> FetchedPartition:
        asked = self._asked.get(fetched.name, _NOTHING_ASKED)
        return FetchedPartition(
            fetched.name,
            fetched.error,
            asked.current_leader_epoch,
            asked.fetch_offset,
            fetched.high_watermark,
            (LogEntry(_EPOCH_INSIDE, fetched.records),) if fetched.records else (),
            fetched.log_start_offset,
        )


def to_epoch_question(query: EpochQuery) -> OffsetForLeaderEpoch:
    """The query as Kafka has it."""
    return OffsetForLeaderEpoch(
        tuple(
            LeaderEpochQuestion(each.name, each.current_leader_epoch, each.asked_epoch)
            for each in query.questions
        ),
        query.replica_id,
    )


def from_epoch_ends(answer: OffsetForLeaderEpochAnswer) -> EpochQueryAnswer:
    """Its answer as the broker's logic has it."""
    return EpochQueryAnswer(
        tuple(
            EpochReply(end.name, end.error, end.leader_epoch, end.end_offset) for end in answer.ends
        )
    )


# --- the leader's side --------------------------------------------------------------------------


def to_fetch(request: FetchRecords, fetch_id: int) -> Fetch:
    """A follower's request as the broker's logic has it."""
    return Fetch(
        request.replica_id,
        fetch_id,
        request.session_id,
        request.session_epoch,
        tuple(
            FetchPosition(each.name, each.current_leader_epoch, each.fetch_offset)
            for each in request.partitions
        ),
        request.forgotten,
    )


def to_fetched_records(answer: FetchAnswer) -> FetchRecordsAnswer:
    """The answer as Kafka has it."""
    if answer.session_lost:
        return FetchRecordsAnswer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    return FetchRecordsAnswer(
        session_id=answer.session_id, partitions=tuple(map(_to_records, answer.partitions))
    )


def _to_records(fetched: FetchedPartition) -> FetchedRecords:
    content: list[bytes] = []
    for entry in fetched.entries:
        assert isinstance(entry.value, bytes), "logs on disk return bytes"
        content.append(entry.value)
    return FetchedRecords(
        fetched.name,
        fetched.error,
        fetched.high_watermark,
        fetched.high_watermark,
        fetched.log_start_offset,
        records=content[0] if len(content) == 1 else b"".join(content),
    )


def to_epoch_query(
    request: OffsetForLeaderEpoch, known_epochs: Mapping[TopicPartition, LeaderEpoch]
) -> EpochQuery:
    """A follower's or consumer's question; one without an epoch of its own is not checked."""
    return EpochQuery(
        request.replica_id,
        0,
        tuple(
            EpochQuestion(
                each.name,
                each.current_leader_epoch
                if each.current_leader_epoch >= 0
                else known_epochs.get(each.name, each.current_leader_epoch),
                each.asked_epoch,
            )
            for each in request.questions
        ),
    )


def to_epoch_ends(answer: EpochQueryAnswer) -> OffsetForLeaderEpochAnswer:
    """The answer as Kafka has it."""
    return OffsetForLeaderEpochAnswer(
        tuple(
            LeaderEpochEnd(each.name, each.error, each.leader_epoch, each.end_offset)
            for each in answer.replies
        )
    )
