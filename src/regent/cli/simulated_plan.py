"""Whether a plan for the simulator makes sense: it may have been written by hand."""

from pathlib import Path
from typing import Final

from regent.errors import BadInput
from regent.sim.network import ZOOKEEPER
from regent.sim.plan import Plan
from regent.sim.steps import STEPS

#: How many brokers a step must name; one of two may be 0, which is ZooKeeper.
BROKERS_NEEDED: Final = {
    "crash": 1,
    "bounce": 1,
    "lose_disk": 1,
    "fail_disk": 1,
    "pause": 1,
    "stall_replication": 1,
    "skew_clock": 1,
    "expire_session": 1,
    "cut_from_zookeeper": 1,
    "move_endpoint": 1,
    "shut_down": 1,
    "cut_two_way": 2,
    "cut_one_way": 2,
    "slow_link": 2,
}


def checked(plan: Plan, path: Path) -> Plan:
    """The plan itself; one that cannot be carried out is refused."""
    topics = {topic.name for topic in plan.character.topics}
    last = plan.character.broker_count
    for step in plan.steps:
        where = f"{path}: step {step.kind} at {step.at_ms} ms"
        if step.kind not in STEPS:
            raise BadInput(f"{where}: there is no such step; there are {', '.join(STEPS)}")
        needed = BROKERS_NEEDED.get(step.kind, len(step.brokers))
        if len(step.brokers) < needed:
            raise BadInput(f"{where} names {len(step.brokers)} brokers; name {needed}")
        first = ZOOKEEPER if needed == 2 else 1
        strangers = [each for each in step.brokers if not first <= each <= last]
        if strangers:
            raise BadInput(f"{where} is for broker {strangers[0]}; brokers are 1 to {last}")
        if step.kind == "create_topic" and step.topic not in topics:
            raise BadInput(f"{where}: {step.topic!r} is not in `topics`; add it there")
    return plan
