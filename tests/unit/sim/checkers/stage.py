"""A small world in which nothing happens by itself, for showing a checker what it forbids."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from regent.broker.broker_config import IsrMode
from regent.journal.record import SCHEMA_VERSION, Record
from regent.model.assignment import Assignment
from regent.model.facts import Fact
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.character import TopicPlan
from regent.sim.observer import Acked, Observer
from regent.sim.plan import Plan, Step, draw_plan
from regent.sim.process import Process
from regent.sim.run import RunOutcome, run
from regent.sim.world import World
from regent.zookeeper import exchange, paths
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import Create, Done, Multi, MultiDone, Request, SetData
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import (
    encode_config,
    encode_controller,
    encode_controller_epoch,
    encode_leadership,
    encode_topic,
)

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
ORDERS: Final = TopicPartition("orders", 0)


def quiet_plan(isr_mode: IsrMode = IsrMode.BY_REQUEST) -> Plan:
    """Three brokers and a topic; nothing goes wrong."""
    character = replace(
        draw_plan(0).character,
        broker_count=3,
        latency_us=500,
        isr_mode=isr_mode,
        append_interval_ms=50,
        safety_ms=5_000,
        faults=(),
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        min_isr=1,
        session_timeout_ms=3_000,
        replica_lag_ms=1_000,
        topics=(TopicPlan("orders", 1_500, ((1, 2, 3), (2, 3, 1))),),
    )
    return Plan(0, character, (Step(1_500, "create_topic", topic="orders"),))


def sabotaged(sabotage: Callable[[World], None], checker: Observer) -> RunOutcome:
    """A quiet run in which something is changed at the very end, just before the checker looks."""

    class Saboteur(Observer):
        def at_rest(self, world: World) -> None:
            sabotage(world)

    return run(quiet_plan(), [Saboteur(), checker])


def controller_of(world: World) -> Process:
    """The node in office."""
    (process,) = world.active_controllers()
    return process


class Stage:
    """A world that one checker watches. Its nodes have sessions and do nothing."""

    def __init__(self, checker: Observer, isr_mode: IsrMode = IsrMode.BY_REQUEST) -> None:
        self.world = World(quiet_plan(isr_mode), [checker])
        self.server = self.world.zookeeper.server
        exchange.run(MemorySession(self.server), ensure_paths())
        self.write(
            Create(paths.CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(1))),
            Create(paths.topic("orders"), encode_topic(None, {0: Assignment((B1, B2, B3))})),
            Create(paths.partitions("orders")),
            Create(paths.partition("orders", 0)),
        )
        self._sequence = 0

    def node(self, broker_id: BrokerId) -> Process:
        """A running node, with a session of its own."""
        if broker_id not in self.world.processes:
            self.world.start(broker_id)
            self.world.processes[broker_id].link.session_id = self.server.open_session()
        return self.world.processes[broker_id]

    def write(self, *requests: Request, by: BrokerId | None = None) -> None:
        """Have a node, or (None) an operator, write something that succeeds."""
        session_id = self.node(by).link.session_id if by else self.server.open_session()
        assert session_id is not None
        for request in requests:
            reply = self.server.handle(session_id, request)
            assert isinstance(reply, Done | MultiDone), reply

    def set_epoch(self, epoch: int) -> None:
        """Another controller epoch, by whomever."""
        self.write(SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(epoch))))

    def elect(self, broker_id: BrokerId, epoch: int) -> None:
        """Make a node controller as it does itself: role and epoch in one."""
        role = Create(paths.CONTROLLER, encode_controller(broker_id, 0), ephemeral=True)
        raised = SetData(paths.CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(epoch)))
        self.write(Multi((role, raised)), by=broker_id)

    def activate(self, broker_id: BrokerId, epoch: int) -> Process:
        """Have a node believe that it is controller."""
        process = self.node(broker_id)
        process.controller.state.controller_epoch = ControllerEpoch(epoch)
        process.controller.state.active_id = broker_id
        return process

    def write_leadership(self, leadership: Leadership, by: BrokerId | None = None) -> None:
        """Put a leadership where it belongs, whatever its version."""
        path = paths.partition_state(*ORDERS)
        content = encode_leadership(leadership)
        is_there = self.server.peek(path) is not None
        self.write(SetData(path, content) if is_there else Create(path, content), by=by)

    def allow_unclean(self) -> None:
        """From now on the topic prefers any leader to none."""
        config = encode_config({"unclean.leader.election.enable": "true"})
        self.write(Create(paths.topic_config("orders"), config))

    def record(self, broker_id: BrokerId, epoch: int, fact: Fact) -> None:
        """Have a node write a record."""
        self._sequence += 1
        record = Record(
            SCHEMA_VERSION, self._sequence, 0, broker_id, ControllerEpoch(epoch), "test-1", fact
        )
        self.world.recorded(self.node(broker_id), record)

    def begin_to_lead(self, broker_id: BrokerId, leader_epoch: int) -> None:
        """A broker begins to lead."""
        self.world.leader_began(self.node(broker_id), ORDERS, leader_epoch)

    def store(self, value: int, *broker_ids: BrokerId, leader_epoch: int = 0) -> None:
        """Append a record to some brokers' logs."""
        for broker_id in broker_ids:
            self.world.disks[broker_id].open(ORDERS).append(LeaderEpoch(leader_epoch), (value,))

    def ack(self, offset: int, value: int) -> None:
        """Tell a client that its record is safe."""
        self.world.record_acked(Acked(ORDERS, offset, value, 0))
