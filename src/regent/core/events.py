"""What can happen to a controller: facts in the past tense, with no callbacks in them.

A watch says that something changed, not what: the data is read when the event is handled, so that
late events cost nothing. A caller waiting for an answer is a `request_id`.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.model.admin_requests import (
    AlterReassignments,
    ControlledShutdown,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    ListReassignments,
)
from regent.model.alter_partition import AlterPartition
from regent.model.control_requests import ControlAnswer
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, TopicPartition
from regent.model.mutation_caller import MutationCaller


class EventBase(Struct, frozen=True, tag=True, tag_field="event"):
    """Something that happened. The time on it is the only clock the core ever sees."""

    now_ms: int


# --- the node's own life --------------------------------------------------------------------


class SessionStarted(EventBase, frozen=True, tag=True):
    """A ZooKeeper session is established and the node's broker, if any, is registered."""


class SessionExpired(EventBase, frozen=True, tag=True):
    """The session is gone, and with it whatever this node held."""


class ResignRequested(EventBase, frozen=True, tag=True):
    """Somebody wants this node to give the role up: an operator, or SIGTERM."""


class TakeOverRequested(EventBase, frozen=True, tag=True):
    """An operator wants this node in office, whoever is there now."""


class ControllerChanged(EventBase, frozen=True, tag=True):
    """`/controller` was created, changed or deleted."""


# --- the cluster ----------------------------------------------------------------------------


class BrokersChanged(EventBase, frozen=True, tag=True):
    """The list of registered brokers changed."""


class BrokerChanged(EventBase, frozen=True, tag=True):
    """One broker's registration changed."""

    broker_id: BrokerId


class TopicsChanged(EventBase, frozen=True, tag=True):
    """The list of topics changed."""


class TopicChanged(EventBase, frozen=True, tag=True):
    """One topic's assignment changed."""

    topic: str


class TopicDeletionsChanged(EventBase, frozen=True, tag=True):
    """The list of topics marked for deletion changed."""


class IsrChangesNotified(EventBase, frozen=True, tag=True):
    """Leaders that write the ISR themselves left notifications."""


class ReassignmentZnodeChanged(EventBase, frozen=True, tag=True):
    """`/admin/reassign_partitions` was created, changed or deleted."""


class ElectionZnodeChanged(EventBase, frozen=True, tag=True):
    """`/admin/preferred_replica_election` was created, changed or deleted."""


class LeadershipChanged(EventBase, frozen=True, tag=True):
    """A watched partition's state znode changed: its leader writes the ISR itself."""

    topic: str
    partition: int


class LogDirsFailed(EventBase, frozen=True, tag=True):
    """Brokers announced that log directories of theirs failed."""


class ConfigsChanged(EventBase, frozen=True, tag=True):
    """Somebody announced a changed config under `/config/changes`."""


class TimerRang(EventBase, frozen=True, tag=True):
    """A timer that was set has run out."""

    name: str


# --- brokers that answer or ask -------------------------------------------------------------


class LeaderAndIsrAnswered(EventBase, frozen=True, tag=True):
    """A broker answered a LeaderAndIsr."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    #: Of the request. An answer may come when its reign is over, even to the same node's next.
    controller_epoch: ControllerEpoch
    answer: ControlAnswer


class UpdateMetadataAnswered(EventBase, frozen=True, tag=True):
    """A broker answered an UpdateMetadata."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    #: Of the request. An answer may come when its reign is over, even to the same node's next.
    controller_epoch: ControllerEpoch
    answer: ControlAnswer


class StopReplicaAnswered(EventBase, frozen=True, tag=True):
    """A broker answered a StopReplica; `deleted` are the partitions it was told to delete."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    #: Of the request. An answer may come when its reign is over, even to the same node's next.
    controller_epoch: ControllerEpoch
    answer: ControlAnswer
    deleted: tuple[TopicPartition, ...] = ()


class AlterPartitionRequested(EventBase, frozen=True, tag=True):
    """A leader wants another ISR for some of its partitions."""

    request_id: int
    request: AlterPartition


# --- callers ----------------------------------------------------------------------------------


class ElectLeadersRequested(EventBase, frozen=True, tag=True):
    """Somebody wants leaders elected."""

    request_id: int
    request: ElectLeaders


class ReassignmentsRequested(EventBase, frozen=True, tag=True):
    """Somebody wants partitions moved, or moves cancelled."""

    request_id: int
    request: AlterReassignments


class ReassignmentListRequested(EventBase, frozen=True, tag=True):
    """Somebody wants to know what is being moved."""

    request_id: int
    request: ListReassignments


class ControlledShutdownRequested(EventBase, frozen=True, tag=True):
    """A broker wants to go."""

    request_id: int
    request: ControlledShutdown


class TopicCreationRequested(EventBase, frozen=True, tag=True):
    """Somebody wants topics created."""

    request_id: int
    request: CreateTopics
    caller: MutationCaller = MutationCaller()


class TopicDeletionRequested(EventBase, frozen=True, tag=True):
    """Somebody wants topics deleted."""

    request_id: int
    request: DeleteTopics
    caller: MutationCaller = MutationCaller()


class PartitionCreationRequested(EventBase, frozen=True, tag=True):
    """Somebody wants topics to have more partitions."""

    request_id: int
    request: CreatePartitions
    caller: MutationCaller = MutationCaller()


Event: TypeAlias = (
    SessionStarted
    | SessionExpired
    | ResignRequested
    | TakeOverRequested
    | ControllerChanged
    | BrokersChanged
    | BrokerChanged
    | TopicsChanged
    | TopicChanged
    | TopicDeletionsChanged
    | IsrChangesNotified
    | ReassignmentZnodeChanged
    | ElectionZnodeChanged
    | LeadershipChanged
    | LogDirsFailed
    | ConfigsChanged
    | TimerRang
    | LeaderAndIsrAnswered
    | UpdateMetadataAnswered
    | StopReplicaAnswered
    | AlterPartitionRequested
    | ElectLeadersRequested
    | ReassignmentsRequested
    | ReassignmentListRequested
    | ControlledShutdownRequested
    | TopicCreationRequested
    | TopicDeletionRequested
    | PartitionCreationRequested
)
