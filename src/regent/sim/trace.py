"""The transcript of a run: one line for each change of state, in columns that stay where they are.

`docs/simulation.md` has the legend. What a controller writes at once and of one kind, such as the
moves of a topic's replicas, shares a line. The transcript watches and changes nothing: a run with
it is the same run.
"""

from typing import TYPE_CHECKING, Any, Final

from regent.journal.fact_words import line_key, put_in_words, shares_a_line
from regent.journal.record import Record
from regent.journal.transcript import Line
from regent.sim.network import ZOOKEEPER
from regent.sim.observer import Observer
from regent.sim.plan import Step

if TYPE_CHECKING:
    from regent.sim.process import Process
    from regent.sim.world import World


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
        at_us = process.world.schedule.now_us
        key = (at_us, record.controller_epoch, record.controller_id, *line_key(fact))
        if not shares_a_line(fact) or key != self._held_key:
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
        at_us, epoch, node = self._held_key[:3]
        self._held_key = ()
        kind, what = put_in_words(held)
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
