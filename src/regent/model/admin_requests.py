"""What callers ask of a controller beside ISR changes, and what it answers.

The contents of Kafka's admin requests as values; bytes are the business of `wire`. Every item of a
request gets its own result, with Kafka's error code and a message that helps.
"""

from enum import IntEnum
from typing import TypeAlias

from msgspec import Struct

from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, BrokerId, TopicPartition


class PartitionResult(Struct, frozen=True):
    """What became of one partition of a request."""

    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


class TopicResult(Struct, frozen=True):
    """What became of one topic of a request."""

    topic: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: str | None = None
    partition_count: int = -1
    replication_factor: int = -1


# --- elections --------------------------------------------------------------------------------


class ElectionType(IntEnum):
    """Which election a caller wants; the numbers are Kafka's."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectLeaders(Struct, frozen=True):
    """Elect leaders for these partitions, or with None for all that can use it."""

    election: ElectionType
    partitions: tuple[TopicPartition, ...] | None = None


class ElectLeadersAnswer(Struct, frozen=True):
    """One result for each partition asked; those not in need are left out if all were asked."""

    error: ErrorCode = ErrorCode.NONE
    results: tuple[PartitionResult, ...] = ()


# --- reassignment -----------------------------------------------------------------------------


class ReassignmentTarget(Struct, frozen=True):
    """Where one partition shall go; None cancels the move under way."""

    topic: str
    partition: int
    replicas: tuple[BrokerId, ...] | None


class AlterReassignments(Struct, frozen=True):
    """Start, replace or cancel reassignments."""

    targets: tuple[ReassignmentTarget, ...]


class AlterReassignmentsAnswer(Struct, frozen=True):
    """Given as soon as the moves are recorded; it does not wait for them."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    results: tuple[PartitionResult, ...] = ()


class ListReassignments(Struct, frozen=True):
    """Say which of these partitions, or with None of all, are being reassigned."""

    partitions: tuple[TopicPartition, ...] | None = None


class ListReassignmentsAnswer(Struct, frozen=True):
    """Only the partitions that are really moving."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    moving: tuple[tuple[TopicPartition, Assignment], ...] = ()


# --- controlled shutdown ----------------------------------------------------------------------


class ControlledShutdown(Struct, frozen=True):
    """A broker wants to go, and have its leaderships moved first."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch = BROKER_EPOCH_UNKNOWN


class ControlledShutdownAnswer(Struct, frozen=True):
    """The partitions it still leads; when there are none it may go."""

    error: ErrorCode = ErrorCode.NONE
    remaining: tuple[TopicPartition, ...] = ()


# --- topics -----------------------------------------------------------------------------------


class NewTopic(Struct, frozen=True):
    """A topic to be created, by counts (-1: the default) or by an assignment of its own."""

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    #: Partition number and replicas, as given.
    assignments: tuple[tuple[int, tuple[BrokerId, ...]], ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()


class CreateTopics(Struct, frozen=True):
    """Create topics, or only say whether they could be."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


class CreateTopicsAnswer(Struct, frozen=True):
    """One result for each topic."""

    results: tuple[TopicResult, ...] = ()
    #: How long the caller shall wait before it asks for more, because of its quota.
    throttle_ms: int = 0


class DeleteTopics(Struct, frozen=True):
    """Delete topics by name, or by id where `by_id`."""

    topics: tuple[str, ...]
    by_id: bool = False


class DeleteTopicsAnswer(Struct, frozen=True):
    """One result for each topic; already queued ones are no error."""

    results: tuple[TopicResult, ...] = ()
    #: How long the caller shall wait before it asks for more, because of its quota.
    throttle_ms: int = 0


class MorePartitions(Struct, frozen=True):
    """The total a topic shall have, with the replicas of each new partition where given."""

    name: str
    total_count: int
    assignments: tuple[tuple[BrokerId, ...], ...] | None = None


class CreatePartitions(Struct, frozen=True):
    """Give topics more partitions, or only say whether they could get them."""

    topics: tuple[MorePartitions, ...]
    validate_only: bool = False


class CreatePartitionsAnswer(Struct, frozen=True):
    """One result for each topic."""

    results: tuple[TopicResult, ...] = ()
    #: How long the caller shall wait before it asks for more, because of its quota.
    throttle_ms: int = 0


AdminAnswer: TypeAlias = (
    ElectLeadersAnswer
    | AlterReassignmentsAnswer
    | ListReassignmentsAnswer
    | ControlledShutdownAnswer
    | CreateTopicsAnswer
    | DeleteTopicsAnswer
    | CreatePartitionsAnswer
)
