"""Topics that come and go in a synthetic journal, and the faults that are planted on some of them.

Each is told fact by fact, as the controller would, and breaks at most the one rule of the audit
that it is named after.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Protocol

from regent.model import facts
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState, ReplicaState

ONLINE, OFFLINE, NEW, GONE = (
    PartitionState.ONLINE,
    PartitionState.OFFLINE,
    PartitionState.NEW,
    PartitionState.NON_EXISTENT,
)
BY_DEATH: Final = "OfflinePartitionLeaderElectionStrategy"


class Pen(Protocol):
    """Whatever writes facts down."""

    now_ms: int
    controller_epoch: ControllerEpoch

    def because(self, event: str, after_ms: int = 20) -> None:
        """Another event is handled, some time later."""

    def say(self, *said: facts.Fact) -> None:
        """These took hold."""


def ids(*brokers: int) -> tuple[BrokerId, ...]:
    """These, as ids."""
    return tuple(map(BrokerId, brokers))


class SmallTopic:
    """A topic with one partition on the brokers 4, 5 and 6, told fact by fact."""

    replicas: tuple[BrokerId, ...] = ids(4, 5, 6)

    def __init__(self, pen: Pen, name: str) -> None:
        self.pen, self.name = pen, name
        self._version = 0

    def _next_version(self, given: int | None) -> ZkVersion:
        self._version = self._version + 1 if given is None else given
        return ZkVersion(self._version)

    def create(self, leader: int = 4) -> None:
        """Load it as new and elect its first leader."""
        one = facts.LoadedPartition(0, self.replicas)
        self.pen.say(facts.TopicLoaded(self.name, (one,), f"id-{self.name}"))
        self.move(GONE, NEW)
        self.move_replicas(ReplicaState.NON_EXISTENT, ReplicaState.NEW)
        self.pen.now_ms += 20
        self.elect(leader, 0, before=NEW, leader_before=-1, version=0)
        self.move_replicas(ReplicaState.NEW, ReplicaState.ONLINE)
        self.pen.now_ms += 1_000

    def move(self, before: PartitionState, after: PartitionState) -> None:
        """The partition changes its state."""
        self.pen.say(facts.PartitionMoved(self.name, 0, before, after))

    def move_replicas(self, *states: ReplicaState, of: tuple[BrokerId, ...] | None = None) -> None:
        """These replicas, or all, go from state to state."""
        for before, after in pairwise(states):
            for broker in of or self.replicas:
                self.pen.say(facts.ReplicaMoved(self.name, 0, broker, before, after))

    def elect(  # noqa: PLR0913 - the fields of the fact that faults get wrong
        self,
        leader: int,
        leader_epoch: int,
        *,
        before: PartitionState = ONLINE,
        leader_before: int = 4,
        isr: tuple[BrokerId, ...] | None = None,
        unclean: bool = False,
        version: int | None = None,
    ) -> None:
        """An election is written."""
        fact = facts.LeaderElected(
            self.name,
            0,
            BY_DEATH,
            before,
            BrokerId(leader_before),
            BrokerId(leader),
            LeaderEpoch(leader_epoch),
            self.replicas if isr is None else isr,
            self._next_version(version),
            unclean=unclean,
        )
        self.pen.say(fact)

    def alter(
        self, *isr: int, leader: int = 4, leader_epoch: int = 0, version: int | None = None
    ) -> None:
        """The leader's request for this ISR is written."""
        self.pen.say(
            facts.IsrAltered(
                self.name,
                0,
                BrokerId(leader),
                BrokerId(leader),
                LeaderEpoch(leader_epoch),
                ids(*isr),
                self._next_version(version),
            )
        )

    def raise_epoch(self, leader_epoch: int, *isr: int) -> None:
        """The leader epoch is raised."""
        self.pen.say(
            facts.LeaderEpochRaised(
                self.name,
                0,
                BrokerId(4),
                LeaderEpoch(leader_epoch),
                ids(*isr),
                self._next_version(None),
            )
        )

    def learn(self, leader: int, *isr: int) -> None:
        """The controller reads another leadership than it knew."""
        self.pen.say(
            facts.LeadershipLearned(
                self.name,
                0,
                BrokerId(leader),
                LeaderEpoch(0),
                ids(*isr),
                self.pen.controller_epoch,
                self._next_version(None),
            )
        )

    def assign(
        self, *replicas: int, adding: Sequence[int] = (), removing: Sequence[int] = ()
    ) -> None:
        """The assignment is another."""
        self.pen.say(
            facts.AssignmentChanged(self.name, 0, ids(*replicas), ids(*adding), ids(*removing))
        )

    def advance(
        self, phase: str, *replicas: int, adding: Sequence[int] = (), removing: Sequence[int] = ()
    ) -> None:
        """A reassignment reaches a phase."""
        self.pen.say(
            facts.ReassignmentAdvanced(
                self.name, 0, phase, ids(*replicas), ids(*adding), ids(*removing)
            )
        )

    def reassign(self, pause_ms: int) -> None:
        """Move the replica on broker 6 to broker 3; the new one is in sync after so long."""
        self.pen.because("ReassignmentsRequested", 100)
        self.assign(4, 5, 3, 6, adding=[3], removing=[6])
        self.advance("U", 4, 5, 3, 6, adding=[3], removing=[6])
        self.raise_epoch(1, 4, 5, 6)
        self.move_replicas(ReplicaState.NON_EXISTENT, ReplicaState.NEW, of=ids(3))
        self.advance("A", 4, 5, 3, 6, adding=[3], removing=[6])
        self.pen.because("IsrChangesRequested", pause_ms)
        self.alter(4, 5, 6, 3, leader_epoch=1)
        self.move_replicas(ReplicaState.NEW, ReplicaState.ONLINE, of=ids(3))
        self.assign(4, 5, 3)
        self.raise_epoch(2, 4, 5, 3)
        gone = ids(6)
        self.move_replicas(ReplicaState.ONLINE, *DELETED, of=gone)
        self.advance("B", 4, 5, 3)
        self.replicas = ids(4, 5, 3)

    def delete(self, pause_ms: int) -> None:
        """Delete it; the brokers take so long."""
        self.pen.because("TopicDeletionRequested", 100)
        self.pen.say(facts.DeletionAdvanced(self.name, "queued"))
        self.move_replicas(ReplicaState.ONLINE, ReplicaState.OFFLINE)
        self.pen.say(facts.DeletionAdvanced(self.name, "started"))
        self.move_replicas(ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)
        self.pen.because("StopReplicaAnswered", pause_ms)
        self.move_replicas(ReplicaState.DELETION_STARTED, *DELETED[2:])
        self.move(ONLINE, OFFLINE)
        self.move(OFFLINE, GONE)
        self.pen.say(facts.TopicForgotten(self.name), facts.DeletionAdvanced(self.name, "finished"))


#: What a replica goes through that is given up.
DELETED: Final = (
    ReplicaState.OFFLINE,
    ReplicaState.DELETION_STARTED,
    ReplicaState.DELETION_SUCCESSFUL,
    ReplicaState.NON_EXISTENT,
)


def passing_topic(pen: Pen, name: str) -> None:
    """A topic that is created, moved and deleted."""
    pen.because("TopicsChanged", 1_000)
    topic = SmallTopic(pen, name)
    topic.create()
    topic.reassign(pause_ms=5_000)
    topic.delete(pause_ms=500)


# --- the faults, each by the name of the rule that it breaks --------------------------------------


def illegal_partition_move(topic: SmallTopic) -> None:
    """An online partition becomes new."""
    topic.move(ONLINE, NEW)
    topic.elect(4, 1, before=NEW)


def illegal_replica_move(topic: SmallTopic) -> None:
    """A replica is deleted that nobody had told to."""
    topic.move_replicas(ReplicaState.ONLINE, ReplicaState.DELETION_SUCCESSFUL, of=ids(6))


def leader_outside_isr(topic: SmallTopic) -> None:
    """The leader asks for an ISR without itself."""
    topic.alter(5, 6)


def empty_isr(topic: SmallTopic) -> None:
    """For a second, nobody is in sync."""
    topic.learn(-1)
    topic.pen.now_ms += 1_000
    topic.learn(4, 4, 5, 6)


def unclean_election(topic: SmallTopic) -> None:
    """The only replica in sync dies, and another is elected."""
    topic.alter(4)
    topic.move(ONLINE, OFFLINE)
    topic.elect(5, 1, before=OFFLINE, isr=ids(5), unclean=True)


def partition_chain_broken(topic: SmallTopic) -> None:
    """A partition is elected out of a state that it was not in."""
    topic.elect(4, 1, before=OFFLINE)


def replica_chain_broken(topic: SmallTopic) -> None:
    """A replica comes back that was not away."""
    topic.move_replicas(ReplicaState.OFFLINE, ReplicaState.ONLINE, of=ids(6))


def leader_epoch_went_back(topic: SmallTopic) -> None:
    """The leader epoch is raised, and then as it was."""
    topic.raise_epoch(1, 4, 5, 6)
    topic.alter(4, 5, leader_epoch=0)


def two_leaders_in_one_epoch(topic: SmallTopic) -> None:
    """Another broker leads, under the same leader epoch."""
    topic.alter(4, 5, 6, leader=5)


def zk_version_went_back(topic: SmallTopic) -> None:
    """Two writes with the same version."""
    topic.alter(4, 5)
    topic.alter(4, 5, 6, version=1)


def out_of_sync_replica_trusted(topic: SmallTopic) -> None:
    """The controller takes a replica into the ISR by itself."""
    topic.alter(4)
    topic.raise_epoch(1, 4, 5)


def leader_not_assigned(topic: SmallTopic) -> None:
    """A broker is elected that has just been taken out of the assignment."""
    topic.assign(5, 6, 3)
    topic.elect(4, 1)


def isr_outside_assignment(topic: SmallTopic) -> None:
    """A fourth broker is in sync."""
    topic.alter(4, 5, 6, 3)


def leaderless_too_long(topic: SmallTopic) -> None:
    """Nobody leads for 45 seconds."""
    topic.move(ONLINE, OFFLINE)
    topic.pen.now_ms += 45_000
    topic.elect(4, 1, before=OFFLINE)


def reassignment_stuck(topic: SmallTopic) -> None:
    """The new replica takes more than ten minutes."""
    topic.reassign(pause_ms=700_000)


def deletion_stuck(topic: SmallTopic) -> None:
    """The brokers take more than ten minutes."""
    topic.delete(pause_ms=700_000)


def deleted_while_reassigning(topic: SmallTopic) -> None:
    """A deletion goes ahead in the middle of a move."""
    topic.assign(4, 5, 6, 3, adding=[3])
    topic.delete(pause_ms=500)


def assigned_replica_deleted(topic: SmallTopic) -> None:
    """One of the assigned replicas is deleted."""
    topic.move_replicas(ReplicaState.ONLINE, *DELETED, of=ids(6))


def by_lives(_: SmallTopic) -> None:
    """Made by the reign itself, which knows the epochs of brokers."""


#: How often a broker dies for a fault.
LIVES_OF: Final[Mapping[str, Mapping[int, int]]] = {
    "leader_on_dead_broker": {5: 1},
    "flapping_broker": {6: 3},
}

FAULTS: Final[Mapping[str, Callable[[SmallTopic], None]]] = {
    **{
        fault.__name__: fault
        for fault in (
            illegal_partition_move,
            illegal_replica_move,
            leader_outside_isr,
            empty_isr,
            unclean_election,
            partition_chain_broken,
            replica_chain_broken,
            leader_epoch_went_back,
            two_leaders_in_one_epoch,
            zk_version_went_back,
            out_of_sync_replica_trusted,
            leader_not_assigned,
            isr_outside_assignment,
            leaderless_too_long,
            reassignment_stuck,
            deletion_stuck,
            deleted_while_reassigning,
            assigned_replica_deleted,
        )
    },
    **dict.fromkeys(LIVES_OF, by_lives),
}
