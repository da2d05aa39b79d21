"""Faults on a real cluster, from a seed; afterwards everything is mended."""

from collections.abc import Iterator
from itertools import islice

import pytest

from regent.errors import BadInput
from regent.testing import Churn, Cluster
from regent.testing.broker_process import Condition
from regent.testing.churn_plan import ChurnKind, plan_churn


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests: a churn mends what it breaks."""
    with Cluster(brokers=3) as started:
        yield started


def conditions(cluster: Cluster) -> set[Condition]:
    return {cluster.broker(broker_id).condition for broker_id in cluster.broker_ids}


def test_the_seed_is_said_and_is_the_schedule(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    churn = Churn(cluster, seed=3, faults=2, rest_s=(0, 0.1))

    done = list(churn)

    assert sum(step.is_fault for step in done) == 2
    assert done == list(islice(plan_churn(3, [1, 2, 3], rest_s=(0, 0.1)), len(done)))
    said = capsys.readouterr().out.splitlines()
    assert said == ["churn: seed 3", *(f"churn: {step}" for step in done)]


def test_what_is_broken_is_mended_when_a_loop_is_left(cluster: Cluster) -> None:
    """A test that fails in the middle leaves a whole cluster to the next one."""
    steps = iter(Churn(cluster, seed=1, kinds=["kill"], rest_s=(0, 0)))
    next(steps)
    assert Condition.DOWN in conditions(cluster)

    steps.close()  # as leaving a loop does

    assert conditions(cluster) == {Condition.RUNNING}


def test_it_goes_on_beside_what_is_in_its_context(cluster: Cluster) -> None:
    with Churn(cluster, seed=5, kinds=["pause", "cut"], rest_s=(0, 0.05)) as churn:
        cluster.wait_until(lambda: len(churn.done) >= 6, "six steps")

    assert conditions(cluster) == {Condition.RUNNING}
    assert all(cluster.broker(each).cut_file.read().ports == frozenset() for each in (1, 2, 3))


def test_partitions_are_moved_and_sessions_end(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each passes by itself: nothing is under way at the end."""
    cluster.create_topic("moved", partitions=3, replication_factor=2)

    kinds = {step.kind for step in Churn(cluster, seed=2, faults=6, kinds=["expire", "move"])}

    assert kinds == {ChurnKind.EXPIRE, ChurnKind.MOVE}
    assert "moves" in capsys.readouterr().out
    for partition in range(3):
        assert len(cluster.partition("moved", partition).assignment.replicas) == 2
        assert not cluster.partition("moved", partition).assignment.is_reassigning
    assert conditions(cluster) == {Condition.RUNNING}


def test_what_goes_wrong_beside_it_is_raised_in_the_end(cluster: Cluster) -> None:
    """Otherwise a test would pass whose faults never came about."""
    cluster.kill(1)
    with (
        pytest.raises(BadInput, match="broker 1 is down"),
        Churn(cluster, seed=5, kinds=["kill"], rest_s=(0, 0)) as churn,
    ):
        cluster.wait_until(lambda: churn.is_over, "its end")

    assert conditions(cluster) == {Condition.RUNNING}


def test_it_ends_in_time(cluster: Cluster) -> None:
    """Before the step that would come too late."""
    assert list(Churn(cluster, seed=1, seconds=1, rest_s=(5, 6))) == []


def test_a_seed_is_drawn_when_none_is_given(cluster: Cluster) -> None:
    assert Churn(cluster).seed != Churn(cluster).seed
