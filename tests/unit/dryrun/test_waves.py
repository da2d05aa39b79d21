"""Waves of moves on a copy of a cluster: what they may not break (Q7)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from regent.dryrun.reassignment_file import PlannedMove, ReassignmentPlan
from regent.dryrun.snapshot import Snapshot
from regent.dryrun.wave_rules import PartitionView, WaveFinding, WaveRules
from regent.dryrun.waves import check_waves, choose_tried, model_waves, try_waves
from regent.model.admin_requests import ReassignmentTarget
from regent.model.ids import BrokerId
from tests.unit.dryrun.builders import cluster, partition, topic

pytestmark = pytest.mark.requirement("Q7")


def wave(*targets: tuple[int, tuple[int, ...]]) -> ReassignmentPlan:
    """Partitions of topic `t` and where they go."""
    moves = tuple(
        PlannedMove(1, ReassignmentTarget("t", index, tuple(map(BrokerId, replicas))))
        for index, replicas in targets
    )
    return ReassignmentPlan("wave", moves)


def test_waves_that_break_nothing_have_no_findings() -> None:
    """Brokers 1 and 3 are odd, 2 and 4 even: the first wave keeps both racks, and so on."""
    snapshot = cluster(
        topic("t", partition(0, 1, 2), min_insync_replicas="2"), brokers=(1, 2, 3, 4)
    )

    assert check_waves(snapshot, [wave((0, (3, 2))), wave((0, (3, 4)))]) == ()


def test_a_worse_spread_over_racks_is_found_in_its_wave() -> None:
    snapshot = cluster(topic("t", partition(0, 1, 2)), brokers=(1, 2, 3, 4))

    findings = check_waves(snapshot, [wave((0, (2, 1))), wave((0, (1, 3))), wave((0, (3, 4)))])

    assert [(each.wave, each.partition) for each in findings] == [(2, "t-0")]
    assert "racks ['odd', 'odd'], which is worse than before" in findings[0].detail


def test_more_replicas_than_racks_may_share_one() -> None:
    snapshot = cluster(topic("t", partition(0, 1, 2)), brokers=(1, 2, 3, 4))

    assert check_waves(snapshot, [wave((0, (1, 2, 3)))]) == ()


def test_fewer_in_sync_than_the_minimum_is_found() -> None:
    """The list is cut to one replica, and two must be in sync."""
    snapshot = cluster(topic("t", partition(0, 1, 2), min_insync_replicas="2"))

    assert check_waves(snapshot, [wave((0, (1,)))]) == (
        WaveFinding(1, "t-0", "1 replicas are in sync, and 2 must be"),
    )


def test_a_move_that_cannot_end_is_found() -> None:
    """Broker 4 is dead and stays in the list; broker 2 is in sync as soon as it can be."""
    snapshot = cluster(topic("t", partition(0, 1, 4, isr=(1,))))

    assert check_waves(snapshot, [wave((0, (4, 2)))]) == (
        WaveFinding(1, "t-0", "its move does not end: [4] are not in sync and alive"),
    )


def test_what_was_so_before_is_not_held_against_a_wave() -> None:
    """One of two is in sync, less than the minimum; both lie in one rack."""
    snapshot = cluster(
        topic("t", partition(0, 1, 3, isr=(1,)), min_insync_replicas="2"), brokers=(1, 2, 3, 5)
    )
    without_racks = replace(
        snapshot, brokers=tuple(replace(each, rack=None) for each in snapshot.brokers)
    )

    assert check_waves(snapshot, [wave((0, (1, 5)))]) == ()
    assert check_waves(without_racks, [wave((0, (1, 2)))]) == ()


def test_a_lost_leader_is_a_fault() -> None:
    """No wave was ever seen to do it, so the rule is asked alone."""
    rules = WaveRules(cluster())

    faults = rules.faults(PartitionView(1, False, (1,)), PartitionView(1, True, (1,)), 1)

    assert list(faults) == ["nobody leads it any more"]


# --- the model and the controller -------------------------------------------------------------


@st.composite
def trips(draw: st.DrawFn) -> tuple[Snapshot, list[ReassignmentPlan]]:
    """Partitions with any ISR that one could find, and up to three waves of any moves."""
    live = (1, 2, 3, 4, 5)
    lists = st.lists(st.sampled_from((*live, 6)), min_size=1, max_size=3, unique=True)
    partitions = []
    for index in range(draw(st.integers(1, 4))):
        replicas = tuple(draw(lists))
        isr = tuple(b for b in replicas if draw(st.booleans())) or replicas[:1]
        led = partition(index, *replicas, isr=isr)
        partitions.append(replace(led, leadership=None) if draw(st.booleans()) else led)
    current = {each.partition: set(each.replicas) for each in partitions}
    waves = []
    for _ in range(draw(st.integers(1, 3))):
        targets = []
        for index, held in current.items():
            row = tuple(draw(lists))
            # Only who is alive, or there already, can be asked for.
            if draw(st.booleans()) and set(row) <= {*live, *held}:
                targets.append((index, row))
                current[index] = set(row)
        waves.append(wave(*targets))
    needed = str(draw(st.integers(1, 2)))
    snapshot = cluster(topic("t", *partitions, min_insync_replicas=needed), brokers=live)
    return snapshot, waves


@settings(max_examples=300, deadline=None)
@given(trips())
def test_the_model_finds_just_what_the_controller_does(
    trip: tuple[Snapshot, list[ReassignmentPlan]],
) -> None:
    """Up to where a move does not end: what then follows the model does not know."""
    snapshot, waves = trip

    modelled = list(model_waves(snapshot, waves))
    tried = list(try_waves(snapshot, waves))

    stuck = {each.partition: each.wave for each in modelled if "does not end" in each.detail}
    before_stuck = [each for each in tried if each.wave <= stuck.get(each.partition, len(waves))]
    assert set(before_stuck) == set(modelled)


def test_one_of_each_kind_is_tried_by_the_controller() -> None:
    """The even ones of 0 to 7 move alike, and the odd ones; 9 is like 8, but for a dead broker."""
    alike = [partition(i, 1 + i % 2, 3) for i in range(8)]
    others = [partition(8, 1, 2, isr=(1,)), partition(9, 1, 4, isr=(1,))]
    snapshot = cluster(topic("t", *alike, *others), brokers=(1, 2, 3, 5))
    plan = wave(*((i, (5, 3)) for i in range(8)), (8, (5, 2)), (9, (5, 4)))

    tried = choose_tried(snapshot, [plan], tried_max=1)

    assert tried == {("t", 0), ("t", 1), ("t", 8), ("t", 9)}
