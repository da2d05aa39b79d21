"""The transcript of a run: one line for each change of state, in columns that stay where they are.

`docs/simulation.md` has the legend. What a controller writes at once and of one kind, such as the
moves of a topic's replicas, shares a line. The transcript watches and changes nothing: a run with
it is the same run.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from regent.journal.record import Record
from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.sim.network import ZOOKEEPER
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
        self._release()
        died: list[Line] = []
        # The hook comes when it is done; a reader wants the cause before the death.
        while self._lines and self._lines[-1].kind == "node" and self._is_now(world):
            died.insert(0, self._lines.pop())
        kind = "user" if step.kind in USER_STEPS else "fault"
        node = step.brokers[0] if step.brokers and step.kind != "depose" else None
        if node == ZOOKEEPER:
            node = None
        self._add(world, kind, describe_step(step), node=node)
        self._lines.extend(died)

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

    def _is_now(self, world: "World") -> bool:
        return self._lines[-1].at_us == world.schedule.now_us

    def _note_healing(self, world: "World") -> None:
        if not self._is_healed and not world.faults_are_on:
            self._is_healed = True
            self._release()
            what = "everything is healed: from now on the cluster must come to rest"
            self._lines.append(Line(world.plan.character.safety_ms * 1_000, "phase", what))

    def _release(self) -> None:
        held, self._held = self._held, []
        if not held:
            return
        at_us, epoch, node, fact_class = self._held_key[:4]
        self._held_key = ()
        kind, describe = WORDS[fact_class]
        what = describe(held if fact_class in _SHARED else held[0])
        if what:
            self._lines.append(Line(at_us, kind, what, epoch, node))


# --- steps in words -------------------------------------------------------------------------

USER_STEPS: Final = ("create_topic", "add_partitions", "corrupt_topic", "move_endpoint", "depose")


#: How a step is told; one that is not here is told by its kind and its duration.
STEP_WORDS: Final = {
    "cut_two_way": "{one} and {other} do not hear each other for {seconds}",
    "cut_one_way": "{one} does not get through to {other} for {seconds}",
    "slow_link": "{one} to {other} takes {seconds} longer",
    "crash_after_write": "the controller dies after {ms} more writes",
    "depose": "somebody deletes /controller",
    "skew_clock": "the clock is off by {seconds}",
    "add_partitions": "{ms} more for {topic}",
    "create_topic": "{topic}",
    "corrupt_topic": "{topic}",
}


def describe_step(step: Step) -> str:
    """What is done, with its measure."""
    seconds = f"{step.ms / 1000:.3f} s"
    if step.kind not in STEP_WORDS:
        return f"{step.kind} for {seconds}" if step.ms else step.kind
    one, other = map(_host, (*step.brokers, ZOOKEEPER, ZOOKEEPER)[:2])
    words = STEP_WORDS[step.kind]
    if step.kind == "slow_link" and not step.ms:
        words = "{one} to {other} is as fast as before"
    told = words.format(one=one, other=other, seconds=seconds, ms=step.ms, topic=step.topic)
    return f"{step.kind}: {told}"


def _host(host_id: int) -> str:
    return "ZooKeeper" if host_id == ZOOKEEPER else str(host_id)


# --- facts in words -------------------------------------------------------------------------
#
# The facts are `Any` because the table below, not the signature, ties them to their kind.


def _describe_partition_moves(moved: Any) -> str:
    numbers = _ids(fact.partition for fact in moved)
    return f"{moved[0].topic}-{numbers} {moved[0].before.value} → {moved[0].after.value}"


def _describe_replica_moves(moved: Any) -> str:
    before, after = moved[0].replica_before.value, moved[0].replica_after.value
    return f"{moved[0].topic}-{_where(moved)} {before} → {after}"


def _describe_requests(sent: Any) -> str:
    told = ", ".join(f"{fact.broker_id} ({fact.partition_count})" for fact in sent)
    return f"{sent[0].api} to {told}"


def _describe_brokers(came: Any) -> str:
    return _ids(f.broker_id for f in came) + (" found alive" if came[0].loaded else " up")


def _describe_topics(loaded: Any) -> str:
    return ", ".join(f"{fact.topic} ({_count(len(fact.partitions))})" for fact in loaded)


def _describe_deletion(fact: Any) -> str:
    why = "" if fact.reason is None else f": {fact.reason}"
    return f"deletion of {fact.topic} {fact.phase}{why}"


def _describe_dead_replicas(fact: Any) -> str:
    if not fact.offline_brokers:
        return ""
    return f"{fact.topic} has dead replicas on {_ids(fact.offline_brokers)}"


def _describe_start(fact: Any) -> str:
    found = ((fact.new, "NewPartition"), (fact.offline, "OfflinePartition"))
    return ", ".join(f"{fact.topic}-{_ids(which)} is {word}" for which, word in found if which)


def _describe_election(fact: Any) -> str:
    way = fact.before.value + (", unclean" if fact.unclean else "")
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader_before)}→{_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({way})"
    )


def _describe_isr(fact: Any, why: str) -> str:
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({why})"
    )


def _describe_refused_move(fact: Any) -> str:
    after = fact.replica_after or fact.after
    where = "" if fact.broker_id is None else f" on {fact.broker_id}"
    target = "" if after is None else f" → {after.value}"
    return f"{fact.topic}-{fact.partition}{where}{target}: {fact.reason}"


def _describe_answer(fact: Any) -> str:
    """Only a refusal is worth a line."""
    if fact.error is not ErrorCode.NONE:
        return f"{fact.api} by {fact.broker_id}: {fact.error.name}"
    if fact.partition_count:
        return f"{fact.api} by {fact.broker_id}: {_count(fact.partition_count)} refused"
    return ""


def _describe_refused_call(fact: Any) -> str:
    caller = "" if fact.broker_id is None else f" of {fact.broker_id}"
    subject = "" if fact.topic is None else f" for {fact.topic}-{fact.partition}"
    reason = "" if fact.reason is None else f", {fact.reason}"
    return f"{fact.api}{caller}{subject}: {fact.error.name}{reason}"


def _describe_shutdown(fact: Any) -> str:
    return f"{fact.broker_id} is shutting down, leads {_count(fact.partition_count)}"


def _describe_log_dir(fact: Any) -> str:
    served = "is served again" if fact.loaded else "is in a failed log directory"
    return f"{fact.topic}-{fact.partition} on {fact.broker_id} {served}"


def _describe_balance(fact: Any) -> str:
    return f"{fact.broker_id} leads too little, {_count(fact.partition_count)} to move back"


def _describe_reassignment(fact: facts.ReassignmentAdvanced) -> str:
    phases = {"U": "recorded", "A": "under way", "B": "finished", "C": "cancelled"}
    return f"the move of {fact.topic}-{fact.partition} is {phases[fact.phase]}"


def _describe_assignment(fact: Any) -> str:
    return f"{fact.topic}-{fact.partition} replicas {_ids(fact.replicas)}"


def _gone(fact: Any) -> str:
    return "bounced" if fact.bounced else "down"


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)) or "none"


def _leader(broker_id: BrokerId) -> str:
    return str(broker_id) if broker_id >= 0 else "none"


def _count(partition_count: int) -> str:
    return "1 partition" if partition_count == 1 else f"{partition_count} partitions"


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


#: Facts of these kinds share a line when they come together and agree in these fields.
_SHARED: Final[Mapping[type, tuple[str, ...]]] = {
    facts.PartitionMoved: ("topic", "before", "after"),
    facts.ReplicaMoved: ("topic", "replica_before", "replica_after"),
    facts.RequestSent: ("api",),
    facts.BrokerUp: ("loaded",),
    facts.TopicLoaded: (),
}

#: The fourth column and the fifth, for every fact; what is told by no words has no line.
# fmt: off
WORDS: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    facts.ControllerElected:  ("controller", lambda _: "elected"),
    facts.ControllerResigned: ("controller", lambda f: f"resigned: {f.reason}"),
    facts.EventFailed:        ("controller", lambda f: f"failed: {f.reason}"),
    facts.BrokerUp:           ("broker",     _describe_brokers),
    facts.BrokerDown:         ("broker",     lambda f: f"{f.broker_id} " + _gone(f)),
    facts.BrokerUpdated:      ("broker",     lambda f: f"{f.broker_id} has other endpoints"),
    facts.ShutdownAdvanced:   ("broker",     _describe_shutdown),
    facts.LogDirFailed:       ("replica",    _describe_log_dir),
    facts.BalanceChecked:     ("broker",     _describe_balance),
    facts.TopicLoaded:        ("topic",      _describe_topics),
    facts.TopicForgotten:     ("topic",      lambda f: f"{f.topic} is gone"),
    facts.DeletionAdvanced:   ("topic",      _describe_deletion),
    facts.TopicIdGiven:       ("topic",      lambda f: f"{f.topic} has id {f.topic_id}"),
    facts.AssignmentChanged:  ("topic",      _describe_assignment),
    facts.ReassignmentAdvanced: ("topic",    _describe_reassignment),
    facts.PartitionsStarted:  ("partition",  _describe_start),
    facts.PartitionMoved:     ("partition",  _describe_partition_moves),
    facts.ReplicasStarted:    ("replica",    _describe_dead_replicas),
    facts.ReplicaMoved:       ("replica",    _describe_replica_moves),
    facts.LeaderElected:      ("election",   _describe_election),
    facts.IsrShrunk:          ("isr",        lambda f: _describe_isr(f, f"{f.broker_id} out")),
    facts.IsrAltered:         ("isr",        lambda f: _describe_isr(f, "asked by the leader")),
    facts.LeadershipLearned:  ("isr",        lambda f: _describe_isr(f, "found in ZooKeeper")),
    facts.LeaderEpochRaised:  ("isr",        lambda f: _describe_isr(f, "announced anew")),
    facts.RequestSent:        ("request",    _describe_requests),
    facts.RequestAnswered:    ("refused",    _describe_answer),
    facts.MoveRefused:        ("refused",    _describe_refused_move),
    facts.CallRefused:        ("refused",    _describe_refused_call),
    facts.ZnodeIsolated:      ("refused",    lambda f: f"{f.path} is left alone: {f.reason}"),
}
# fmt: on
