"""A simulated cluster that a test takes through a fault by hand, watched by every checker."""

from collections.abc import Sequence
from itertools import islice

from regent.broker.broker_config import IsrMode
from regent.broker.hosted_partition import ReplicaRole
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.character import Character, TopicPlan
from regent.sim.checkers import all_checkers
from regent.sim.observer import Observer
from regent.sim.plan import Plan, Step
from regent.sim.process import Process
from regent.sim.run import begin
from regent.sim.settled import leadership_of, unsettled
from regent.sim.steps import carry_out
from regent.sim.world import World

TOPIC = "orders"
EVERYWHERE = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
#: No client appends anything while a test lasts.
QUIET_MS = 10_000_000


class SentRequests(Observer):
    """Notes every request that a controller's channel puts on the wire."""

    def __init__(self) -> None:
        self.requests: list[tuple[BrokerId, ControlRequest]] = []

    def request_sent(
        self, process: Process, broker_id: BrokerId, number: int, request: ControlRequest
    ) -> None:
        """Keep what was sent to whom."""
        del process, number
        self.requests.append((broker_id, request))


class Stage:
    """Brokers with one topic, which has just been created."""

    def __init__(
        self,
        *replicas: tuple[int, ...],
        brokers: int = 3,
        isr_mode: IsrMode = IsrMode.BY_REQUEST,
        append_interval_ms: int = 20,
        latency_us: int = 500,
    ) -> None:
        topic = TopicPlan(TOPIC, 1_500, replicas or EVERYWHERE)
        character = Character(
            broker_count=brokers,
            latency_us=latency_us,
            session_timeout_ms=2_000,
            replica_lag_ms=2_000,
            min_isr=1,
            isr_mode=isr_mode,
            append_interval_ms=append_interval_ms,
            safety_ms=1,
            faults=(),
            fault_interval_ms=1,
            break_per_mille=0,
            lose_answer_per_mille=0,
            late_per_mille=0,
            stall_per_mille=0,
            topics=(topic, TopicPlan("late", 0, ((1, 2, 3),))),
        )
        self.sent = SentRequests()
        created = Step(1_500, "create_topic", topic=TOPIC)
        self.world = World(Plan(1, character, (created,)), [*all_checkers(), self.sent])
        self._client = begin(self.world)
        self.run_for(4_000)

    # --- acting -----------------------------------------------------------------------------------

    def do(self, kind: str, *brokers: int, ms: int = 0, topic: str = TOPIC) -> None:
        """Carry out one step now."""
        before = self.world.counts[kind]
        carry_out(self.world, Step(0, kind, brokers, ms, topic))
        assert self.world.counts[kind] == before + 1, f"{kind} was not possible"

    def run_for(self, duration_ms: int) -> None:
        """Let time pass."""
        self.world.schedule.run_until(self.world.schedule.now_ms + duration_ms)

    def settle(self) -> None:
        """No more records; the cluster must come to rest as after any run."""
        self._client.is_running = False
        for _ in range(60):
            self.run_for(500)
            if not any(unsettled(self.world)):
                break
        assert list(islice(unsettled(self.world), 3)) == []
        self.world.at_rest()

    # --- what there is ----------------------------------------------------------------------------

    @property
    def controller(self) -> Process:
        """The one node that is in office."""
        (active,) = self.world.active_controllers()
        return active

    def another_than(self, *broker_ids: int) -> int:
        """Some broker that is none of these."""
        return next(int(b) for b in self.world.broker_ids if b not in broker_ids)

    def leadership(self, partition: int = 0, topic: str = TOPIC) -> Leadership:
        """What a state znode says."""
        found = leadership_of(self.world, TopicPartition(topic, partition))
        assert found is not None
        return found

    def serves(self, broker_id: int) -> list[TopicPartition]:
        """What a broker leads or follows."""
        hosted = self.world.processes[BrokerId(broker_id)].broker.hosted
        return sorted(n for n, each in hosted.items() if each.role is not ReplicaRole.NONE)

    def facts(self, kind: type, since: int = 0) -> Sequence[object]:
        """What controllers have recorded of this kind, from this record on."""
        return [r.fact for r in self.world.records[since:] if isinstance(r.fact, kind)]
