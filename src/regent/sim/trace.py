"""The transcript of a run: one line for each change of state, in columns that stay where they are.

`docs/simulation.md` has the legend. What a controller writes at once and of one kind, such as the
moves of a topic's replicas, shares a line. The transcript watches and changes nothing: a run with
it is the same run.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from regent.journal.record import Record
from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.sim.observer import Observer
from regent.sim.plan import Step

if TYPE_CHECKING:
    from regent.sim.process import Process
    from regent.sim.world import World

HEADER: Final = "     time  epoch  node  kind        what"
#: Everything that the fourth column may say.
KINDS: Final = (
    "fault",
    "user",
    "node",
    "controller",
    "broker",
    "topic",
    "partition",
    "replica",
    "election",
    "isr",
    "request",
    "refused",
    "phase",
)


class Line(Struct, frozen=True):
    """One line of the transcript; no epoch or node where none is concerned."""

    at_us: int
    kind: str
    what: str
    controller_epoch: int | None = None
    node: int | None = None

    def __str__(self) -> str:
        epoch = "·" if self.controller_epoch is None else str(self.controller_epoch)
        node = "·" if self.node is None else str(self.node)
        seconds = f"{self.at_us // 1000 / 1000:9.3f}"
        return f"{seconds}  {epoch:>5}  {node:>4}  {self.kind:<10}  {self.what}"


class Trace(Observer):
    """Collects the lines."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        #: Facts that may yet share a line, and what they have in common.
        self._held: list[Any] = []
        self._held_key: tuple[Any, ...] = ()
        self._is_healed = False

    @property
    def lines(self) -> list[Line]:
        """All lines so far."""
        self._release()
        return self._lines

    # --- what is seen -------------------------------------------------------------------------

    def step_carried_out(self, world: "World", step: Step) -> None:
        """A fault, or something that users do."""
        kind = "user" if step.kind in USER_STEPS else "fault"
        node = step.brokers[0] if step.brokers else None
        self._add(world, kind, describe_step(step), node=node)

    def node_started(self, process: "Process") -> None:
        """A node is launched."""
        what = "starts" if process.life == 1 else f"starts again, life {process.life}"
        self._add(process.world, "node", what, node=process.broker_id)

    def node_killed(self, process: "Process") -> None:
        """A node is gone, with all that it had in memory."""
        was = ", the controller" if process.controller.state.is_active else ""
        self._add(process.world, "node", f"dies{was}", node=process.broker_id)

    def recorded(self, process: "Process", record: Record) -> None:
        """A controller's fact; held back while the next may belong to the same line."""
        fact = record.fact
        shared = _SHARED.get(type(fact))
        at_us = process.world.schedule.now_us
        key = (at_us, record.controller_epoch, record.controller_id, type(fact))
        if shared is not None:
            key += tuple(getattr(fact, name) for name in shared)
        if shared is None or key != self._held_key:
            self._release()
        self._note_healing(process.world)
        self._held.append(fact)
        self._held_key = key

    def at_rest(self, world: "World") -> None:
        """The end of a run that held."""
        self._add(world, "phase", "at rest: everything is as it must be")

    # --- lines --------------------------------------------------------------------------------

    def _add(self, world: "World", kind: str, what: str, *, node: int | None = None) -> None:
        self._release()
        self._note_healing(world)
        self._lines.append(Line(world.schedule.now_us, kind, what, None, node))

    def _note_healing(self, world: "World") -> None:
        if not self._is_healed and not world.faults_are_on:
            self._is_healed = True
            self._release()
            what = "everything is healed: from now on the cluster must come to rest"
            self._lines.append(Line(world.schedule.now_us, "phase", what))

    def _release(self) -> None:
        held, self._held = self._held, []
        if not held:
            return
        at_us, epoch, node, fact_class = self._held_key[:4]
        self._held_key = ()
        kind, what = _WORDS[fact_class], _describe(held)
        if what:
            self._lines.append(Line(at_us, kind, what, epoch, node))


# --- steps in words -------------------------------------------------------------------------

USER_STEPS: Final = ("create_topic", "add_partitions", "corrupt_topic", "move_endpoint", "depose")


def describe_step(step: Step) -> str:
    """What is done, with its measure."""
    seconds = f"{step.ms / 1000:.3f} s"
    one, other = (*step.brokers, 0, 0)[:2]
    match step.kind:
        case "cut_two_way":
            return f"cut_two_way: {one} and {other} do not hear each other for {seconds}"
        case "cut_one_way":
            return f"cut_one_way: {one} does not get through to {other} for {seconds}"
        case "slow_link":
            return f"slow_link: {one} to {other} takes {seconds} longer"
        case "crash_after_write":
            return f"crash_after_write: the controller dies after {step.ms} more writes"
        case "depose":
            return "depose: somebody deletes /controller"
        case "skew_clock":
            return f"skew_clock: the clock is off by {seconds}"
        case "add_partitions":
            return f"add_partitions: {step.ms} more for {step.topic}"
        case "create_topic" | "corrupt_topic":
            return f"{step.kind}: {step.topic}"
        case _:
            return f"{step.kind} for {seconds}" if step.ms else step.kind


# --- facts in words -------------------------------------------------------------------------

#: Facts of these kinds share a line when they come together and agree in these fields.
_SHARED: Final[Mapping[type, tuple[str, ...]]] = {
    facts.PartitionMoved: ("topic", "before", "after"),
    facts.ReplicaMoved: ("topic", "replica_before", "replica_after"),
    facts.RequestSent: ("api",),
    facts.BrokerUp: ("loaded",),
    facts.TopicLoaded: (),
}

#: The word in the fourth column.
_WORDS: Final[Mapping[type, str]] = {
    facts.ControllerElected: "controller",
    facts.ControllerResigned: "controller",
    facts.EventFailed: "controller",
    facts.ZnodeIsolated: "refused",
    facts.BrokerUp: "broker",
    facts.BrokerDown: "broker",
    facts.BrokerUpdated: "broker",
    facts.TopicLoaded: "topic",
    facts.ReplicasStarted: "replica",
    facts.PartitionsStarted: "partition",
    facts.TopicForgotten: "topic",
    facts.TopicIdGiven: "topic",
    facts.AssignmentChanged: "topic",
    facts.PartitionMoved: "partition",
    facts.ReplicaMoved: "replica",
    facts.MoveRefused: "refused",
    facts.LeaderElected: "election",
    facts.IsrShrunk: "isr",
    facts.IsrAltered: "isr",
    facts.LeadershipLearned: "isr",
    facts.RequestSent: "request",
    facts.RequestAnswered: "refused",
    facts.CallRefused: "refused",
}


def _describe(held: list[Any]) -> str:
    """The words for facts that share a line; empty for what is not worth one."""
    match held[0]:
        case facts.PartitionMoved() as first:
            numbers = _ids(fact.partition for fact in held)
            return f"{first.topic}-{numbers} {first.before.value} → {first.after.value}"
        case facts.ReplicaMoved() as first:
            before, after = first.replica_before.value, first.replica_after.value
            return f"{first.topic}-{_where(held)} {before} → {after}"
        case facts.RequestSent(api=api):
            told = ", ".join(f"{fact.broker_id} ({fact.partition_count})" for fact in held)
            return f"{api} to {told}"
        case facts.BrokerUp(loaded=loaded):
            numbers = _ids(fact.broker_id for fact in held)
            return f"{numbers} found alive" if loaded else f"{numbers} up"
        case facts.TopicLoaded():
            return ", ".join(f"{fact.topic} ({_count(fact.partitions)})" for fact in held)
        case fact:
            return _describe_one(fact)


def _describe_one(fact: facts.Fact) -> str:
    match fact:
        case facts.ControllerElected():
            return "elected"
        case facts.ControllerResigned(reason=reason):
            return f"resigned: {reason}"
        case facts.EventFailed(reason=reason):
            return f"failed: {reason}"
        case facts.ZnodeIsolated(path=path, reason=reason):
            return f"{path} is left alone: {reason}"
        case facts.BrokerDown(broker_id=broker_id, bounced=bounced):
            return f"{broker_id} bounced" if bounced else f"{broker_id} down"
        case facts.BrokerUpdated(broker_id=broker_id):
            return f"{broker_id} has other endpoints"
        case facts.ReplicasStarted(topic=topic, offline_brokers=offline):
            return f"{topic} has dead replicas on {_ids(offline)}" if offline else ""
        case facts.PartitionsStarted(topic=topic, new=new, offline=offline):
            parts = ((new, "NewPartition"), (offline, "OfflinePartition"))
            return ", ".join(f"{topic}-{_ids(which)} is {word}" for which, word in parts if which)
        case facts.TopicForgotten(topic=topic):
            return f"{topic} is gone"
        case facts.TopicIdGiven(topic=topic, topic_id=topic_id):
            return f"{topic} has id {topic_id}"
        case facts.AssignmentChanged(topic=topic, partition=partition, replicas=replicas):
            return f"{topic}-{partition} replicas {_ids(replicas)}"
        case facts.LeaderElected():
            return _describe_election(fact)
        case facts.IsrShrunk() | facts.IsrAltered() | facts.LeadershipLearned():
            return _describe_isr(fact)
        case facts.MoveRefused():
            return _describe_refused_move(fact)
        case facts.RequestAnswered():
            return _describe_answer(fact)
        case facts.CallRefused():
            return _describe_refused_call(fact)
        case _:
            raise AssertionError(f"{type(fact).__name__} shares its lines")


def _describe_election(fact: facts.LeaderElected) -> str:
    way = fact.before.value + (", unclean" if fact.unclean else "")
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader_before)}→{_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({way})"
    )


def _describe_isr(fact: facts.IsrShrunk | facts.IsrAltered | facts.LeadershipLearned) -> str:
    match fact:
        case facts.IsrShrunk(broker_id=broker_id):
            why = f"{broker_id} taken out"
        case facts.IsrAltered():
            why = "asked by the leader"
        case facts.LeadershipLearned():
            why = "found in ZooKeeper"
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({why})"
    )


def _describe_refused_move(fact: facts.MoveRefused) -> str:
    after = fact.replica_after or fact.after
    where = "" if fact.broker_id is None else f" on {fact.broker_id}"
    target = "" if after is None else f" → {after.value}"
    return f"{fact.topic}-{fact.partition}{where}{target}: {fact.reason}"


def _describe_answer(fact: facts.RequestAnswered) -> str:
    """Only a refusal is worth a line."""
    if fact.error is not ErrorCode.NONE:
        return f"{fact.api} by {fact.broker_id}: {fact.error.name}"
    if fact.partition_count:
        return f"{fact.api} by {fact.broker_id}: {_count(range(fact.partition_count))}"
    return ""


def _describe_refused_call(fact: facts.CallRefused) -> str:
    caller = "" if fact.broker_id is None else f" of {fact.broker_id}"
    subject = "" if fact.topic is None else f" for {fact.topic}-{fact.partition}"
    reason = "" if fact.reason is None else f", {fact.reason}"
    return f"{fact.api}{caller}{subject}: {fact.error.name}{reason}"


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)) or "none"


def _leader(broker_id: BrokerId) -> str:
    return str(broker_id) if broker_id >= 0 else "none"


def _count(partitions: Any) -> str:
    return "1 partition" if len(partitions) == 1 else f"{len(partitions)} partitions"


def _where(moved: list[facts.ReplicaMoved]) -> str:
    """Partitions by the replicas that moved: `0,1 on 2,3` when they are the same for each."""
    by_partition = {
        partition: tuple(fact.broker_id for fact in group)
        for partition, group in groupby(
            sorted(moved, key=lambda fact: fact.partition), key=lambda fact: fact.partition
        )
    }
    by_brokers: dict[tuple[BrokerId, ...], list[int]] = {}
    for partition, brokers in by_partition.items():
        by_brokers.setdefault(brokers, []).append(partition)
    return "; ".join(f"{_ids(p)} on {_ids(b)}" for b, p in by_brokers.items())
