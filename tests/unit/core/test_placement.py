"""Replica placement: Kafka's own order, computed by hand, and what must hold of any."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.core.placement import (
    PlacementStart,
    Racks,
    continued_from,
    has_some_racks,
    place,
    rack_by_rack,
    racks_of,
)
from regent.model.ids import BrokerId
from tests.support.builders import ids, registered

#: Two brokers in each of three racks.
THREE_RACKS: Racks = {
    BrokerId(0): "a",
    BrokerId(1): "c",
    BrokerId(2): "c",
    BrokerId(3): "b",
    BrokerId(4): "b",
    BrokerId(5): "a",
}
FROM_FIRST = PlacementStart(index=0, shift=0)


def unracked(*broker_ids: int) -> Racks:
    return dict.fromkeys(ids(*broker_ids))


@pytest.mark.requirement("K2")
def test_first_replicas_go_round_and_followers_move_on_with_every_round() -> None:
    """The second round has the same leaders with followers one further away."""
    placed = place(unracked(0, 1, 2, 3, 4), range(10), 3, FROM_FIRST)

    assert placed == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_the_drawn_start_turns_the_round_and_the_drawn_shift_the_followers() -> None:
    """Otherwise every small topic would begin on the first broker."""
    placed = place(unracked(4, 5, 6, 7), range(3), 2, PlacementStart(index=2, shift=1))

    assert placed == {0: (6, 4), 1: (7, 5), 2: (4, 6)}


@pytest.mark.requirement("K2")
def test_the_round_goes_from_rack_to_rack() -> None:
    """The brokers in order are 0, 3, 1, 5, 4, 2; a shift goes over all racks at once."""
    placed = place(THREE_RACKS, range(9), 3, FROM_FIRST)

    assert rack_by_rack(THREE_RACKS) == [0, 3, 1, 5, 4, 2]
    assert placed == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
        7: (3, 2, 0),
        8: (1, 0, 3),
    }


def test_a_rack_gets_a_second_replica_once_every_rack_has_one() -> None:
    """Brokers in order: 0 (a), 3 (b), 1 (a), 2 (a). Behind 0 comes 3, then again rack a."""
    racks: Racks = {BrokerId(0): "a", BrokerId(1): "a", BrokerId(2): "a", BrokerId(3): "b"}

    placed = place(racks, range(2), 3, FROM_FIRST)

    assert rack_by_rack(racks) == [0, 3, 1, 2]
    # Behind 3 come 1 and 2, both in rack a; by then both racks have a replica.
    assert placed == {0: (0, 3, 1), 1: (3, 1, 2)}


def test_a_broker_of_a_used_rack_is_passed_over_while_another_rack_is_empty() -> None:
    """Brokers in order: 0 (a), 3 (b), 1 (a), 2 (a). Behind 1 comes 2, which shares its rack."""
    racks: Racks = {BrokerId(0): "a", BrokerId(1): "a", BrokerId(2): "a", BrokerId(3): "b"}

    placed = place(racks, range(2, 3), 2, FROM_FIRST)

    assert placed == {2: (1, 3)}


def test_one_broker_takes_everything() -> None:
    """There is no other to go round."""
    assert place(unracked(7), range(3), 1, FROM_FIRST) == {0: (7,), 1: (7,), 2: (7,)}
    assert place({BrokerId(7): "a"}, range(1), 1, FROM_FIRST) == {0: (7,)}


@pytest.mark.behaviour("int-041")
def test_more_partitions_go_on_from_the_first_one() -> None:
    """Partition 0 is on 5 of the brokers 4 to 7: partition 1 is led by 6, partition 2 by 7."""
    racks = unracked(7, 6, 5, 4)

    start = continued_from(BrokerId(5), racks)

    assert start == PlacementStart(index=1, shift=1)
    assert place(racks, range(1, 3), 2, start) == {1: (6, 4), 2: (7, 5)}


@pytest.mark.parametrize(("first", "index"), [(1, 0), (5, 1), (8, 0)])
def test_a_first_replica_that_is_gone_is_replaced_by_the_next(first: int, index: int) -> None:
    """And behind the last broker comes the first."""
    start = continued_from(BrokerId(first), unracked(4, 6, 7))

    assert start == PlacementStart(index, index)


def test_racks_are_all_or_nothing() -> None:
    """Of a broker without a rack nobody knows whether it shares one."""
    assert not has_some_racks(unracked(1, 2))
    assert not has_some_racks(THREE_RACKS)
    assert has_some_racks({BrokerId(1): "a", BrokerId(2): None})


def test_racks_are_those_that_brokers_registered() -> None:
    """With the brokers that have none."""
    brokers = {BrokerId(1): registered(1, rack="a"), BrokerId(2): registered(2)}

    assert racks_of(brokers) == {1: "a", 2: None}


# --- what holds of any placement ------------------------------------------------------------------

broker_sets = st.sets(st.integers(0, 50), min_size=1, max_size=12).map(
    lambda numbers: tuple(BrokerId(number) for number in sorted(numbers))
)
starts = st.builds(PlacementStart, st.integers(0, 11), st.integers(0, 11))


@st.composite
def racked(draw: st.DrawFn) -> Racks:
    """Brokers, all with a rack or none with one."""
    brokers = draw(broker_sets)
    if draw(st.booleans()):
        return dict.fromkeys(brokers)
    return {broker_id: draw(st.sampled_from("abcd")) for broker_id in brokers}


@given(
    racks=racked(), start=starts, first=st.integers(0, 30), more=st.integers(1, 40), data=st.data()
)
def test_every_partition_has_distinct_brokers_on_as_many_racks_as_can_be(
    racks: Racks, start: PlacementStart, first: int, more: int, data: st.DataObject
) -> None:
    """No rack has two replicas of a partition while another has none."""
    factor = data.draw(st.integers(1, len(racks)))

    placed = place(racks, range(first, first + more), factor, start)

    assert list(placed) == list(range(first, first + more))
    for replicas in placed.values():
        assert len(set(replicas)) == len(replicas) == factor
        assert set(replicas) <= set(racks)
        if None not in racks.values():
            on_racks = len({racks[broker_id] for broker_id in replicas})
            assert on_racks == min(factor, len(set(racks.values())))


@given(racks=racked(), start=starts, first=st.integers(0, 30), more=st.integers(1, 40))
def test_leaders_are_spread_evenly_within_one(
    racks: Racks, start: PlacementStart, first: int, more: int
) -> None:
    """Wherever the round begins."""
    placed = place(racks, range(first, first + more), 1, start)

    led = Counter(replicas[0] for replicas in placed.values())
    counts = [led[broker_id] for broker_id in racks]
    assert max(counts) - min(counts) <= 1


@given(brokers=broker_sets, start=starts, rounds=st.integers(1, 4), data=st.data())
def test_whole_rounds_give_every_broker_as_many_replicas(
    brokers: tuple[BrokerId, ...], start: PlacementStart, rounds: int, data: st.DataObject
) -> None:
    """Followers are spread as evenly as leaders; racks of unequal size could not have that."""
    factor = data.draw(st.integers(1, len(brokers)))

    placed = place(dict.fromkeys(brokers), range(rounds * len(brokers)), factor, start)

    held = Counter(broker_id for replicas in placed.values() for broker_id in replicas)
    assert held == dict.fromkeys(brokers, rounds * factor)
