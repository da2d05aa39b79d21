"""Playing scenarios on a cluster, and writing down what ZooKeeper has after every step."""

from collections.abc import Callable, Iterable, Sequence
from time import monotonic, sleep
from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from tests.conformance.comparison import Seen
from tests.conformance.lockstep import ClusterRound, Round, rounds
from tests.conformance.requests import Requests
from tests.conformance.rest import leaders, restless
from tests.conformance.seats import Seat, bounce, resign_and_return
from tests.conformance.steps import (
    BounceBroker,
    ClusterStep,
    KillBroker,
    MoveController,
    Scenario,
    StartBroker,
    StopBroker,
)
from tests.conformance.trees import TopicTree
from tests.interop.apache_cluster import ApacheCluster

#: How often in a row all must be found at rest and the same, and how far apart.
STEADY_LOOKS: Final = 3
LOOK_EVERY_S: Final = 0.2
REST_WITHIN_S: Final = 60.0


class Rest(Struct, frozen=True):
    """All topics by their full names, and what is still restless after all patience."""

    trees: dict[str, TopicTree]
    restless: dict[str, str]


class Player:
    """One cluster with one controller."""

    def __init__(self, cluster: ApacheCluster, seat: Seat, say: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._seat = seat
        self._say = say
        self._requests = Requests(cluster)

    def play(self, together: tuple[Scenario, ...]) -> dict[str, list[Seen]]:
        """What was seen after each step of each scenario; the cluster is whole and empty again."""
        topics = [each.full_name(topic) for each in together for topic in each.topics]
        seen: dict[str, list[Seen]] = {each.name: [] for each in together}
        for played in rounds(together):
            began_s = monotonic()
            answers = self._do(played)
            rest = self._come_to_rest(topics)
            for scenario, number in _members(played):
                assert number == len(seen[scenario.name]), "one record for each step"
                seen[scenario.name].append(_own_part(scenario, rest, answers.get(scenario.name)))
            self._say(f"{_told(played)}: {monotonic() - began_s:.1f} s {rest.restless or ''}")
        self._mend(topics)
        return seen

    def close(self) -> None:
        """Nothing is asked any more."""
        self._requests.close()

    # --- doing --------------------------------------------------------------------------------

    def _do(self, played: Round) -> dict[str, ErrorCode]:
        """What the scenarios hear that ask for something in this round."""
        if isinstance(played, ClusterRound):
            self._change(played.step)
            return {}
        return self._requests.send(played.parts)

    def _change(self, step: ClusterStep) -> None:
        match step:
            case KillBroker(broker_id):
                self._cluster.kill(broker_id)
            case StopBroker(broker_id):
                self._cluster.stop(broker_id)
            case StartBroker(broker_id):
                self._cluster.start(broker_id)
            case BounceBroker(broker_id):
                bounce(self._cluster, self._seat, broker_id)
            case MoveController():
                resign_and_return(self._cluster, self._seat)

    def _mend(self, topics: Sequence[str]) -> None:
        """Everybody is back, and nothing is left that the next scenarios could stumble over."""
        self._cluster.start()
        self._come_to_rest(topics)
        self._requests.delete(
            [topic for topic, tree in self._requests.look(topics).items() if tree.partitions]
        )
        self._come_to_rest(topics)

    # --- waiting ------------------------------------------------------------------------------

    def _come_to_rest(self, topics: Sequence[str]) -> Rest:
        """Wait until nothing will change by itself any more, or patience is at an end.

        The controller answers between two looks, and so has handled what it knew at the first.
        """
        deadline_s = monotonic() + REST_WITHIN_S
        last: dict[str, TopicTree] | None = None
        looks = 0
        while True:
            self._requests.hear_from_controller()
            trees = self._requests.look(topics)
            reasons = self._restless(trees)
            looks = looks + 1 if trees == last and not reasons else 0
            last = trees
            if looks >= STEADY_LOOKS - 1 or monotonic() > deadline_s:
                return Rest(trees, reasons)
            sleep(LOOK_EVERY_S)

    def _restless(self, trees: dict[str, TopicTree]) -> dict[str, str]:
        live = [int(broker_id) for broker_id in self._cluster.known().brokers]
        found = {topic: restless(tree, live) for topic, tree in trees.items()}
        reasons = {topic: reason for topic, reason in found.items() if reason is not None}
        return reasons or self._unheard(trees, live)

    def _unheard(self, trees: dict[str, TopicTree], live: Sequence[int]) -> dict[str, str]:
        """Leaders that some broker does not know: whoever is asked next could be that broker."""
        wanted = leaders(trees)
        topics = list(dict.fromkeys(topic for topic, _ in wanted))
        reasons: dict[str, str] = {}
        for broker_id in live:
            seen = self._cluster.seen_by(broker_id, *topics)
            known = (
                {}
                if seen is None
                else {(p.topic, p.partition): p.leader for p in seen.partitions()}
            )
            for name, leader in wanted.items():
                if known.get(name) != leader:
                    reasons[name[0]] = f"broker {broker_id} does not know who leads {name[1]}"
        return reasons


def _members(played: Round) -> Iterable[tuple[Scenario, int]]:
    if isinstance(played, ClusterRound):
        return played.numbers
    return [(part.scenario, part.number) for part in played.parts]


def _own_part(scenario: Scenario, rest: Rest, answer: ErrorCode | None) -> Seen:
    names = {topic: scenario.full_name(topic) for topic in scenario.topics}
    return Seen(
        answer,
        {topic: rest.trees[name] for topic, name in names.items()},
        {topic: rest.restless[name] for topic, name in names.items() if name in rest.restless},
    )


def _told(played: Round) -> str:
    if isinstance(played, ClusterRound):
        return str(played.step)
    kinds = dict.fromkeys(type(part.step).__name__ for part in played.parts)
    return f"{len(played.parts)} steps ({', '.join(kinds)})"
