"""What can be seen of a simulated world while it runs: the hooks of everything that checks it.

A checker overrides what it needs. It reports by `fail`, which ends the run: the first thing that
went wrong is the one worth reading about.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from regent.journal.record import Record
from regent.model.control_requests import ControlAnswer, ControlRequest
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.plan import Step
from regent.zookeeper.store import WatchKind

if TYPE_CHECKING:
    from regent.sim.process import Process
    from regent.sim.world import World


class Violation(Exception):  # noqa: N818 - it is a finding
    """Something happened that must never happen, or did not happen that must."""

    def __init__(self, checker: str, message: str) -> None:
        super().__init__(f"{checker}: {message}")
        self.checker = checker
        self.message = message


class Acked(Struct, frozen=True):
    """A record that a client was told is safe."""

    name: TopicPartition
    offset: int
    value: int
    at_ms: int


class Observer:
    """Sees everything and by default cares about nothing."""

    def fail(self, message: str) -> None:
        """Report what went wrong, and end the run."""
        raise Violation(type(self).__name__, message)

    def step_carried_out(self, world: "World", step: Step) -> None:
        """Something in the plan was possible, and is done."""

    def node_started(self, process: "Process") -> None:
        """A node began a life."""

    def node_killed(self, process: "Process") -> None:
        """A node's life ended; its session is left behind."""

    def recorded(self, process: "Process", record: Record) -> None:
        """A controller wrote a journal record."""

    def event_handled(self, process: "Process") -> None:
        """A controller has finished an event; its state is at rest."""

    def znode_changed(self, world: "World", kind: WatchKind, path: str, writer: int | None) -> None:
        """ZooKeeper carried out a change; `writer` is the broker whose session made it."""

    def request_queued(
        self, process: "Process", broker_id: BrokerId, request: ControlRequest
    ) -> None:
        """A controller decided to send a request, and put it behind those that wait."""

    def request_sent(
        self, process: "Process", broker_id: BrokerId, number: int, request: ControlRequest
    ) -> None:
        """A controller's channel put a request on the wire, for the first time or again."""

    def request_answered(
        self, process: "Process", request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """A broker's answer came back to the controller that asked."""

    def control_answered(
        self, process: "Process", request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """A broker judged a control request, and has done what it will do about it."""

    def leader_began(self, process: "Process", name: TopicPartition, leader_epoch: int) -> None:
        """A broker began to lead."""

    def disk_lost(self, broker_id: BrokerId) -> None:
        """A broker lost everything it had stored."""

    def record_acked(self, world: "World", acked: Acked) -> None:
        """A client was told that its record is safe."""

    def at_rest(self, world: "World") -> None:
        """Everything is healed and has settled: the end of the run."""
