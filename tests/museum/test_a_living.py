"""Two controllers and lost sessions in simulated clusters, where everybody goes on meanwhile."""

from typing import Any

import pytest

from regent.broker.broker_config import IsrMode
from regent.core.asks import ReadController
from regent.core.events import ResignRequested, TimerRang
from regent.core.leader_balance import BALANCE_TIMER
from regent.errors import RegentError, SessionLost
from regent.model.control_requests import ControlAnswer, ControlRequest, LeaderAndIsr
from regent.model.error_codes import ErrorCode
from regent.model.facts import ControllerResigned
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.character import Character, TopicPlan
from regent.sim.checkers import all_checkers
from regent.sim.network import ZOOKEEPER
from regent.sim.observer import Observer
from regent.sim.plan import Plan, Step
from regent.sim.process import Process
from regent.sim.run import begin
from regent.sim.steps import carry_out
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import decode_broker
from regent.zookeeper.performer import perform
from regent.zookeeper.reassignment_znode import encode_reassignments
from regent.zookeeper.store import Create, WatchKind

SESSION_MS = 2_000
#: How long anything here may take when nothing is in its way.
SOON_MS = 2_000


class Witness(Observer):
    """Keeps what the tests here ask about."""

    def __init__(self) -> None:
        #: What brokers answered to which request.
        self.answers: list[tuple[BrokerId, ControlRequest, ErrorCode]] = []
        #: Znodes that came into being, and whose session made them.
        self.created: list[tuple[str, int | None]] = []

    def control_answered(
        self, process: Process, request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """A broker judged a request."""
        self.answers.append((process.broker_id, request, answer.error))

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """Somebody wrote."""
        del world
        if kind is WatchKind.CREATED:
            self.created.append((path, writer))


class Living:
    """Three brokers with a topic, up and running, under the eyes of every checker."""

    def __init__(self) -> None:
        replicas = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
        character = Character(
            broker_count=3,
            latency_us=500,
            session_timeout_ms=SESSION_MS,
            replica_lag_ms=2_000,
            min_isr=2,
            isr_mode=IsrMode.BY_REQUEST,
            append_interval_ms=20,
            safety_ms=60_000,
            faults=(),
            fault_interval_ms=1,
            break_per_mille=0,
            lose_answer_per_mille=0,
            late_per_mille=0,
            stall_per_mille=0,
            topics=(TopicPlan("orders", 1_500, replicas), TopicPlan("late", 0, replicas)),
        )
        created = Step(1_500, "create_topic", topic="orders")
        self.witness = Witness()
        self.world = World(Plan(1, character, (created,)), [self.witness, *all_checkers()])
        begin(self.world)
        self.wait(6_000)

    def wait(self, duration_ms: int) -> None:
        """Time passes."""
        self.world.schedule.run_until(self.world.schedule.now_ms + duration_ms)

    def do(self, kind: str, *brokers: int, ms: int = 0, topic: str = "") -> None:
        """Something is done to the cluster right now, and is possible."""
        before = self.world.counts[kind]
        carry_out(self.world, Step(0, kind, brokers, ms, topic))
        assert self.world.counts[kind] == before + 1

    @property
    def controller(self) -> Process:
        """The one node that is in office."""
        (active,) = self.world.active_controllers()
        return active

    def others(self, node: Process) -> list[int]:
        """The ids of all nodes but this one."""
        return [int(b) for b in self.world.broker_ids if b != node.broker_id]


@pytest.fixture
def living() -> Living:
    return Living()


# --- two controllers --------------------------------------------------------------------------


@pytest.mark.fault("F01")
def test_what_a_thawed_controller_had_queued_is_refused_by_all_the_others(living: Living) -> None:
    """Its orders did not get through before it froze, and do when it thaws, before it can know."""
    old, network = living.controller, living.world.network
    others = living.others(old)
    for other in others:
        network.cut(old.host_id, other)
    living.do("create_topic", topic="late")
    living.wait(2_100)  # It has given up waiting for the answers, and is about to try again.
    living.do("pause", old.host_id, ms=SESSION_MS * 3)
    for other in others:
        network.mend(old.host_id, other)
    living.wait(SESSION_MS * 2)
    (new,) = (p for p in living.world.active_controllers() if p is not old)
    old_epoch = old.controller.state.controller_epoch
    living.witness.answers.clear()

    living.wait(SESSION_MS * 2)

    # Its own broker has heard of no newer controller: it was as frozen.
    late = [
        (int(broker_id), isinstance(request, LeaderAndIsr), error)
        for broker_id, request, error in living.witness.answers
        if request.controller_epoch == old_epoch and broker_id != old.broker_id
    ]
    assert sorted(broker_id for broker_id, is_order, _ in late if is_order) == others
    assert {error for _, _, error in late} == {ErrorCode.STALE_CONTROLLER_EPOCH}
    assert living.controller is new


@pytest.mark.fault("F05")
def test_a_former_controller_watches_the_role_and_nothing_else(living: Living) -> None:
    """A plan for a move is then the new controller's business alone.

    ZooKeeper may still tell the former one of what it once asked about; nobody listens there.
    """
    former = living.controller
    # The others hear first that the role is free.
    living.world.network.slow_down(former.host_id, ZOOKEEPER, 100)
    former.put(ResignRequested(former.now_ms))
    living.wait(SOON_MS)
    assert living.controller is not former
    assert list(former.link._watched) == [paths.CONTROLLER]
    events_before = former.queue._numbered

    moved = {TopicPartition("orders", 0): (BrokerId(2), BrokerId(3))}
    session_id = living.world.zookeeper.server.open_session()
    request = Create(paths.REASSIGNMENT, encode_reassignments(moved))
    living.world.zookeeper.handle(session_id, [request])
    living.wait(SOON_MS)

    assert former.queue._numbered == events_before
    assert living.world.zookeeper.server.peek(paths.REASSIGNMENT) is None
    assert living.controller.controller.state.replicas_of("orders", 0) == (2, 3)


# --- sessions ---------------------------------------------------------------------------------


@pytest.mark.fault("F13")
def test_a_session_that_ends_under_the_balance_ends_the_reign_at_once(living: Living) -> None:
    """The look at the balance waits for an answer that never comes; resigning must not wait too."""
    old = living.controller
    away = living.others(old)[0]
    living.do("bounce", away, ms=20)
    living.wait(4_000)
    living.do("cut_from_zookeeper", old.host_id, ms=SESSION_MS * 2)
    old.put(TimerRang(old.now_ms, BALANCE_TIMER))
    living.wait(SESSION_MS)
    assert not old.is_idle, "the balance waits for ZooKeeper"

    living.wait(SESSION_MS + SOON_MS)

    resigned = [r for r in living.world.records if isinstance(r.fact, ControllerResigned)]
    assert [(r.controller_id, r.cause.partition("#")[0]) for r in resigned] == [
        (old.broker_id, "TimerRang")
    ]
    assert (old.is_idle, old._timers) == (True, {})
    assert living.controller is not old


@pytest.mark.fault("F16")
def test_everything_under_way_is_answered_when_the_session_ends(living: Living) -> None:
    """Many requests wait when it expires, and a shutdown begins: none waits for another."""
    node = living.world.processes[BrokerId(living.others(living.controller)[0])]
    living.do("cut_from_zookeeper", node.host_id, ms=SESSION_MS * 2)
    failures: list[RegentError] = []
    answers: list[object] = []
    for _ in range(1_000):
        node.link.run(perform(ReadController()), answers.append, failures.append)

    living.wait(SESSION_MS * 2 + 100)
    stopped: list[str] = []
    node.shut_down(lambda: stopped.append("stopped"))
    living.wait(SOON_MS)

    assert answers == []
    assert [type(failure) for failure in failures] == [SessionLost] * 1_000
    assert stopped == ["stopped"]


@pytest.mark.fault("F20")
def test_after_a_long_outage_everybody_registers_first_and_one_is_elected(living: Living) -> None:
    """ZooKeeper takes no connections for longer than the sessions live, then it does."""
    for broker_id in living.world.broker_ids:
        living.do("cut_from_zookeeper", broker_id, ms=SESSION_MS * 3)
    living.wait(SESSION_MS * 3 - 100)
    assert living.world.zookeeper.server.peek(paths.CONTROLLER) is None
    living.witness.created.clear()

    living.wait(SOON_MS)

    created = [entry for entry in living.witness.created if _is_membership(entry[0])]
    elected = living.controller.broker_id
    assert [path for path, _ in created].count(paths.CONTROLLER) == 1
    assert sorted(path for path, _ in created if path != paths.CONTROLLER) == [
        paths.broker(broker_id) for broker_id in living.world.broker_ids
    ]
    registration = created.index((paths.broker(elected), elected))
    assert registration < created.index((paths.CONTROLLER, elected))


def _is_membership(path: str) -> bool:
    return path == paths.CONTROLLER or path.startswith(paths.BROKER_IDS + "/")


@pytest.mark.fault("F22")
def test_a_broker_registers_again_as_it_is_and_not_as_it_was(living: Living) -> None:
    """It moved while its first session lasted; the next one must not bring the old address back."""
    node = living.world.processes[BrokerId(living.others(living.controller)[0])]
    path = paths.broker(node.broker_id)
    before = _peek(living, path)
    living.do("move_endpoint", node.host_id)
    living.wait(SOON_MS)

    living.do("expire_session", node.host_id)
    living.wait(SOON_MS)

    after = _peek(living, path)
    assert after.stat.czxid > before.stat.czxid
    moved = living.world.registration_of(node.broker_id)
    assert moved != decode_broker(node.broker_id, before.data)
    assert decode_broker(node.broker_id, after.data) == moved
    known = living.controller.controller.state.brokers[node.broker_id]
    assert known.broker == moved


def _peek(living: Living, path: str) -> Any:
    found = living.world.zookeeper.server.peek(path)
    assert found is not None, f"{path} is not there"
    return found
