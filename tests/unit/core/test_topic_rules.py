"""Names and assignments by hand: what is wrong with them, in words."""

import pytest

from regent.core.topic_rules import (
    metric_name,
    misassigned,
    misnamed,
    misnumbered,
    misreplicated,
    partly_racked,
    unequally_replicated,
)
from regent.model.ids import BrokerId
from tests.support.builders import ids

LIVE = dict.fromkeys(ids(1, 2, 3))


@pytest.mark.requirement("K2")
@pytest.mark.parametrize("name", ["a", "A-b_c.9", "...", "x" * 249, "__consumer_offsets"])
def test_a_name_that_a_topic_can_have(name: str) -> None:
    """All the letters, and the whole length."""
    assert misnamed(name) is None


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "a topic's name cannot be empty"),
        (".", "a topic cannot be called '.'"),
        ("..", "a topic cannot be called '..'"),
        ("x" * 250, "a topic's name has at most 249 characters, this one 250"),
        ("a/b", "'a/b' has characters other than ASCII letters, digits, '.', '_' and '-'"),
        ("a\n", "'a\\n' has characters other than ASCII letters, digits, '.', '_' and '-'"),
        ("thé", "'thé' has characters other than ASCII letters, digits, '.', '_' and '-'"),
    ],
)
def test_a_name_that_no_topic_can_have(name: str, message: str) -> None:
    """It is the name of a directory, of a metric and of a znode."""
    assert misnamed(name) == message


def test_two_names_may_be_one_in_metrics() -> None:
    """There, a dot is an underscore."""
    assert metric_name("a.b_c") == metric_name("a_b.c") == "a_b_c"


def test_an_assignment_by_hand_that_is_in_order() -> None:
    """In whatever order its partitions are listed."""
    assert misassigned([(1, ids(1, 2)), (0, ids(3, 1))], LIVE) is None
    assert misnumbered([1, 0]) is None
    assert unequally_replicated([ids(1, 2), ids(3, 1)], 2) is None


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ((), "partition 0 has no replicas"),
        ((1, 2, 1), "partition 0 has a broker twice: [1, 2, 1]"),
        ((1, 9), "partition 0 is assigned to [9], which are not live brokers"),
        ((-1,), "partition 0 is assigned to [-1], which are not live brokers"),
    ],
)
def test_an_assignment_by_hand_that_cannot_be(replicas: tuple[int, ...], message: str) -> None:
    """It says which partition and which brokers."""
    assert misassigned([(0, ids(*replicas))], LIVE) == message


@pytest.mark.parametrize("numbers", [[1], [0, 2], [0, 0], [-1, 0], [0, 1, 1]])
def test_partitions_are_numbered_from_0_without_a_gap(numbers: list[int]) -> None:
    """Nor is a number given twice."""
    expected = f"partitions are numbered from 0 without a gap, these are {sorted(numbers)}"

    assert misnumbered(numbers) == expected


def test_all_partitions_have_as_many_replicas() -> None:
    """The factor belongs to the topic."""
    assert unequally_replicated([ids(1, 2), ids(1)], 2) == (
        "[1] has 1 replicas where the topic has 2"
    )


def test_there_must_be_a_broker_for_each_replica() -> None:
    """And at least one replica."""
    assert misreplicated(3, LIVE) is None
    assert misreplicated(0, LIVE) == "0 is no replication factor"
    assert misreplicated(4, LIVE) == "the replication factor is 4, and there are 3 live brokers"


def test_the_brokers_without_a_rack_are_named() -> None:
    """So that somebody can give them one."""
    racks = {BrokerId(3): None, BrokerId(1): "a", BrokerId(2): None}

    assert partly_racked(LIVE) is None
    assert partly_racked(racks) == (
        "brokers [2, 3] have no rack and others have one; give it to all or to none"
    )
