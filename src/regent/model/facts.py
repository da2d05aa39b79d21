"""What took hold: the vocabulary of the journal.

A fact is made from the outcome of a decision at the moment it takes hold, never written by hand
in a branch, so it cannot name a state that was not reached. Facts are plain values; `journal`
puts them into an envelope and on disk, `journal.replay` rebuilds all states from them alone.

The same field name means the same thing, with the same type, in every fact: a table with one
column per name holds them all.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState, ReplicaState


class FactBase(Struct, frozen=True, gc=False, tag_field="kind", omit_defaults=True):
    """One thing that took hold."""


# --- the controller itself ------------------------------------------------------------------


class ControllerElected(FactBase, frozen=True, gc=False, tag="controller_elected"):
    """The node took `/controller`; the envelope's controller epoch is the one it won."""


class ControllerResigned(FactBase, frozen=True, gc=False, tag="controller_resigned"):
    """The node gave the role up, or learned that it had lost it."""

    reason: str


class EventFailed(FactBase, frozen=True, gc=False, tag="event_failed"):
    """Something unforeseen happened while an event was handled; the controller resigns."""

    reason: str


class ZnodeIsolated(FactBase, frozen=True, gc=False, tag="znode_isolated"):
    """A znode cannot be used; what it describes is left alone and the rest is served."""

    path: str
    reason: str


# --- brokers --------------------------------------------------------------------------------


class BrokerUp(FactBase, frozen=True, gc=False, tag="broker_up"):
    """A broker is in the live set; `loaded` when it was already there at failover."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    rack: str | None = None
    loaded: bool = False


class BrokerDown(FactBase, frozen=True, gc=False, tag="broker_down"):
    """A broker left the live set; `bounced` when a newer life of it is already registered."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    bounced: bool = False


class BrokerUpdated(FactBase, frozen=True, gc=False, tag="broker_updated"):
    """A live broker changed its endpoints or features."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch


# --- topics: loaded compactly, one fact each ------------------------------------------------


class LoadedPartition(Struct, frozen=True, gc=False, omit_defaults=True):
    """A partition as found in ZooKeeper, with the states its replicas start in."""

    partition: int
    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()
    leader: BrokerId | None = None
    leader_epoch: LeaderEpoch | None = None
    isr: tuple[BrokerId, ...] | None = None
    controller_epoch: ControllerEpoch | None = None
    zk_version: ZkVersion | None = None
    recovering: bool = False


class TopicLoaded(FactBase, frozen=True, gc=False, tag="topic_loaded"):
    """A topic, or more partitions of one, became known."""

    topic: str
    partitions: tuple[LoadedPartition, ...]
    topic_id: str | None = None


class ReplicasStarted(FactBase, frozen=True, gc=False, tag="replicas_started"):
    """The replica machine started: every loaded replica of the topic is on this footing.

    Those on brokers not named in `offline_brokers` are OnlineReplica, the others
    ReplicaDeletionIneligible until they are moved on.
    """

    topic: str
    offline_brokers: tuple[BrokerId, ...] = ()


class PartitionsStarted(FactBase, frozen=True, gc=False, tag="partitions_started"):
    """The partition machine started: these are New or Offline, the topic's others Online."""

    topic: str
    new: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


class TopicForgotten(FactBase, frozen=True, gc=False, tag="topic_forgotten"):
    """The topic is gone, with everything known about it."""

    topic: str


class TopicIdGiven(FactBase, frozen=True, gc=False, tag="topic_id_given"):
    """A topic without an id got one, for life."""

    topic: str
    topic_id: str


class AssignmentChanged(FactBase, frozen=True, gc=False, tag="assignment_changed"):
    """The replicas of a partition are others, or in another order."""

    topic: str
    partition: int
    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()


# --- the two machines -----------------------------------------------------------------------


class PartitionMoved(FactBase, frozen=True, gc=False, tag="partition_moved"):
    """A partition changed its state without a change of leadership."""

    topic: str
    partition: int
    before: PartitionState
    after: PartitionState


class ReplicaMoved(FactBase, frozen=True, gc=False, tag="replica_moved"):
    """A replica changed its state."""

    topic: str
    partition: int
    broker_id: BrokerId
    replica_before: ReplicaState
    replica_after: ReplicaState


class MoveRefused(FactBase, frozen=True, gc=False, tag="move_refused"):
    """A partition, or (with `broker_id`) a replica, stays as it is."""

    topic: str
    partition: int
    reason: str
    before: PartitionState | None = None
    after: PartitionState | None = None
    broker_id: BrokerId | None = None
    replica_before: ReplicaState | None = None
    replica_after: ReplicaState | None = None


# --- leadership -----------------------------------------------------------------------------


class LeaderElected(FactBase, frozen=True, gc=False, tag="leader_elected"):
    """An election was written: the partition is OnlinePartition with this leadership."""

    topic: str
    partition: int
    strategy: str
    before: PartitionState
    leader_before: BrokerId
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zk_version: ZkVersion
    unclean: bool = False
    recovering: bool = False


class IsrShrunk(FactBase, frozen=True, gc=False, tag="isr_shrunk"):
    """The controller took a dead replica out of the ISR (or only the leadership off it)."""

    topic: str
    partition: int
    broker_id: BrokerId
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zk_version: ZkVersion
    recovering: bool = False


class IsrAltered(FactBase, frozen=True, gc=False, tag="isr_altered"):
    """A leader's request for another ISR was written."""

    topic: str
    partition: int
    broker_id: BrokerId
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zk_version: ZkVersion
    recovering: bool = False


class LeadershipLearned(FactBase, frozen=True, gc=False, tag="leadership_learned"):
    """ZooKeeper held another leadership than the one we knew; we now know this one."""

    topic: str
    partition: int
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: ControllerEpoch
    zk_version: ZkVersion
    recovering: bool = False


class LeaderEpochRaised(FactBase, frozen=True, gc=False, tag="leader_epoch_raised"):
    """Leader and ISR stay; the replicas are told anew under the next leader epoch."""

    topic: str
    partition: int
    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    zk_version: ZkVersion
    recovering: bool = False


# --- long work --------------------------------------------------------------------------------


class ReassignmentAdvanced(FactBase, frozen=True, gc=False, tag="reassignment_advanced"):
    """A reassignment reached a phase: U (recorded), A (replicas are added), B (finished).

    Also C, cancelled: the target is the origin again.
    """

    topic: str
    partition: int
    phase: str
    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()


class DeletionAdvanced(FactBase, frozen=True, gc=False, tag="deletion_advanced"):
    """A topic's deletion was queued, started, found ineligible for a reason, retried, finished."""

    topic: str
    phase: str
    reason: str | None = None


class ShutdownAdvanced(FactBase, frozen=True, gc=False, tag="shutdown_advanced"):
    """A broker that is shutting down still leads so many partitions."""

    broker_id: BrokerId
    partition_count: int


class LogDirFailed(FactBase, frozen=True, gc=False, tag="log_dir_failed"):
    """A live broker said that it cannot serve this replica, or with `loaded` that it can again."""

    topic: str
    partition: int
    broker_id: BrokerId
    loaded: bool = False


class BalanceChecked(FactBase, frozen=True, gc=False, tag="balance_checked"):
    """A broker leads too few of the partitions that prefer it; so many elections are tried."""

    broker_id: BrokerId
    partition_count: int


# --- requests -------------------------------------------------------------------------------


class RequestSent(FactBase, frozen=True, gc=False, tag="request_sent"):
    """A control request was handed to a broker's channel."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    api: str
    partition_count: int


class RequestAnswered(FactBase, frozen=True, gc=False, tag="request_answered"):
    """A broker answered; counts the partitions it refused."""

    broker_id: BrokerId
    api: str
    error: ErrorCode
    partition_count: int = 0


class CallRefused(FactBase, frozen=True, gc=False, tag="call_refused"):
    """A caller of the controller was refused, for the whole call or one partition of it."""

    api: str
    error: ErrorCode
    broker_id: BrokerId | None = None
    topic: str | None = None
    partition: int | None = None
    reason: str | None = None


Fact: TypeAlias = (
    ControllerElected
    | ControllerResigned
    | EventFailed
    | ZnodeIsolated
    | BrokerUp
    | BrokerDown
    | BrokerUpdated
    | TopicLoaded
    | ReplicasStarted
    | PartitionsStarted
    | TopicForgotten
    | TopicIdGiven
    | AssignmentChanged
    | PartitionMoved
    | ReplicaMoved
    | MoveRefused
    | LeaderElected
    | IsrShrunk
    | IsrAltered
    | LeadershipLearned
    | LeaderEpochRaised
    | ReassignmentAdvanced
    | DeletionAdvanced
    | ShutdownAdvanced
    | LogDirFailed
    | BalanceChecked
    | RequestSent
    | RequestAnswered
    | CallRefused
)
