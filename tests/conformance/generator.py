"""Scenarios by a seed. Pure: the same seed makes the same ones, on any machine.

What is done to the brokers is drawn once for a whole batch, so that the batch can be played
together; what is done to topics is drawn for each scenario.
"""

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import Final

from regent.model.admin_requests import ElectionType
from tests.conformance.steps import (
    AddPartitions,
    BounceBroker,
    CancelMove,
    ClusterStep,
    Configure,
    CreateTopic,
    DeleteTopic,
    Elect,
    KillBroker,
    MoveController,
    Reassign,
    Replicas,
    Scenario,
    StartBroker,
    Step,
    StopBroker,
    TopicStep,
)

#: Those that hold replicas; whoever is the controller holds none.
BROKERS: Final = (1, 2, 3)
BATCH_SIZE: Final = 25
CLUSTER_STEPS: Final = 4
TOPIC_STEPS_MAX: Final = 2
TOPICS: Final = ("a", "b")
PARTITIONS_MAX: Final = 4
UNCLEAN_ALLOWED: Final = ("unclean.leader.election.enable", "true")
#: All lists of one, two or three different brokers.
PLACES: Final[tuple[Replicas, ...]] = tuple(
    place for size in (1, 2, 3) for place in permutations(BROKERS, size)
)
_KINDS: Final[tuple[type[TopicStep], ...]] = (
    CreateTopic,
    AddPartitions,
    DeleteTopic,
    Reassign,
    CancelMove,
    Elect,
    Configure,
)
#: How often each is drawn.
_WEIGHTS: Final = (3, 2, 1, 6, 2, 4, 1)


def generate(seed: int, count: int) -> list[Scenario]:
    """So many scenarios; a longer list begins with the shorter one."""
    scenarios: list[Scenario] = []
    for batch in range(-(-count // BATCH_SIZE)):
        shared = _draw_cluster_steps(Random(f"{seed} {batch}"))
        scenarios += [
            _draw_scenario(f"s{seed}-{batch}-{number}", shared) for number in range(BATCH_SIZE)
        ]
    return scenarios[:count]


def _draw_cluster_steps(chance: Random) -> tuple[ClusterStep, ...]:
    """In the end all live. One broker lives at any time."""
    steps: list[ClusterStep] = []
    dead: list[int] = []
    while len(steps) < CLUSTER_STEPS:
        can_die = [broker_id for broker_id in BROKERS if broker_id not in dead]
        kinds: list[type[ClusterStep]] = []
        if len(can_die) > 1:
            kinds += [KillBroker, StopBroker, BounceBroker]
        if dead:
            kinds += [StartBroker, MoveController]
        kind = chance.choice(kinds)
        if kind is MoveController:
            if steps[-1] != MoveController():
                steps.append(MoveController())
        elif kind is BounceBroker:
            steps.append(BounceBroker(chance.choice(can_die)))
        elif kind is StartBroker:
            back = chance.choice(dead)
            dead.remove(back)
            steps.append(StartBroker(back))
        else:
            gone = chance.choice(can_die)
            dead.append(gone)
            steps.append(KillBroker(gone) if kind is KillBroker else StopBroker(gone))
    return (*steps, *map(StartBroker, dead))


def _draw_scenario(name: str, shared: tuple[ClusterStep, ...]) -> Scenario:
    chance = Random(name)
    draft = _Draft(chance)
    steps: list[Step] = list(draft.draw_first())
    for step in shared:
        steps.append(step)
        draft.see(step)
        steps += (draft.draw() for _ in range(chance.randint(0, TOPIC_STEPS_MAX)))
    return Scenario(name, tuple(steps))


class _Draft:
    """What a scenario knows of its topics while it is drawn."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._dead: set[int] = set()
        #: How many partitions each topic has. One that was deleted never comes back: how long its
        #: replicas' folders are in the way is a matter of time.
        self._counts: dict[str, int] = {}
        #: How many replicas each partition of a topic has in the beginning.
        self._sizes: dict[str, int] = {}
        self._unused = list(TOPICS)

    def see(self, step: ClusterStep) -> None:
        """Who is dead from now on."""
        if isinstance(step, StartBroker):
            self._dead.discard(step.broker_id)
        elif isinstance(step, KillBroker | StopBroker):
            self._dead.add(step.broker_id)

    def draw_first(self) -> Iterator[TopicStep]:
        """Every scenario has a topic before anything happens."""
        yield self._create(self._chance.randint(2, PARTITIONS_MAX - 1))

    def draw(self) -> TopicStep:
        """Something that can be asked for now; whether it is granted is another question."""
        kind = self._chance.choices(_KINDS, _WEIGHTS)[0]
        if kind is CreateTopic and self._unused:
            return self._create(self._chance.randint(1, 2))
        if not self._counts:
            # Refused, and by both.
            return DeleteTopic(TOPICS[0])
        topic = self._chance.choice(list(self._counts))
        if kind is AddPartitions and self._counts[topic] < PARTITIONS_MAX:
            self._counts[topic] += 1
            place = self._living_place(self._sizes[topic])
            return AddPartitions(topic, self._counts[topic], (place,))
        if kind is DeleteTopic:
            del self._counts[topic]
            return DeleteTopic(topic)
        return self._draw_for_partition(kind, topic)

    def _draw_for_partition(self, kind: type[TopicStep], topic: str) -> TopicStep:
        partition = self._chance.randrange(self._counts[topic])
        if kind is CancelMove:
            return CancelMove(topic, partition)
        if kind is Elect:
            return Elect(topic, partition, self._chance.choice(tuple(ElectionType)))
        if kind is Configure:
            return Configure(topic, *UNCLEAN_ALLOWED)
        return Reassign(topic, partition, self._chance.choice(PLACES))

    def _create(self, count: int) -> CreateTopic:
        topic = self._unused.pop(0)
        self._counts[topic] = count
        size = self._chance.randint(1, len(BROKERS) - len(self._dead))
        self._sizes[topic] = size
        return CreateTopic(topic, tuple(self._living_place(size) for _ in range(count)))

    def _living_place(self, size: int) -> Replicas:
        """Regent refuses to create a topic on the dead; with too few of the living, both do."""
        size_now = min(size, len(BROKERS) - len(self._dead))
        return self._chance.choice(
            [place for place in PLACES if len(place) == size_now and not self._dead & set(place)]
        )
