"""What a procedure cannot go on without: reads and writes of the shared memory, in bulk.

An ask is an order in domain terms; `zookeeper` turns it into znodes and back. Every write is
fenced: it takes hold only while the controller epoch is still `fence`'s, and a deposed controller
gets `ControllerMoved` thrown into its procedure instead of an answer. A read with `watch` sees to
it that the next change comes back as an event, and the watch is in place before the data is read.
"""

from collections.abc import Generator, Sequence
from enum import Enum, auto
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from regent.core.effects import Effect
from regent.core.state import ControllerState, Partition
from regent.model.assignment import Assignment
from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.model.leadership import Leadership

Answer = TypeVar("Answer")


class Ask(Struct, Generic[Answer], frozen=True):
    """Something the procedure cannot go on without."""


# --- what comes back ------------------------------------------------------------------------


class Malformed(Struct, frozen=True):
    """The znode is there, and cannot be used."""

    path: str
    reason: str


class Fence(Struct, frozen=True):
    """The epoch that a controller won, and the version of the epoch znode when it did."""

    controller_epoch: ControllerEpoch
    zk_version: ZkVersion


class TopicRead(Struct, frozen=True):
    """A topic znode. `malformed` has the partitions whose entry cannot be used."""

    topic_id: str | None
    partitions: dict[int, Assignment]
    malformed: dict[int, str] = {}


class WriteFailure(Enum):
    """Why one write of many did not happen; the others are not affected."""

    #: Somebody wrote first (BADVERSION). Read again and decide afresh.
    CONFLICT = auto()
    #: There is no such znode (NONODE).
    MISSING = auto()
    #: It is there already (NODEEXISTS).
    EXISTS = auto()
    #: More than ZooKeeper takes in one request (`jute.maxbuffer`).
    TOO_LARGE = auto()


LeadershipRead: TypeAlias = Leadership | Malformed | None
WriteResult: TypeAlias = ZkVersion | WriteFailure


# --- the controller's own znodes ------------------------------------------------------------


class ReadController(Ask[BrokerId | Malformed | None], frozen=True):
    """Who holds `/controller`; always watched, because every node must know when it changes."""


class ReadControllerEpoch(Ask[Fence], frozen=True):
    """The epoch now; the znode is created with 0 where there is none."""


class TakeController(Ask[Fence | None], frozen=True):
    """Create `/controller` and raise the epoch above `current` in one step, or None: lost."""

    controller_id: BrokerId
    current: Fence
    now_ms: int
    #: Whether somebody is in office, whose `/controller` is deleted in the same step.
    deposes: bool = False


class DropController(Ask[None], frozen=True):
    """Delete `/controller`, if it is still ours."""

    fence: Fence


class EnsureFeatures(Ask[None], frozen=True):
    """Bring `/feature` to the wanted status, with no features."""

    enabled: bool


# --- brokers --------------------------------------------------------------------------------


class ReadBrokers(Ask[dict[BrokerId, RegisteredBroker | Malformed]], frozen=True):
    """All registered brokers by id, from one look; the list of ids is watched."""


class WatchBrokers(Ask[dict[BrokerId, RegisteredBroker | Malformed | None]], frozen=True):
    """Read these brokers again, watching the data of each."""

    broker_ids: tuple[BrokerId, ...]


# --- topics ---------------------------------------------------------------------------------


class ListTopics(Ask[tuple[str, ...]], frozen=True):
    """The names of all topics, sorted; the list is watched."""


class ReadTopics(Ask[dict[str, TopicRead | Malformed | None]], frozen=True):
    """These topics' assignments; each topic's znode is watched."""

    topics: tuple[str, ...]


class ReadTopicConfigs(Ask[dict[str, dict[str, str] | Malformed]], frozen=True):
    """The configs set on these topics themselves; a topic without any has an empty one."""

    topics: tuple[str, ...]


class ListTopicDeletions(Ask[tuple[str, ...]], frozen=True):
    """The topics marked for deletion, sorted; the list is watched."""


class MintTopicIds(Ask[tuple[str, ...]], frozen=True):
    """Fresh topic ids. Chance is not the core's business."""

    count: int


class DrawNumbers(Ask[tuple[int, ...]], frozen=True):
    """So many numbers, each anything from 0 up to but not `below`. Chance, again."""

    below: int
    count: int


class TopicWrite(Struct, frozen=True):
    """What a topic's znode shall say of these partitions; the topic's id is always part of it.

    Partitions that are not named here stay as they are there: somebody may have added them, and
    we have not heard of it yet. With `is_whole` they go.
    """

    topic: str
    topic_id: str | None
    partitions: dict[int, Assignment]
    is_whole: bool = False


class WriteTopics(Ask[tuple[WriteFailure | None, ...]], frozen=True):
    """Replace these topics' znodes; None for each that was written."""

    fence: Fence
    writes: tuple[TopicWrite, ...]


class DeleteTopicMarkers(Ask[None], frozen=True):
    """Take these topics off the list of those marked for deletion; missing ones do not matter."""

    fence: Fence
    topics: tuple[str, ...]


class MarkTopicsForDeletion(Ask[None], frozen=True):
    """Put these topics on the list; one that is there already stays there."""

    fence: Fence
    topics: tuple[str, ...]


class RemoveTopics(Ask[None], frozen=True):
    """Delete these topics' znodes: the topic with all below it, its config, its marker.

    In that order for each topic, so that a successor finds the marker for as long as anything is
    left. What is already gone does not matter.
    """

    fence: Fence
    topics: tuple[str, ...]


class TopicCreation(Struct, frozen=True):
    """A topic to be created: its own config first, then its assignment."""

    topic: str
    topic_id: str | None
    partitions: dict[int, Assignment]
    configs: dict[str, str]


class CreateTopicZnodes(Ask[tuple[WriteFailure | None, ...]], frozen=True):
    """Create these topics' znodes; None for each that was created, EXISTS where there was one."""

    fence: Fence
    creations: tuple[TopicCreation, ...]


# --- work that admins leave in znodes -----------------------------------------------------------


class ReadReassignmentZnode(
    Ask[dict[TopicPartition, tuple[BrokerId, ...]] | Malformed | None], frozen=True
):
    """The targets in `/admin/reassign_partitions`; None where there is none. It is watched."""


class WriteReassignmentZnode(Ask[None], frozen=True):
    """Leave only these targets there; when none is left, the znode is deleted."""

    fence: Fence
    targets: dict[TopicPartition, tuple[BrokerId, ...]]


class ReadElectionZnode(Ask[tuple[TopicPartition, ...] | Malformed | None], frozen=True):
    """The partitions in `/admin/preferred_replica_election`. It is watched."""


class DeleteElectionZnode(Ask[None], frozen=True):
    """Remove it, whatever came of the election."""

    fence: Fence


class ReadLogDirEvents(Ask[tuple[tuple[str, BrokerId | Malformed], ...]], frozen=True):
    """All announcements of failed log directories: name and broker. The list is watched."""


class DeleteLogDirEvents(Ask[None], frozen=True):
    """Remove these announcements, or with None all there are."""

    fence: Fence
    names: tuple[str, ...] | None = None


class ReadConfigChanges(Ask[tuple[tuple[str, str | Malformed], ...]], frozen=True):
    """All announcements of changed configs: name and entity (`topics/t`, `brokers/<default>`).

    Oldest first; the list is watched. Nobody but time removes them.
    """


class ReadMutationQuotas(Ask[dict[str, float | Malformed | None]], frozen=True):
    """How many partitions a second each of these entities may make and delete; None: any number.

    Entities are named as in announcements: `users/u`, `clients/<default>`. Without names, all
    that there are.
    """

    entities: tuple[str, ...] | None = None


class ReadBrokerDefaults(Ask[dict[str, str] | Malformed], frozen=True):
    """The dynamic defaults of all brokers, `/config/brokers/<default>`."""


# --- leadership -----------------------------------------------------------------------------


class ReadLeaderships(Ask[Sequence[LeadershipRead]], frozen=True):
    """The leadership of each of these partitions, in their order."""

    partitions: Sequence[Partition]


class WatchLeaderships(Ask[Sequence[LeadershipRead]], frozen=True):
    """The same, with a watch on each: for partitions whose leaders write the ISR themselves."""

    partitions: Sequence[Partition]


class LeadershipWrite(Struct, frozen=True, gc=False):
    """The leadership a partition shall have; its `zk_version` is the one to be replaced."""

    partition: Partition
    leadership: Leadership


class CreateLeaderships(Ask[Sequence[WriteResult]], frozen=True):
    """Create these partitions' state znodes, parents included; the version of each, or why not."""

    fence: Fence
    writes: Sequence[LeadershipWrite]


class WriteLeaderships(Ask[Sequence[WriteResult]], frozen=True):
    """Replace these leaderships if nobody wrote in between; the new version, or why not."""

    fence: Fence
    writes: Sequence[LeadershipWrite]


# --- ISR changes announced by leaders that write the ISR themselves ----------------------------


class IsrNotification(Struct, frozen=True):
    """One child of `/isr_change_notification`."""

    name: str
    partitions: tuple[TopicPartition, ...] | Malformed


class ReadIsrNotifications(Ask[tuple[IsrNotification, ...]], frozen=True):
    """All notifications, oldest first; the list is watched."""


class DeleteIsrNotifications(Ask[None], frozen=True):
    """Remove these notifications, or with None all there are; missing ones do not matter."""

    fence: Fence
    names: tuple[str, ...] | None = None


def fence_of(state: ControllerState) -> Fence:
    """The fence of the reign that `state` belongs to."""
    return Fence(state.controller_epoch, state.epoch_zk_version)


Procedure: TypeAlias = Generator[Ask[Any] | Effect, Any, Answer]


def ask(request: Ask[Answer]) -> Procedure[Answer]:
    """Yield one request; the type of the answer follows from the type of the request."""
    answer: Answer = yield request
    return answer
