"""Scenarios that are played together, because the same is done to the brokers in all of them.

Starting a broker takes as long as a hundred requests. Topics do not meet, so scenarios that differ
only in what they do to topics share the cluster's steps: step by step, each with its own topics.
"""

from collections.abc import Iterable
from itertools import zip_longest
from typing import TypeAlias

from msgspec import Struct

from tests.conformance.steps import ClusterStep, Scenario, TopicStep


class Part(Struct, frozen=True):
    """One scenario's step in a round, and its place among that scenario's steps."""

    scenario: Scenario
    number: int
    step: TopicStep


class ClusterRound(Struct, frozen=True):
    """One step for all; where it stands in each scenario."""

    step: ClusterStep
    numbers: tuple[tuple[Scenario, int], ...]


class TopicRound(Struct, frozen=True):
    """At most one step of each scenario."""

    parts: tuple[Part, ...]


Round: TypeAlias = ClusterRound | TopicRound


def cluster_steps(scenario: Scenario) -> tuple[ClusterStep, ...]:
    """What is done to the brokers, in order."""
    return tuple(step for step in scenario.steps if isinstance(step, ClusterStep))


def group(scenarios: Iterable[Scenario], size_max: int) -> list[tuple[Scenario, ...]]:
    """Scenarios with the same cluster steps, so many at once at the most; in order otherwise."""
    alike: dict[tuple[ClusterStep, ...], list[Scenario]] = {}
    for scenario in scenarios:
        alike.setdefault(cluster_steps(scenario), []).append(scenario)
    return [
        tuple(members[start : start + size_max])
        for members in alike.values()
        for start in range(0, len(members), size_max)
    ]


def rounds(together: tuple[Scenario, ...]) -> list[Round]:
    """What is done when; whoever has nothing to do before the next cluster step waits."""
    stretches = [_stretches(scenario) for scenario in together]
    shared = cluster_steps(together[0])
    assert all(cluster_steps(each) == shared for each in together), "they are alike"
    played: list[Round] = []
    for index, step in enumerate((None, *shared)):
        if step is not None:
            numbers = tuple(
                (each, own[index][0] - 1) for each, own in zip(together, stretches, strict=True)
            )
            played.append(ClusterRound(step, numbers))
        parts = [
            [Part(each, own[index][0] + i, step_) for i, step_ in enumerate(own[index][1])]
            for each, own in zip(together, stretches, strict=True)
        ]
        played += [
            TopicRound(tuple(part for part in column if part is not None))
            for column in zip_longest(*parts)
        ]
    return played


def _stretches(scenario: Scenario) -> list[tuple[int, list[TopicStep]]]:
    """The topic steps around the cluster steps, and where each stretch begins."""
    stretches: list[tuple[int, list[TopicStep]]] = [(0, [])]
    for number, step in enumerate(scenario.steps):
        if isinstance(step, ClusterStep):
            stretches.append((number + 1, []))
        else:
            stretches[-1][1].append(step)
    return stretches
