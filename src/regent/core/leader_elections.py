"""How leaders come to be: the moves of the partition machine that end OnlinePartition.

Choose, write on condition that nobody wrote in between, and only then know it, record it and have
it told. A lost race is decided afresh on what ZooKeeper says, a bounded number of times.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from regent.core.asks import (
    CreateLeaderships,
    LeadershipRead,
    LeadershipWrite,
    Malformed,
    Procedure,
    ReadLeaderships,
    ReadTopicConfigs,
    WriteFailure,
    WriteLeaderships,
    ask,
    fence_of,
)
from regent.core.election import (
    Choice,
    Strategy,
    choose_controlled_shutdown,
    choose_offline,
    choose_preferred,
    choose_reassigned,
    choose_unclean,
)
from regent.core.isolation import isolate
from regent.core.leadership_lookup import look_up
from regent.core.partition_step import PartitionStep
from regent.core.state import ControllerState, Partition
from regent.core.strangers import without_strangers
from regent.errors import ControllerMoved
from regent.model.facts import Fact, LeaderElected, LeadershipLearned
from regent.model.ids import FIRST_LEADER_EPOCH, NO_LEADER, BrokerId, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.model.protocol_version import RECOVERY_SINCE
from regent.model.states import PartitionState

ONLINE: Final = PartitionState.ONLINE

#: How often a lost race is decided afresh before the partition is left for the next event.
CONFLICTS_MAX: Final = 10
UNCLEAN_CONFIG: Final = "unclean.leader.election.enable"


# --- the first leader -------------------------------------------------------------------------


def elect_first_leaders(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """The first live replica leads and every live replica starts in sync (P3)."""
    state = step.state
    writes = []
    for partition in partitions:
        live = state.electable_for(partition)
        alive = tuple(r for r in partition.assignment.replicas if r in live)
        if not alive:
            step.refuse(partition, ONLINE, "no assigned replica is alive")
            continue
        first = Leadership(
            alive[0], FIRST_LEADER_EPOCH, alive, state.controller_epoch, ZkVersion(0)
        )
        writes.append(LeadershipWrite(partition, first))
    if not writes:
        return
    results = yield from ask(CreateLeaderships(fence_of(state), writes))
    found = []
    for write, result in zip(writes, results, strict=True):
        partition, first = write.partition, write.leadership
        if isinstance(result, WriteFailure):
            step.refuse(partition, ONLINE, f"its state znode was not created: {result.name}")
            if result is WriteFailure.EXISTS:
                found.append(partition)
            continue
        _install(step, partition, first, Choice(first.leader, first.isr, first.isr), is_new=True)
    if found:
        yield from _learn(step, found)
    yield from step.journal()


def _learn(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """Somebody created these: know it, and hold an ordinary election."""
    reads = yield from ask(ReadLeaderships(partitions))
    malformed = []
    for partition, read in zip(partitions, reads, strict=True):
        if isinstance(read, Leadership):
            learn(step.state, partition, read, step.facts)
        elif isinstance(read, Malformed):
            step.state.unreadable[partition] = None
            malformed.append(read)
    yield from isolate(step.state, malformed)
    led_before = [partition for partition in partitions if partition.leadership is not None]
    if led_before:
        yield from elect_leaders(step, led_before)


def learn(
    state: ControllerState, partition: Partition, read: Leadership, facts: list[Fact]
) -> None:
    """Take over what ZooKeeper says about a partition where it differs from what we knew."""
    if read == partition.leadership:
        return
    state.set_leadership(partition, read)
    facts.append(
        LeadershipLearned(
            partition.topic,
            partition.index,
            read.leader,
            read.leader_epoch,
            read.isr,
            read.controller_epoch,
            read.zk_version,
            read.recovering,
        )
    )


# --- another leader ---------------------------------------------------------------------------


def elect_leaders(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """Elect by the step's strategy on what ZooKeeper says when it is written (P4)."""
    waiting = partitions
    chooser = Chooser(step.state, step.strategy)
    reads = yield from look_up(waiting, chooser.has_choice)
    for _ in range(CONFLICTS_MAX):
        elected = yield from _decide(step, chooser, waiting, reads)
        yield from step.journal()
        if not elected.writes:
            return
        results = yield from ask(WriteLeaderships(fence_of(step.state), elected.writes))
        waiting = []
        for write, choice, result in zip(elected.writes, elected.choices, results, strict=True):
            partition, after = write.partition, write.leadership
            if not isinstance(result, WriteFailure):
                written = after.at(result)
                _install(step, partition, written, choice, is_new=False)
            elif result is WriteFailure.CONFLICT:
                waiting.append(partition)
            elif result is WriteFailure.MISSING:
                step.refuse(partition, ONLINE, _unusable(None))
            else:
                step.refuse(partition, ONLINE, f"its state znode was not written: {result.name}")
        yield from step.journal()
        if not waiting:
            return
        reads = yield from ask(ReadLeaderships(waiting))
    for partition in waiting:
        step.refuse(partition, ONLINE, f"lost {CONFLICTS_MAX} races in a row")


def elect_first_or_again(step: PartitionStep, partitions: Sequence[Partition]) -> Procedure[None]:
    """A New partition is led for the first time, unless its state was found to exist already."""
    never_led = [p for p in partitions if p.leadership is None]
    led_before = [p for p in partitions if p.leadership is not None]
    if never_led:
        yield from elect_first_leaders(step, never_led)
    if led_before:
        yield from elect_leaders(step, led_before)


class Elected(Struct, frozen=True):
    """What is to be written, and beside each write the choice that it comes from."""

    # Two lists, because a tuple for each election is one more object for the garbage collector.
    writes: list[LeadershipWrite]
    choices: list[Choice]


class Chooser:
    """Holds the clean half of elections while nothing changes but ISRs.

    Few assignments and ISRs are shared by many partitions: each combination is decided once.
    """

    def __init__(self, state: ControllerState, strategy: Strategy) -> None:
        self._state = state
        self._strategy = strategy
        self._decided: dict[tuple[int, tuple[int, ...]], Choice | None] = {}

    def choose(self, partition: Partition, current: Leadership) -> Choice | None:
        """Who is to lead, if anybody can."""
        isr = without_strangers(self._state, partition, current)
        key = (id(partition.assignment), isr)
        decided = self._decided
        if key not in decided or self._state.offline_dirs:
            decided[key] = choose(self._state, partition, isr, self._strategy)
        return decided[key]

    def has_choice(self, partition: Partition, current: Leadership) -> bool:
        """Whether anybody can lead."""
        return self.choose(partition, current) is not None


def _decide(
    step: PartitionStep,
    chooser: Chooser,
    partitions: Sequence[Partition],
    reads: Sequence[LeadershipRead],
) -> Procedure[Elected]:
    """The new leadership of each partition that can have one; the others are refused."""
    state, controller_epoch = step.state, step.state.controller_epoch
    writes: list[LeadershipWrite] = []
    choices: list[Choice] = []
    unled: list[tuple[Partition, Leadership]] = []
    for partition, read in zip(partitions, reads, strict=True):
        if not isinstance(read, Leadership):
            step.refuse(partition, ONLINE, _unusable(read))
            continue
        if read.controller_epoch > controller_epoch:
            raise ControllerMoved(f"{partition} was written by epoch {read.controller_epoch}")
        if read is not partition.leadership:
            learn(state, partition, read, step.facts)
        choice = chooser.choose(partition, read)
        if choice is None:
            unled.append((partition, read))
        else:
            writes.append(LeadershipWrite(partition, _led_by(state, choice, read)))
            choices.append(choice)
    elected = Elected(writes, choices)
    if unled:
        yield from _decide_unclean(step, unled, elected)
    return elected


def choose(
    state: ControllerState, partition: Partition, isr: tuple[BrokerId, ...], strategy: Strategy
) -> Choice | None:
    """Hold one election, the clean half of it."""
    assignment = partition.assignment
    live = state.electable_for(partition)
    match strategy:
        case Strategy.OFFLINE | Strategy.OFFLINE_UNCLEAN:
            return choose_offline(assignment.replicas, isr, live)
        case Strategy.REASSIGN:
            return choose_reassigned(assignment.target, isr, live)
        case Strategy.PREFERRED:
            return choose_preferred(assignment.replicas, isr, live)
        case Strategy.CONTROLLED_SHUTDOWN:
            return choose_controlled_shutdown(
                assignment.replicas,
                isr,
                reachable=state.reachable_for(partition),
                shutting_down=state.shutting_down,
            )


def _decide_unclean(
    step: PartitionStep, unled: Sequence[tuple[Partition, Leadership]], elected: Elected
) -> Procedure[None]:
    """Where no in-sync replica can lead, ask whether any other may; configs are read only now.

    Those that may are added to `elected`.
    """
    state = step.state
    if step.strategy not in (Strategy.OFFLINE, Strategy.OFFLINE_UNCLEAN):
        for partition, _ in unled:
            step.refuse(partition, ONLINE, f"no replica is eligible under {step.strategy}")
        return
    allowed = yield from _unclean_allowed(step, [partition for partition, _ in unled])
    for partition, read in unled:
        verdict = allowed[partition.topic]
        if verdict is not True:
            step.refuse(partition, ONLINE, verdict or "no in-sync replica is alive")
            continue
        choice = choose_unclean(partition.assignment.replicas, state.electable_for(partition))
        if choice is None:
            step.refuse(partition, ONLINE, "no assigned replica is alive")
        else:
            elected.writes.append(LeadershipWrite(partition, _led_by(state, choice, read)))
            elected.choices.append(choice)


def _unclean_allowed(
    step: PartitionStep, partitions: Sequence[Partition]
) -> Procedure[dict[str, bool | str]]:
    """For each topic whether unclean election is on, or why nobody can tell."""
    topics = tuple(dict.fromkeys(partition.topic for partition in partitions))
    if step.strategy is Strategy.OFFLINE_UNCLEAN:
        return dict.fromkeys(topics, True)
    allowed: dict[str, bool | str] = {}
    configs = yield from ask(ReadTopicConfigs(topics))
    for topic in topics:
        config = configs[topic]
        if isinstance(config, Malformed):
            allowed[topic] = f"{config.path}: {config.reason}"
        else:
            said = unclean_in(config)
            allowed[topic] = step.state.unclean_default if said is None else said
    return allowed


def unclean_in(config: Mapping[str, str]) -> bool | None:
    """What a config says about unclean elections; None when it leaves them to the default."""
    said = config.get(UNCLEAN_CONFIG)
    return None if said is None else said.lower() == "true"


def _led_by(state: ControllerState, choice: Choice, before: Leadership) -> Leadership:
    """What to write: the choice, one leader epoch on, over the version that was read."""
    return Leadership(
        choice.leader,
        LeaderEpoch(before.leader_epoch + 1),
        choice.isr,
        state.controller_epoch,
        before.zk_version,
        before.recovering if not choice.is_unclean else state.config.protocol >= RECOVERY_SINCE,
    )


def _install(
    step: PartitionStep, partition: Partition, written: Leadership, choice: Choice, *, is_new: bool
) -> None:
    """The election is durable: know it, record it, and have it told (P6)."""
    state, known = step.state, partition.leadership
    before, leader_before = partition.state, NO_LEADER if known is None else known.leader
    state.set_leadership(partition, written)
    state.set_partition_state(partition, ONLINE)
    if choice.is_unclean:
        state.unclean_election_count += 1
    step.facts.append(
        LeaderElected(
            partition.topic,
            partition.index,
            step.strategy,
            before,
            leader_before,
            written.leader,
            written.leader_epoch,
            written.isr,
            written.zk_version,
            choice.is_unclean,
            written.recovering,
        )
    )
    step.results[partition] = written
    step.batch.add_leader_and_isr(choice.recipients, partition, is_new=is_new)


def _unusable(read: Malformed | None) -> str:
    return "its state znode is missing" if read is None else f"{read.path}: {read.reason}"
