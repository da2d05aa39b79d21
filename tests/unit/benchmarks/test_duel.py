"""What decides a duel beside the machine: whose time counts, and what each turn starts from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from time import process_time
from typing import Any

import pytest

from benchmarks.duel.arena import led_by_first
from benchmarks.duel.real_brokers import (
    ABSENT,
    REAL,
    Leaders,
    is_later,
    lay_out,
    leaders_of,
    told_leaders,
)
from benchmarks.duel.rest import wait_for_rest
from benchmarks.duel.rounds import Contest, compare, play_all
from regent.core.state import Partition
from regent.errors import RegentError
from regent.model.assignment import Assignment
from regent.model.cluster_requests import MetadataAnswer, PartitionDescription, TopicDescription
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership

B1, B2, B3 = REAL


@dataclass(frozen=True)
class _Fencer:
    name: str


APACHE, REGENT = _Fencer("apache"), _Fencer("regent")


def test_both_play_in_turn_and_warming_up_does_not_count() -> None:
    """Java compiles in the first rounds, and whatever the machine does meanwhile meets both."""
    seconds = iter([90.0, 9.0, 80.0, 7.0, 2.0, 0.5, 8.0, 0.25, 4.0, 1.0])
    played: list[str] = []
    said: list[str] = []

    def play(player: _Fencer) -> float:
        played.append(player.name)
        return next(seconds)

    row = compare((APACHE, REGENT), Contest("race", "start -> end", play), 3, said.append)

    assert played == ["apache", "regent"] * 5
    assert row == {
        "apache_s": 4.0,
        "regent_s": 0.5,
        "times": 8.0,
        "rounds": {"apache": [2.0, 8.0, 4.0], "regent": [0.5, 0.25, 1.0]},
        "warming_up": {"apache": [90.0, 80.0], "regent": [9.0, 7.0]},
        "timed": "start -> end",
    }
    assert said[0] == "race: apache 90.000 s (warming up)"
    assert said[-1] == "race: regent 1.000 s (round 3)"


def test_a_partition_is_set_back_to_its_first_leader_in_a_later_epoch() -> None:
    """Brokers refuse an earlier one; a later reign than its own would make a controller resign."""
    partition = Partition("t", 0, Assignment((ABSENT, B1, B2)))
    current = Leadership(B1, LeaderEpoch(7), (B1, B2), ControllerEpoch(5), ZkVersion(9))

    assert led_by_first(partition, current) == Leadership(
        ABSENT, LeaderEpoch(8), (ABSENT, B1, B2), ControllerEpoch(5), ZkVersion(9)
    )


def test_a_quarter_of_the_partitions_is_bereft_and_the_rest_is_spread_evenly() -> None:
    """The absent broker leads its share and follows nowhere, so that all else stays as it is."""
    layout = lay_out(120)

    assert len(layout.bereft) == 30
    others = [each for each in layout.partitions if each not in layout.bereft]
    assert not any(ABSENT in each.assignment.replicas for each in others)
    led = [sum(each.assignment.replicas[0] == broker for each in others) for broker in REAL]
    next_in_line = [
        sum(e.assignment.replicas[1] == broker for e in layout.bereft) for broker in REAL
    ]
    assert (led, next_in_line) == ([30, 30, 30], [10, 10, 10])
    assert all(len(set(each.assignment.replicas)) == 3 for each in layout.partitions)


def test_what_is_asked_for_is_what_was_laid_out() -> None:
    layout = lay_out(60)

    asked = {
        (topic.name, index): replicas
        for topic in layout.new_topics
        for index, replicas in topic.assignments
    }
    assert asked == {(p.topic, p.index): p.assignment.replicas for p in layout.partitions}


def test_a_broker_that_has_the_old_leader_is_still_waited_for() -> None:
    """The same broker is elected every time, so that only the epoch shows who has heard of it."""
    before: Leaders = {("t", 0): (ABSENT, 8), ("t", 1): (ABSENT, 3)}

    assert is_later(_told({0: (B1, 9), 1: (B2, 4)}), before)
    assert not is_later(_told({0: (B1, 9), 1: (B2, 3)}), before)
    assert not is_later(_told({0: (B1, 9), 1: (BrokerId(-1), 4)}), before)
    assert not is_later(_told({0: (B1, 9)}), before)


def test_written_and_told_leaders_can_be_compared() -> None:
    partition = Partition("t", 1, Assignment((B3, B1, B2)))
    written = Leadership(B3, LeaderEpoch(2), (B3, B1), ControllerEpoch(1), ZkVersion(0))

    assert leaders_of([partition], [written]) == _told({1: (B3, 2)})


def test_an_early_end_leaves_what_there_is() -> None:
    """A run takes long; what it has measured is kept at once, and says that it is not all."""

    def break_down(_player: _Fencer) -> float:
        raise RegentError("the machine was needed")

    race = Contest[_Fencer]("race", "start -> end", lambda _: 1.0)
    kept: list[Mapping[str, Any]] = []

    with pytest.raises(RegentError):
        play_all(
            [((APACHE, REGENT), race), ((APACHE, REGENT), Contest("jump", "", break_down))],
            rounds=1,
            say=lambda _: None,
            keep=kept.append,
        )
    assert [(row["complete"], "race" in row, "jump" in row) for row in kept] == [
        (False, True, False)
    ]

    play_all([((APACHE, REGENT), race)], rounds=1, say=lambda _: None, keep=kept.append)
    assert [row["complete"] for row in kept[1:]] == [False, True]


def test_rest_is_a_window_in_which_nothing_new_is_said() -> None:
    """A controller that speaks now and then is not done yet."""
    counts = iter([1, 2, 3, 3, 4])

    wait_for_rest((), lambda: next(counts), window_s=0.001)

    assert next(counts) == 4


def test_who_works_in_silence_does_not_rest() -> None:
    """Whoever is looked at is this very process, which works at first."""
    looks = 0

    def work() -> int:
        nonlocal looks
        looks += 1
        until_s = process_time() + (0.1 if looks <= 3 else 0.0)
        while process_time() < until_s:
            pass
        return 0

    wait_for_rest((os.getpid(),), work, window_s=0.3)

    assert looks > 3


def _told(leaders: dict[int, tuple[int, int]]) -> dict[tuple[str, int], tuple[int, int]]:
    partitions = tuple(
        PartitionDescription(index, leader=BrokerId(leader), leader_epoch=LeaderEpoch(epoch))
        for index, (leader, epoch) in leaders.items()
    )
    return told_leaders(MetadataAnswer(topics=(TopicDescription("t", partitions=partitions),)))
