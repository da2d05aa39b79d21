"""How a cluster stood before and how it stands after, partition by partition, and what differs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct

from regent.core.state import ControllerState
from regent.dryrun.snapshot import MIN_ISR
from regent.model.assignment import Assignment
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.model.states import PartitionState

#: Kafka's own default.
MIN_ISR_DEFAULT: Final = 1


class Standing(Struct, frozen=True, gc=False):
    """One partition at one time, as the controller knows it."""

    assignment: Assignment
    leadership: Leadership | None
    state: PartitionState

    @property
    def leader(self) -> BrokerId | None:
        """Who serves it; None while nobody does."""
        known = self.leadership
        if self.state is not PartitionState.ONLINE or known is None or known.leader == NO_LEADER:
            return None
        return known.leader

    @property
    def isr(self) -> tuple[BrokerId, ...]:
        """Who was in sync when it was last written."""
        return () if self.leadership is None else self.leadership.isr


class Standings(Struct, frozen=True):
    """All partitions at one time, and the brokers alive then."""

    partitions: dict[TopicPartition, Standing]
    live: frozenset[BrokerId]
    deleting: frozenset[str]
    reassigning: tuple[TopicPartition, ...]


def take_standings(state: ControllerState) -> Standings:
    """What the controller knows just now."""
    partitions = {
        TopicPartition(p.topic, p.index): Standing(p.assignment, p.leadership, p.state)
        for p in state.all_partitions()
    }
    return Standings(
        partitions,
        frozenset(state.brokers),
        frozenset(state.topics_to_delete),
        tuple(p.name for p in state.reassigning),
    )


# --- what there is to worry about -------------------------------------------------------------


class Worries(Struct, frozen=True):
    """The partitions that somebody would be called for, by why. Topics being deleted are not."""

    #: Nobody leads it.
    offline: dict[TopicPartition, None]
    #: Fewer replicas in sync and alive than it shall have.
    under_replicated: dict[TopicPartition, None]
    #: Fewer replicas in sync and alive than `min.insync.replicas`: it takes no acks=all.
    below_min_isr: dict[TopicPartition, None]


def find_worries(standings: Standings, min_isr: Callable[[str], int]) -> Worries:
    """Look at every partition once."""
    worries = Worries({}, {}, {})
    live = standings.live
    needed: dict[str, int] = {}
    for name, standing in standings.partitions.items():
        if name.topic in standings.deleting:
            continue
        if name.topic not in needed:
            needed[name.topic] = min_isr(name.topic)
        if standing.leader is None:
            worries.offline[name] = None
        in_sync = len(live.intersection(standing.isr))
        # As many as the target has: what is being removed need not be in sync any more.
        wanted = len(standing.assignment.replicas) - len(standing.assignment.removing)
        if in_sync < wanted:
            worries.under_replicated[name] = None
        if in_sync < needed[name.topic]:
            worries.below_min_isr[name] = None
    return worries


def min_isr_from(
    configs: Mapping[str, Mapping[str, str]], defaults: Mapping[str, str]
) -> Callable[[str], int]:
    """How many replicas a topic needs in sync: its own word, the brokers', or Kafka's."""
    fallback = int(defaults.get(MIN_ISR, MIN_ISR_DEFAULT))

    def min_isr(topic: str) -> int:
        return int(configs.get(topic, {}).get(MIN_ISR, fallback))

    return min_isr


class Shift(Struct, frozen=True):
    """How one worry grew or shrank."""

    before: int
    after: int
    new: tuple[str, ...]
    over: tuple[str, ...]


def shift(before: Mapping[TopicPartition, None], after: Mapping[TopicPartition, None]) -> Shift:
    """Which partitions came to have a worry, and which got rid of it."""
    return Shift(
        len(before),
        len(after),
        names_of(name for name in after if name not in before),
        names_of(name for name in before if name not in after),
    )


def names_of(names: Iterable[TopicPartition]) -> tuple[str, ...]:
    """As people write them."""
    return tuple(map(str, names))


# --- what changed -----------------------------------------------------------------------------


class PartitionChange(Struct, frozen=True):
    """A partition that is not as it was. `leader` is null while nobody leads it."""

    topic: str
    partition: int
    leader_before: BrokerId | None
    leader_after: BrokerId | None
    isr_before: tuple[BrokerId, ...]
    isr_after: tuple[BrokerId, ...]
    replicas_before: tuple[BrokerId, ...]
    replicas_after: tuple[BrokerId, ...]
    #: Kafka's words for the states; null for a partition that was not there, or is not any more.
    state_before: PartitionState | None
    state_after: PartitionState | None

    @property
    def name(self) -> TopicPartition:
        """The partition's name."""
        return TopicPartition(self.topic, self.partition)

    @property
    def has_leader_moved(self) -> bool:
        """From one broker to another; one that is lost or found has not moved."""
        before, after = self.leader_before, self.leader_after
        return before is not None and after is not None and before != after

    @property
    def has_isr_changed(self) -> bool:
        """Other members; another order is no news."""
        return sorted(self.isr_before) != sorted(self.isr_after)


def find_changes(before: Standings, after: Standings) -> tuple[PartitionChange, ...]:
    """Every partition that differs in what a person would see, in the order of their names."""
    names = dict.fromkeys((*before.partitions, *after.partitions))
    found = []
    for name in names:
        was, now = before.partitions.get(name), after.partitions.get(name)
        if was != now:
            change = _change(name, was, now)
            if _is_visible(change):
                found.append(change)
    return tuple(sorted(found, key=lambda change: change.name))


def _change(name: TopicPartition, was: Standing | None, now: Standing | None) -> PartitionChange:
    return PartitionChange(
        name.topic,
        name.partition,
        None if was is None else was.leader,
        None if now is None else now.leader,
        () if was is None else was.isr,
        () if now is None else now.isr,
        () if was is None else was.assignment.replicas,
        () if now is None else now.assignment.replicas,
        None if was is None else was.state,
        None if now is None else now.state,
    )


def _is_visible(change: PartitionChange) -> bool:
    """A leader told again under a new epoch is nothing that anybody sees."""
    return (
        change.leader_before != change.leader_after
        or change.state_before is not change.state_after
        or change.replicas_before != change.replicas_after
        or change.has_isr_changed
    )
