"""Throttled moves on real brokers: what is set, that it is obeyed, and that it goes away again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.cli.bootstrap import EXIT_UNDER_WAY
from regent.client.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from regent.model.ids import TopicPartition
from regent.testing import Cluster
from tests.node.moves import (
    BROKER,
    TOPIC,
    configs_of,
    create,
    fill,
    logs_on,
    plan,
    replicas_of,
    set_config,
    typed,
)

Captured = pytest.CaptureFixture[str]
#: With this rate a copy of so many batches takes longer than any test.
SLOW, STILL_SLOW, BATCHES = "1000", "1001", 100
FAST = "1GB"


def rates(value: str) -> dict[str, str]:
    return {LEADER_RATE: value, FOLLOWER_RATE: value}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests; each has topics of its own and leaves no throttle behind."""
    with Cluster(brokers=3) as started:
        yield started


@pytest.mark.behaviour("rsg-019", "rsg-020", "rsg-050")
def test_a_throttle_is_set_obeyed_raised_and_removed(
    cluster: Cluster, tmp_path: Path, capsys: Captured
) -> None:
    """Only what moves is throttled, `verify` waits for the end, and nothing else is touched."""
    slow, still, quick = (TopicPartition("slow", n) for n in (0, 1, 2))
    create(cluster, "slow", "1", "2", "3")
    fill(cluster, [slow, quick], BATCHES)
    set_config(cluster, TOPIC("slow"), "retention.ms", "7200000")
    set_config(cluster, BROKER(1), "background.threads", "7")
    # Left over on a broker that has no part in this.
    set_config(cluster, BROKER(3), LEADER_RATE, "77")
    everything = (TOPIC("slow"), BROKER(1), BROKER(2), BROKER(3))
    file = plan(tmp_path / "plan.json", {slow: [2], still: [2]})

    assert typed(cluster, "reassign", "start", file, "--throttle", SLOW) == 0

    throttled = {
        "slow": {
            "retention.ms": "7200000",
            LEADER_REPLICAS: "0:1",
            FOLLOWER_REPLICAS: "0:2",
        },
        "1": {"background.threads": "7", **rates(SLOW)},
        "2": rates(SLOW),
        "3": {LEADER_RATE: "77"},
    }
    assert configs_of(cluster, *everything) == throttled

    # The same amount without a throttle has arrived, and this has not.
    other = plan(tmp_path / "other.json", {quick: [2]})
    assert typed(cluster, "reassign", "start", other, "--wait") == 0
    assert typed(cluster, "reassign", "verify", file) == EXIT_UNDER_WAY
    assert configs_of(cluster, *everything) == throttled

    capsys.readouterr()
    assert typed(cluster, "reassign", "start", file, "--throttle", STILL_SLOW) == 0
    assert "slow-0  goes on" in capsys.readouterr().out
    # The throttle is raised first: with this one the move may have ended when it is asked for.
    assert typed(cluster, "reassign", "start", file, "--throttle", FAST) == 0
    raised = {**throttled, "2": rates("1000000000")}
    raised["1"] = {"background.threads": "7", **rates("1000000000")}

    # It may have arrived before it is looked at, but nobody has verified it yet.
    assert configs_of(cluster, *everything) == raised
    cluster.wait_until(
        lambda: typed(cluster, "reassign", "verify", file) == 0, "the move to be done"
    )
    assert configs_of(cluster, *everything) == {
        "slow": {"retention.ms": "7200000"},
        "1": {"background.threads": "7"},
        "2": {},
        "3": {},
    }


@pytest.mark.behaviour("rsg-025")
def test_a_throttled_plan_over_several_topics_does_just_what_it_says(
    cluster: Cluster, tmp_path: Path
) -> None:
    """One moves, one stays, one is widened, one is not in the plan; `--wait` cleans up."""
    for topic, replicas in {"a": "1", "b": "2", "c": "3", "d": "1"}.items():
        create(cluster, topic, replicas, replicas)
        fill(cluster, [TopicPartition(topic, 0)], 3)
    file = plan(
        tmp_path / "plan.json",
        {
            TopicPartition("a", 0): [3],
            TopicPartition("b", 0): [2],
            TopicPartition("c", 0): [1, 3],
        },
    )

    assert typed(cluster, "reassign", "start", file, "--throttle", "10MB", "--wait") == 0

    assert {topic: replicas_of(cluster, topic) for topic in "abcd"} == {
        "a": [(3,), (1,)],
        "b": [(2,), (2,)],
        "c": [(1, 3), (3,)],
        "d": [(1,), (1,)],
    }
    left = configs_of(cluster, *map(TOPIC, "abcd"), *map(BROKER, (2, 3)))
    assert left == {name: {} for name in ("a", "b", "c", "d", "2", "3")}


@pytest.mark.behaviour("rsg-043")
def test_a_cancelled_move_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path, capsys: Captured
) -> None:
    """First with its throttle, which is kept, and then the throttle alone."""
    names = [TopicPartition("undone", partition) for partition in (0, 1)]
    create(cluster, "undone", "1", "2")
    fill(cluster, names, BATCHES)
    file = plan(tmp_path / "plan.json", {name: [3] for name in names})
    assert typed(cluster, "reassign", "start", file, "--throttle", SLOW) == 0
    cluster.wait_until(lambda: set(logs_on(cluster, 3, "undone")) == {0, 1}, "copies to begin")
    everything = (TOPIC("undone"), BROKER(2), BROKER(3))
    throttled = configs_of(cluster, *everything)
    capsys.readouterr()

    assert typed(cluster, "reassign", "cancel", file, "--preserve-throttles") == 0
    assert capsys.readouterr().out.count("cancelled") == 2
    assert configs_of(cluster, *everything) == throttled

    assert typed(cluster, "reassign", "cancel", file) == 0
    assert capsys.readouterr().out.count("was not being moved") == 2
    assert configs_of(cluster, *everything) == {"undone": {}, "2": {}, "3": {}}
    cluster.wait_until(lambda: not logs_on(cluster, 3, "undone"), "half copies to be gone")
    assert replicas_of(cluster, "undone") == [(1,), (2,)]
