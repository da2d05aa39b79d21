"""A run of a few seconds in which a controller dies, the same whatever is drawn elsewhere."""

from typing import Final

from regent.broker.broker_config import IsrMode
from regent.sim.character import Character, TopicPlan
from regent.sim.plan import Plan, Step

PLAN: Final = Plan(
    27,
    Character(
        broker_count=3,
        latency_us=500,
        session_timeout_ms=2_000,
        replica_lag_ms=1_500,
        min_isr=2,
        isr_mode=IsrMode.BY_REQUEST,
        append_interval_ms=20,
        safety_ms=12_000,
        faults=(),
        fault_interval_ms=0,
        break_per_mille=0,
        lose_answer_per_mille=0,
        late_per_mille=0,
        stall_per_mille=0,
        topics=(TopicPlan("orders", 1_000, ((1, 2, 3), (2, 3, 1), (3, 1, 2))),),
    ),
    (
        Step(1_000, "create_topic", topic="orders"),
        Step(6_000, "crash_controller", ms=5_000),
    ),
)
