"""What will be done to a simulated cluster, as data: it can be printed, shortened and replayed."""

from pathlib import Path
from random import Random
from typing import Final

import msgspec
from msgspec import Struct

from regent.errors import BadInput
from regent.sim.character import Character, draw

#: Faults that are decided for each message; the others come at a time.
RATES: Final = ("break_zookeeper_connection", "lose_answer", "deliver_late", "stall_controller")
#: Of these a run has at most a few: each costs the only copy of something.
RARE: Final = ("lose_disk", "fail_disk")


class Step(Struct, frozen=True):
    """One thing done to the cluster: to which brokers, and for how long or how much."""

    at_ms: int
    kind: str
    brokers: tuple[int, ...] = ()
    ms: int = 0
    topic: str = ""


class Plan(Struct, frozen=True):
    """A whole run: its character and its steps. The seed decides all chance that is left."""

    seed: int
    character: Character
    steps: tuple[Step, ...]


def draw_plan(seed: int, *, safety_ms: int | None = None) -> Plan:
    """The plan that a seed stands for."""
    random = Random(f"plan-{seed}")
    character = draw(random, safety_ms=safety_ms)
    return Plan(seed, character, tuple(sorted(_steps(random, character), key=lambda s: s.at_ms)))


def _steps(random: Random, character: Character) -> list[Step]:
    steps = [Step(t.at_ms, "create_topic", topic=t.name) for t in character.topics]
    for topic in character.topics:
        if random.random() < 0.4:
            at_ms = topic.at_ms + random.randrange(500, 20_000)
            steps.append(Step(at_ms, "add_partitions", topic=topic.name, ms=random.randint(1, 2)))
    steps += _draw_admin_work(random, character)
    if random.random() < 0.3:
        steps.append(Step(random.randrange(character.safety_ms), "corrupt_topic", topic="broken"))
    if random.random() < 0.4:
        broker = random.randint(1, character.broker_count)
        steps.append(Step(random.randrange(character.safety_ms), "move_endpoint", (broker,)))
    return steps + _draw_faults(random, character)


def _draw_admin_work(random: Random, character: Character) -> list[Step]:
    """Moves, elections, shutdowns and deletions, in the middle of everything else."""
    steps: list[Step] = []
    brokers = range(1, character.broker_count + 1)
    for topic in character.topics:
        for _ in range(random.choice((0, 0, 1, 3))):
            at_ms = topic.at_ms + random.randrange(500, 15_000)
            target = tuple(random.sample(brokers, random.randint(1, min(3, len(brokers)))))
            index = random.randrange(len(topic.assignment))
            steps.append(Step(at_ms, "reassign", target, index, topic.name))
            if random.random() < 0.3:
                later_ms = at_ms + random.randrange(10, 3_000)
                steps.append(Step(later_ms, "reassign", (), index, topic.name))
        if random.random() < 0.15:
            at_ms = topic.at_ms + random.randrange(2_000, 20_000)
            steps.append(Step(at_ms, "delete_topic", ms=random.randint(0, 1), topic=topic.name))
        if random.random() < 0.05:
            steps.append(Step(topic.at_ms + 5_000, "allow_unclean", topic=topic.name))
    for kind in ("elect_preferred", "shut_down"):
        for _ in range(random.choice((0, 1, 3))):
            at_ms = random.randrange(3_000, character.safety_ms)
            away_ms = random.randrange(50, 4_000)
            steps.append(Step(at_ms, kind, (random.choice(brokers),), away_ms))
    return steps


def _draw_faults(random: Random, character: Character) -> list[Step]:
    kinds = [kind for kind in character.faults if kind not in RATES]
    steps: list[Step] = []
    at_ms = 3_000
    while kinds:
        at_ms += int(random.expovariate(1) * character.fault_interval_ms) + 1
        if at_ms >= character.safety_ms:
            break
        kind = random.choice(kinds)
        if kind in RARE and random.random() < 0.7:
            continue
        steps.append(_draw_fault(random, character, at_ms, kind))
    return steps


def _draw_fault(random: Random, character: Character, at_ms: int, kind: str) -> Step:
    one, other = random.sample(range(1, character.broker_count + 1), 2)
    affected: dict[str, tuple[int, ...]] = {
        "cut_two_way": (one, other),
        "cut_one_way": (one, other),
        "slow_link": (one, other),
        "crash_after_write": (),
    }
    return Step(at_ms, kind, affected.get(kind, (one,)), _draw_ms(random, character, kind))


def _draw_ms(random: Random, character: Character, kind: str) -> int:
    """How long the fault lasts, or how much of it there is."""
    timeout_ms = character.session_timeout_ms
    # Half of those that ZooKeeper may notice end just about when it does.
    around = random.randrange(timeout_ms, timeout_ms + 2_000)
    noticed = random.choice((around, random.randrange(50, 3 * timeout_ms)))
    return {
        "crash": random.randrange(100, 3 * timeout_ms),
        "lose_disk": random.randrange(100, 3 * timeout_ms),
        "fail_disk": random.randrange(500, 3 * timeout_ms),
        "bounce": random.randrange(1, 60),
        "pause": noticed,
        "cut_from_zookeeper": noticed,
        "cut_two_way": random.randrange(200, 3 * timeout_ms),
        "cut_one_way": random.randrange(200, 3 * timeout_ms),
        "slow_link": random.randrange(50, 2_000),
        "crash_after_write": random.randint(1, 6),
        # Around the time after which a follower counts as lagging.
        "stall_replication": int(random.uniform(0.8, 2) * character.replica_lag_ms),
        "skew_clock": random.randrange(-60_000, 60_000),
    }.get(kind, 0)


def write_plan(plan: Plan, path: Path) -> None:
    """Keep a plan in a file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")


def read_plan(path: Path) -> Plan:
    """A plan from a file, or a clear word on why not."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise BadInput(f"cannot read the plan {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{path} is not a plan: {error}; `regent simulate` writes one when a run fails"
        ) from error
