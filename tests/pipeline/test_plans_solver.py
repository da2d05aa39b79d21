"""Plans on small clusters: what must hold of every one, and what must come of known ones (Q7)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regent.errors import BadInput
from regent.pipeline.plans.bounds import make_band
from regent.pipeline.plans.goals import (
    MovePlan,
    add,
    drain,
    fix_offline,
    leaders,
    rebalance,
    set_rf,
)
from regent.pipeline.plans.problem import Weighing
from regent.pipeline.plans.shedding import choose_to_shed
from regent.pipeline.plans.summary import summarize
from tests.pipeline.clusters import (
    SmallCluster,
    clusters,
    crowding,
    problem_of,
    replicas_after,
    replicas_before,
)

pytestmark = pytest.mark.requirement("Q7", "L3")

quick = settings(max_examples=80, deadline=None)
NO_RACKS = dict.fromkeys((1, 2, 3, 4))


def check_sound(plan: MovePlan) -> None:
    """What no plan may do, and what every summary must say."""
    for before, after in zip(replicas_before(plan), replicas_after(plan), strict=True):
        assert len(set(after)) == len(after), "two replicas on one broker"
        newcomers = set(after) - set(before)
        assert all(plan.problem.is_live[plan.problem.position(b)] for b in newcomers)
    summary = summarize(plan)
    if summary.in_band and summary.reaches_goal:
        assert summary.moved >= summary.bound - 1e-6
    assert summary.in_band or summary.why_not


def check_racks(plan: MovePlan, cluster: SmallCluster) -> None:
    """No partition has more replicas that share a rack than before."""
    for before, after in zip(cluster.replicas, replicas_after(plan), strict=True):
        assert len(after) == len(before)
        assert crowding(after, cluster.racks) <= crowding(before, cluster.racks)


# --- what holds of every plan -----------------------------------------------------------------


@quick
@given(clusters(with_dead=True))
def test_rebalancing_is_sound(cluster: SmallCluster) -> None:
    if len(cluster.dead) == len(cluster.racks):
        return
    plan = rebalance(cluster.problem)

    check_sound(plan)
    check_racks(plan, cluster)
    summary = summarize(plan)
    assert summary.after.max_over_mean <= summary.before.max_over_mean + 1e-9
    for before, after in zip(cluster.replicas, replicas_after(plan), strict=True):
        assert before == after or not set(before) & set(cluster.dead)


@quick
@given(clusters(), st.data())
def test_draining_leaves_nothing_and_touches_nothing_else(
    cluster: SmallCluster, data: st.DataObject
) -> None:
    drained = data.draw(st.sampled_from(sorted(cluster.racks)))
    plan = drain(cluster.problem, [drained])

    check_sound(plan)
    hopeless = {
        index for index, row in enumerate(cluster.replicas) if len(row) == len(cluster.racks)
    }
    for index, (before, after) in enumerate(
        zip(cluster.replicas, replicas_after(plan), strict=True)
    ):
        if index in hopeless:
            assert index in plan.unsolved or drained not in before
            continue
        assert drained not in after
        assert [b for b in before if b != drained] == [b for b in after if b in before]
        assert len(after) == len(before)
    assert summarize(plan).reaches_goal == (
        not any(drained in cluster.replicas[index] for index in hopeless)
    )


@quick
@given(clusters(), st.data())
def test_adding_moves_only_to_the_added(cluster: SmallCluster, data: st.DataObject) -> None:
    added = data.draw(st.sampled_from(sorted(cluster.racks)))
    plan = add(cluster.problem, [added])

    check_sound(plan)
    check_racks(plan, cluster)
    for before, after in zip(cluster.replicas, replicas_after(plan), strict=True):
        assert set(after) - set(before) <= {added}


@quick
@given(clusters(with_dead=True))
def test_sharing_out_leaders_moves_no_data(cluster: SmallCluster) -> None:
    if len(cluster.dead) == len(cluster.racks):
        return
    plan = leaders(cluster.problem)

    check_sound(plan)
    summary = summarize(plan)
    assert summary.replicas_to_copy == 0
    assert summary.after.stddev_over_mean <= summary.before.stddev_over_mean + 1e-9
    for before, after in zip(cluster.replicas, replicas_after(plan), strict=True):
        assert sorted(before) == sorted(after)
        assert before == after or after[0] not in cluster.dead


@quick
@given(clusters(), st.integers(1, 3))
def test_every_partition_gets_the_number_of_replicas(cluster: SmallCluster, wanted: int) -> None:
    plan = set_rf(cluster.problem, wanted)

    check_sound(plan)
    for before, after in zip(cluster.replicas, replicas_after(plan), strict=True):
        assert len(after) == wanted
        assert set(after) <= set(before) or set(before) <= set(after)
        assert after[0] == before[0]
    assert summarize(plan).ratio in {None, 1.0}


@quick
@given(clusters(with_dead=True))
def test_offline_replicas_are_replaced_where_something_can_be_copied(
    cluster: SmallCluster,
) -> None:
    alive = len(cluster.racks) - len(cluster.dead)
    if not alive:
        return
    plan = fix_offline(cluster.problem)

    check_sound(plan)
    for index, (before, after) in enumerate(
        zip(cluster.replicas, replicas_after(plan), strict=True)
    ):
        living = [b for b in before if b not in cluster.dead]
        if living and len(before) <= alive:
            assert not set(after) & set(cluster.dead)
            assert len(after) == len(before)
        elif set(before) & set(cluster.dead):
            assert index in plan.unsolved
            assert living or after == before
        assert [b for b in after if b in living] == living


# --- known clusters ---------------------------------------------------------------------------


def test_an_empty_broker_gets_its_share_and_no_more_is_moved_than_must_be() -> None:
    plan = rebalance(problem_of([(1, 2), (2, 3), (3, 1)] * 40, dict(NO_RACKS)))

    summary = summarize(plan)
    assert summary.in_band
    assert summary.bound == pytest.approx(58.8)
    assert summary.moved <= 60
    assert all(59 <= share.replicas_after <= 61 for share in summary.brokers)


def test_many_replicas_are_moved_at_once() -> None:
    plan = rebalance(problem_of([(1,)] * 2000, dict(NO_RACKS)))

    assert summarize(plan).in_band
    assert summarize(plan).moved <= 1.01 * summarize(plan).bound


def test_the_last_brokers_are_brought_in_one_replica_at_a_time() -> None:
    """Giving by the pound leaves one outside: it takes an exchange that is no surplus."""
    racks = {1: None, 2: None, 3: None}
    problem = problem_of([(3,), (1,), (1,), (2,), (2,)], racks, sizes=[28, 11, 4, 23, 19])

    assert summarize(rebalance(problem, band=0.1)).in_band


def test_leadership_stays_where_handing_it_on_would_make_it_worse() -> None:
    """Broker 1 leads 600 and 2 leads 500: with the 500 of partition 0 it would have 1000."""
    rows = [(1, 2), (1,), (2,)]

    plan = leaders(problem_of(rows, {1: None, 2: None, 3: None}, sizes=[500, 100, 500]))

    assert replicas_after(plan) == rows


def test_leadership_goes_on_in_chains() -> None:
    """Broker 1 shares nothing with broker 3, and reaches it through broker 2."""
    rows = [(1, 2)] * 6 + [(2, 3)] * 3

    summary = summarize(leaders(problem_of(rows, {1: None, 2: None, 3: None})))

    assert [share.leaders_after for share in summary.brokers] == [3, 3, 3]


def test_racks_are_repaired_by_moves_that_are_made_anyway() -> None:
    """Both replicas are in rack a; the one that has to go, goes to rack b."""
    racks = {1: "a", 2: "a", 3: "a", 4: "b"}

    assert replicas_after(drain(problem_of([(1, 2)], racks), [2])) == [(1, 4)]


def test_capacity_is_not_exceeded() -> None:
    """Broker 3 is empty and has room for one of the two."""
    problem = problem_of(
        [(1,), (1,)], {1: None, 2: None, 3: None}, sizes=[10, 10], capacities={3: 15, 2: 5}
    )

    plan = drain(problem, [1])

    assert sorted(replicas_after(plan)) == [(1,), (3,)]
    assert "capacity" in summarize(plan).why_not[0]


def test_a_narrow_rack_is_given_as_the_reason() -> None:
    racks = {1: "a", 2: "b", 3: "b", 4: "b"}

    plan = rebalance(problem_of([(1, 2), (1, 3), (1, 4)] * 20, racks))

    reasons = " ".join(summarize(plan).why_not)
    assert "rack a has 1 broker of 4" in reasons


def test_a_heavy_partition_is_given_as_the_reason() -> None:
    plan = rebalance(problem_of([(1,), (2,), (2,)], {1: None, 2: None}, sizes=[100, 1, 1]))

    assert "partition t-0 alone weighs 100 bytes" in " ".join(summarize(plan).why_not)


def test_too_few_brokers_are_given_as_the_reason() -> None:
    plan = drain(problem_of([(1, 2)], {1: None, 2: None}), [2])

    assert summarize(plan).why_not[0].endswith("t-0 has 2 replicas and 1 brokers may hold them")


def test_excluded_brokers_are_left_as_they_are() -> None:
    plan = rebalance(problem_of([(1,)] * 30, dict(NO_RACKS)), exclude=[4])

    assert sorted(set(replicas_after(plan))) == [(1,), (2,), (3,)]


def test_partitions_without_a_measured_load_count_as_the_mean() -> None:
    problem = problem_of([(1,), (1,), (1,)], {1: None}, sizes=[10, np.nan, 30])

    assert problem.weight.tolist() == [10, 20, 30]
    assert "1 of 3 partitions" in problem.notes[0]


def test_what_makes_no_sense_is_refused() -> None:
    problem = problem_of([(1, 2)], dict(NO_RACKS), dead=[4])

    with pytest.raises(BadInput, match="no broker 9"):
        drain(problem, [9])
    with pytest.raises(BadInput, match="broker 4 is not alive"):
        add(problem, [4])
    with pytest.raises(BadInput, match="there are 3"):
        set_rf(problem, 4)
    with pytest.raises(BadInput, match="exclude fewer"):
        rebalance(problem, exclude=[1, 2, 3])
    with pytest.raises(BadInput, match="--by count"):
        problem_of([(1,)], {1: None}, by=Weighing.BYTES)
    with pytest.raises(BadInput, match="capacities"):
        problem_of([(1,)], {1: None}, capacities={1: 5})


@quick
@given(
    st.lists(st.integers(1, 100).map(float), min_size=1, max_size=40),
    st.floats(0.01, 0.9),
)
def test_what_is_shed_covers_the_excess_and_hardly_more(weights: list[float], share: float) -> None:
    falling = np.array(sorted(weights, reverse=True))
    excess = share * falling.sum()

    chosen = choose_to_shed(falling, excess)

    given_away = falling[chosen].sum()
    assert len(set(chosen)) == len(chosen)
    assert given_away >= excess - 1e-6
    lightest_kept_out = min((falling[i] for i in chosen), default=0.0)
    assert given_away - lightest_kept_out < excess + 1e-6


def test_a_band_of_equal_replicas_reaches_to_whole_ones() -> None:
    band = make_band(np.ones(10), 10.0, 3, 0.02)

    assert (band.low, band.high) == (3.0, 4.0)
