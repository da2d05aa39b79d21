"""A simulated cluster: its nodes, its ZooKeeper, its network, and everybody who watches.

The world decides nothing by itself. `steps` does things to it, `workload` uses it, observers see
what happens, and `run` takes it through its phases.
"""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from regent.broker.log import MemoryLogDirectory
from regent.journal.record import Record
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlAnswer, ControlRequest
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.network import Network
from regent.sim.observer import Acked, Observer, Violation
from regent.sim.plan import Plan, Step
from regent.sim.process import Process
from regent.sim.schedule import Schedule
from regent.sim.wire import Wire
from regent.sim.zookeeper_host import ZooKeeperHost
from regent.zookeeper.store import Create, Delete, Multi, Request, SetData, WatchKind
from regent.zookeeper.tree import Change

WRITES: Final = (Create, SetData, Delete, Multi)
_TOPIC_ID_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class CoreCrashed(Exception):  # noqa: N818 - it is a finding
    """The core raised something that nobody foresaw."""


class World:
    """One run's cluster."""

    def __init__(self, plan: Plan, observers: Sequence[Observer]) -> None:
        character = plan.character
        self.plan = plan
        self.schedule = Schedule()
        self.network = Network(self.schedule, Random(f"network-{plan.seed}"), character.latency_us)
        self.zookeeper = ZooKeeperHost(self.schedule, character.session_timeout_ms)
        self.zookeeper.server.on_change = self._znodes_changed
        self.wire = Wire(self, Random(f"wire-{plan.seed}"))
        self.broker_ids = tuple(BrokerId(i + 1) for i in range(character.broker_count))
        self.disks = {b: MemoryLogDirectory() for b in self.broker_ids}
        self.processes: dict[BrokerId, Process] = {}
        self.skew_ms: dict[BrokerId, int] = {}
        #: What happened how often; faults and rare paths both.
        self.counts: Counter[str] = Counter()
        #: Off while the world heals: from then on nothing goes wrong by chance.
        self.faults_are_on = True
        self.records: list[Record] = []
        self._random = Random(f"world-{plan.seed}")
        self._lives: Counter[BrokerId] = Counter()
        self._endpoints: dict[BrokerId, int] = {}
        self._writers: dict[int, BrokerId] = {}
        self._request_count = 0
        self._observers = {hook: _overriding(observers, hook) for hook in vars(Observer)}
        self.observers = tuple(observers)

    # --- nodes --------------------------------------------------------------------------------

    def start(self, broker_id: BrokerId) -> None:
        """Begin a new life of a node, if it is not running."""
        if broker_id in self.processes:
            return
        self._lives[broker_id] += 1
        process = Process(self, broker_id, self._lives[broker_id])
        self.processes[broker_id] = process
        for observer in self._observers["node_started"]:
            observer.node_started(process)
        process.start()

    def kill(self, broker_id: BrokerId) -> None:
        """End a node's life at once; its ZooKeeper session is left to expire."""
        process = self.processes.pop(broker_id, None)
        if process is not None:
            process.is_alive = False
            for observer in self._observers["node_killed"]:
                observer.node_killed(process)

    def repair_disk(self, broker_id: BrokerId) -> None:
        """A failed disk works again, with all it had; the node has to be started anew for it."""
        if not self.disks[broker_id].failed:
            return
        self.disks[broker_id].failed = False
        process = self.processes.get(broker_id)
        self.kill(broker_id)
        if process is not None and process.link.session_id is not None:
            self.zookeeper.close_session(process.link.session_id)
        self.start(broker_id)

    def active_controllers(self) -> list[Process]:
        """The nodes that believe to be the controller."""
        return [p for p in self.processes.values() if p.controller.state.is_active]

    def registration_of(self, broker_id: BrokerId) -> Broker:
        """What a node registers of itself, as it is now."""
        port = 9092 + 10 * int(broker_id) + self._endpoints.get(broker_id, 0)
        return Broker(broker_id, (Endpoint("127.0.0.1", port),))

    def move_endpoint(self, broker_id: BrokerId) -> None:
        """The node listens elsewhere from now on."""
        self._endpoints[broker_id] = self._endpoints.get(broker_id, 0) + 1

    def next_request_id(self) -> int:
        """A number that no other waiting caller has."""
        self._request_count += 1
        return self._request_count

    def mint_topic_ids(self, count: int) -> tuple[str, ...]:
        """Fresh ids, 22 characters as Kafka's are."""
        return tuple("".join(self._random.choices(_TOPIC_ID_ALPHABET, k=22)) for _ in range(count))

    def draw_numbers(self, below: int, count: int) -> tuple[int, ...]:
        """Where the placement of new partitions starts."""
        return tuple(self._random.randrange(below) for _ in range(count))

    # --- chance that is decided for each message -----------------------------------------------

    def _happens(self, per_mille: int) -> bool:
        return self.faults_are_on and per_mille > 0 and self._random.randrange(1000) < per_mille

    def chance_lose_answer(self) -> bool:
        """Whether this answer is lost after its request was carried out."""
        return self._happens(self.plan.character.lose_answer_per_mille)

    def chance_late(self) -> bool:
        """Whether this request is stuck on the way while its caller gives up."""
        return self._happens(self.plan.character.late_per_mille)

    def draw_stall_ms(self, *, has_read: bool) -> int:
        """How long a controller stands still between an answer and what it makes of it; mostly 0.

        The broker beside it goes on: this is one busy thread, not a paused process. After reading
        leaderships it is likelier and longer: that is when others may write what was just read.
        """
        per_mille, mean_ms = self.plan.character.stall_per_mille, 300
        if has_read:
            per_mille, mean_ms = 4 * per_mille, 2_000
        if not self._happens(per_mille):
            return 0
        self.counts["stall_controller"] += 1
        return int(self._random.expovariate(1) * mean_ms) + 1

    def draw_break_point(self, requests: Sequence[Request]) -> int | None:
        """After how many of these requests the connection to ZooKeeper breaks, if it does."""
        if not self._happens(self.plan.character.break_per_mille):
            return None
        applied = self._random.randint(0, len(requests))
        self.counts["break_zookeeper_connection"] += 1
        if any(isinstance(request, WRITES) for request in requests[:applied]):
            self.counts["connection_lost_write_applied"] += 1
        elif any(isinstance(request, WRITES) for request in requests[applied:]):
            self.counts["connection_lost_write_not_applied"] += 1
        return applied

    def dies_after(self, process: Process, requests: Sequence[Request]) -> bool:
        """Whether this was the last write that the plan lets a process make."""
        if process.writes_to_live == 0 or not process.is_alive:
            return False
        process.writes_to_live -= sum(isinstance(request, WRITES) for request in requests)
        if process.writes_to_live > 0:
            return False
        process.writes_to_live = 0
        self.counts["crash_between_writes"] += 1
        self.kill(process.broker_id)
        self.schedule.after_ms(
            self._random.randrange(100, 5_000), lambda: self.start(process.broker_id)
        )
        return True

    # --- what others see ------------------------------------------------------------------------

    def step_carried_out(self, step: Step) -> None:
        """Something in the plan was possible, and is done."""
        self.counts[step.kind] += 1
        for observer in self._observers["step_carried_out"]:
            observer.step_carried_out(self, step)

    def recorded(self, process: Process, record: Record) -> None:
        """A controller wrote a record."""
        self.records.append(record)
        for observer in self._observers["recorded"]:
            observer.recorded(process, record)

    def event_handled(self, process: Process) -> None:
        """A controller finished an event."""
        self.counts["controller_events"] += 1
        for observer in self._observers["event_handled"]:
            observer.event_handled(process)

    def request_queued(
        self, process: Process, broker_id: BrokerId, request: ControlRequest
    ) -> None:
        """A controller put a request into a broker's channel."""
        for observer in self._observers["request_queued"]:
            observer.request_queued(process, broker_id, request)

    def request_sent(
        self, process: Process, broker_id: BrokerId, number: int, request: ControlRequest
    ) -> None:
        """A channel put a request on the wire."""
        self.counts["control_requests"] += 1
        for observer in self._observers["request_sent"]:
            observer.request_sent(process, broker_id, number, request)

    def request_answered(
        self, process: Process, request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """An answer came back in time."""
        for observer in self._observers["request_answered"]:
            observer.request_answered(process, request, answer)

    def control_answered(
        self, process: Process, request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """A broker judged a control request."""
        if answer.error is ErrorCode.STALE_CONTROLLER_EPOCH:
            self.counts["zombie_request_refused"] += 1
        elif answer.error is ErrorCode.STALE_BROKER_EPOCH:
            self.counts["earlier_life_request_refused"] += 1
        for observer in self._observers["control_answered"]:
            observer.control_answered(process, request, answer)

    def leader_began(self, process: Process, name: TopicPartition, leader_epoch: int) -> None:
        """A broker began to lead."""
        for observer in self._observers["leader_began"]:
            observer.leader_began(process, name, leader_epoch)

    def disk_lost(self, broker_id: BrokerId) -> None:
        """A broker's disk was wiped."""
        for observer in self._observers["disk_lost"]:
            observer.disk_lost(broker_id)

    def record_acked(self, acked: Acked) -> None:
        """A client was told that its record is safe."""
        self.counts["records_acked"] += 1
        for observer in self._observers["record_acked"]:
            observer.record_acked(self, acked)

    def at_rest(self) -> None:
        """Everything has settled."""
        for observer in self._observers["at_rest"]:
            observer.at_rest(self)

    def crashed(self, process: Process, cause: str, error: Exception) -> None:
        """The core raised what it should not have: the run is over."""
        raise CoreCrashed(
            f"node {process.broker_id} while handling {cause}: {type(error).__name__}: {error}"
        ) from error

    def _znodes_changed(self, change: Change) -> None:
        writer = self.writer_of(change.session_id)
        for kind, path in change.happened:
            for observer in self._observers["znode_changed"]:
                observer.znode_changed(self, kind, path, writer)

    def writer_of(self, session_id: int) -> BrokerId | None:
        """The node whose session it is; None for the operator's."""
        for process in self.processes.values():
            if process.link.session_id == session_id:
                return process.broker_id
        return None


def _overriding(observers: Sequence[Observer], hook: str) -> list[Any]:
    """Those observers that care about a hook; most hooks concern few of them."""
    base = getattr(Observer, hook, None)
    return [o for o in observers if getattr(type(o), hook, None) is not base]


__all__ = ["CoreCrashed", "Violation", "WatchKind", "World"]
