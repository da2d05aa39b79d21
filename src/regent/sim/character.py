"""What kind of world a seed makes: drawn once for a run, so that each run has a character.

Not everything is possible in every run. A kind of fault is on or off for the whole of it (swarm
testing): a run with nothing but pauses reaches states that an even mixture of everything does not.
"""

from random import Random
from typing import Final

from msgspec import Struct

from regent.broker.broker_config import IsrMode

#: Every kind of fault that a run may contain.
FAULTS: Final = (
    "crash",
    "bounce",
    "pause",
    "expire_session",
    "depose",
    "cut_two_way",
    "cut_one_way",
    "cut_from_zookeeper",
    "slow_link",
    "crash_after_write",
    "lose_disk",
    "fail_disk",
    "break_zookeeper_connection",
    "lose_answer",
    "deliver_late",
    "skew_clock",
    "stall_controller",
    "stall_replication",
)
#: One run in four is about leaders and the controller writing the same znodes at the same time,
#: which an even mixture brings about too rarely.
CONTENTION: Final = (
    "bounce",
    "expire_session",
    "crash",
    "lose_answer",
    "stall_controller",
    "stall_replication",
    "stall_replication",
)


class TopicPlan(Struct, frozen=True):
    """A topic that comes into being at some time."""

    name: str
    at_ms: int
    assignment: tuple[tuple[int, ...], ...]
    allows_unclean: bool = False
    with_id: bool = True


class Character(Struct, frozen=True):
    """The options of one run. All of them are printed before the first tick."""

    broker_count: int
    latency_us: int
    session_timeout_ms: int
    replica_lag_ms: int
    min_isr: int
    isr_mode: IsrMode
    append_interval_ms: int
    safety_ms: int
    #: Kinds of fault that are on, and the mean time between two of them.
    faults: tuple[str, ...]
    fault_interval_ms: int
    #: How often, per thousand, a request of its kind suffers.
    break_per_mille: int
    lose_answer_per_mille: int
    late_per_mille: int
    stall_per_mille: int
    topics: tuple[TopicPlan, ...]


def draw(random: Random, *, safety_ms: int | None = None) -> Character:
    """Draw a run's character."""
    broker_count = random.choice((3, 3, 4, 5))
    is_contended = random.random() < 0.25
    faults = tuple(kind for kind in FAULTS if random.random() < 0.5)
    if is_contended:
        faults = CONTENTION
    length_ms = safety_ms if safety_ms is not None else random.choice((20_000, 30_000, 45_000))
    return Character(
        broker_count=broker_count,
        latency_us=random.choice((200, 500, 1_000, 5_000, 20_000)),
        session_timeout_ms=random.choice((1_500, 3_000, 6_000)),
        replica_lag_ms=500 if is_contended else random.choice((500, 1_000, 3_000)),
        min_isr=random.choice((1, 1, 2)),
        isr_mode=IsrMode.DIRECT if is_contended else random.choice(tuple(IsrMode)),
        append_interval_ms=random.choice((20, 50, 100, 300)),
        safety_ms=length_ms,
        faults=faults,
        fault_interval_ms=300 if is_contended else random.choice((300, 700, 1_500, 3_000)),
        break_per_mille=random.choice((2, 10, 30)) if "break_zookeeper_connection" in faults else 0,
        lose_answer_per_mille=random.choice((5, 20, 60)) if "lose_answer" in faults else 0,
        late_per_mille=random.choice((5, 20)) if "deliver_late" in faults else 0,
        stall_per_mille=random.choice((50, 150, 300)) if "stall_controller" in faults else 0,
        topics=tuple(
            _draw_topic(random, i, broker_count, length_ms) for i in range(random.randint(1, 4))
        ),
    )


def _draw_topic(random: Random, number: int, broker_count: int, length_ms: int) -> TopicPlan:
    brokers = range(1, broker_count + 1)
    factor = random.choice((1, 2, 3, 3, 3))
    return TopicPlan(
        name=f"topic{number}",
        # The first exists nearly from the beginning; others come in the middle of everything.
        at_ms=1_500 if number == 0 else random.randrange(length_ms),
        assignment=tuple(
            tuple(random.sample(brokers, factor)) for _ in range(random.randint(1, 5))
        ),
        allows_unclean=random.random() < 0.15,
        with_id=random.random() < 0.8,
    )
