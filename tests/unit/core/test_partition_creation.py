"""CreatePartitions: more partitions behind the existing ones, or a reason why not."""

import pytest

from regent.core.asks import (
    Malformed,
    ReadMutationQuotas,
    ReadTopics,
    TopicRead,
    WriteTopics,
)
from regent.core.events import PartitionCreationRequested, TopicChanged
from regent.model.admin_requests import (
    CreatePartitions,
    CreatePartitionsAnswer,
    MorePartitions,
    TopicResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused
from regent.model.states import PartitionState
from tests.support.builders import assignment, ids, leadership
from tests.support.drive import Run
from tests.support.scene import Scene

pytestmark = pytest.mark.requirement("K1")


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """Brokers 4 to 7, and topic t with partition 0 on 5 and 6."""
    scene.live(4, 5, 6, 7)
    scene.partition("t", 0, (5, 6), leadership=leadership(5, (5, 6)))
    return scene


def grow(scene: Scene, *topics: MorePartitions, validate_only: bool = False) -> Run[None]:
    """Ask for more partitions."""
    return scene.handle(PartitionCreationRequested(0, 7, CreatePartitions(topics, validate_only)))


def results(run: Run[None]) -> tuple[TopicResult, ...]:
    return run.answer(CreatePartitionsAnswer).results


def by_hand(total_count: int, *replicas: tuple[int, ...]) -> MorePartitions:
    return MorePartitions("t", total_count, tuple(ids(*each) for each in replicas))


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.behaviour("int-041")
def test_new_partitions_go_on_from_the_first_one(cluster: Scene) -> None:
    """Partition 1 is led by 6 and partition 2 by 7, two replicas each; the topic keeps its id."""
    run = grow(cluster, MorePartitions("t", 3))

    assert results(run) == (TopicResult("t"),)
    assert cluster.memory.topics["t"] == TopicRead(
        "id-of-t", {0: assignment(5, 6), 1: assignment(6, 4), 2: assignment(7, 5)}
    )


@pytest.mark.behaviour("int-035")
def test_new_partitions_have_exactly_the_replicas_given(cluster: Scene) -> None:
    """One list for each, behind those there are."""
    run = grow(cluster, by_hand(3, (4, 5), (6, 7)))
    cluster.handle(TopicChanged(0, "t"))

    assert results(run) == (TopicResult("t"),)
    assert cluster.state.assignments_of("t") == {
        0: assignment(5, 6),
        1: assignment(4, 5),
        2: assignment(6, 7),
    }


def test_they_are_served_when_the_watch_tells_and_not_before(cluster: Scene) -> None:
    """Like those that a tool has added."""
    run = grow(cluster, MorePartitions("t", 2))
    before = list(cluster.state.topics["t"].partitions)

    cluster.handle(TopicChanged(0, "t"))

    assert (before, run.sends) == ([0], [])
    assert cluster.state.topics["t"].partitions[1].state is PartitionState.ONLINE


def test_what_a_tool_has_added_meanwhile_is_not_lost(cluster: Scene) -> None:
    """The znode is written whole, so it is read first."""
    cluster.memory.create_topic("t", (5, 6), (7, 4))

    run = grow(cluster, MorePartitions("t", 3))

    assert [type(ask) for ask in run.asks] == [ReadTopics, ReadMutationQuotas, WriteTopics]
    assert cluster.memory.topics["t"] == TopicRead(
        "id-of-t", {0: assignment(5, 6), 1: assignment(7, 4), 2: assignment(7, 5)}
    )


def test_a_tool_that_lost_the_topic_id_does_not_make_us_lose_it(cluster: Scene) -> None:
    """A topic's id is its id for life."""
    cluster.memory.create_topic("t", (5, 6), topic_id=None)

    grow(cluster, MorePartitions("t", 2))

    assert cluster.memory.topics["t"] == TopicRead(
        "id-of-t", {0: assignment(5, 6), 1: assignment(6, 4)}
    )


def test_a_topic_not_served_yet_can_grow(cluster: Scene) -> None:
    """It is there for whoever looks into ZooKeeper."""
    cluster.memory.create_topic("new", (4,))

    run = grow(cluster, MorePartitions("new", 2))

    assert results(run) == (TopicResult("new"),)
    assert cluster.memory.topics["new"] == TopicRead(
        "id-of-new", {0: assignment(4), 1: assignment(5)}
    )


def test_validating_writes_nothing(cluster: Scene) -> None:
    """All is checked all the same."""
    run = grow(cluster, MorePartitions("t", 2), MorePartitions("missing", 2), validate_only=True)

    assert results(run) == (
        TopicResult("t"),
        TopicResult("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no topic 'missing'"),
    )
    assert run.asked == ["ReadTopics t,missing"]


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        pytest.param(MorePartitions("t", 1), ErrorCode.INVALID_PARTITIONS,
                     "t has 1 partitions; 1 would be no increase", id="as many"),
        pytest.param(MorePartitions("t", 2**31 - 1), ErrorCode.INVALID_PARTITIONS,
                     "the znode of a topic has room for 131072 partitions, not for 2147483647",
                     id="more than a znode holds"),
        pytest.param(MorePartitions("t", 0), ErrorCode.INVALID_PARTITIONS,
                     "t has 1 partitions; 0 would be no increase", id="fewer"),
        pytest.param(by_hand(2, (4, 9)), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 1 is assigned to [9], which are not live brokers", id="stranger"),
        pytest.param(by_hand(2, (4, 4)), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 1 has a broker twice: [4, 4]", id="twice"),
        pytest.param(by_hand(2, (4,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "[4] has 1 replicas where the topic has 2", id="another factor"),
        pytest.param(by_hand(2, ()), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 1 has no replicas", id="nobody"),
        pytest.param(by_hand(2, (4, 5), (5, 6)), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "there are to be 1 more partitions, and 2 assignments are given",
                     id="too many lists"),
    ],
)  # fmt: skip
def test_partitions_that_cannot_be(
    cluster: Scene, topic: MorePartitions, error: ErrorCode, message: str
) -> None:
    """Refused with Kafka's code and journalled; the topic beside it grows."""
    cluster.partition("u", 0, (4,))

    run = grow(cluster, topic, MorePartitions("u", 2))

    assert results(run) == (TopicResult("t", error, message), TopicResult("u"))
    assert run.facts == [CallRefused("CreatePartitions", error, topic="t", reason=message)]
    assert cluster.memory.topics["t"] == TopicRead("id-of-t", {0: assignment(5, 6)})


@pytest.mark.behaviour("int-037")
@pytest.mark.parametrize("name", ["missing", "", "a/b", ".."])
def test_a_topic_that_is_not_there_cannot_grow(cluster: Scene, name: str) -> None:
    """Nor does a name that no topic can have become a path."""
    run = grow(cluster, MorePartitions(name, 2))

    message = f"there is no topic {name!r}"
    assert results(run) == (TopicResult(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message),)
    assert run.asked == (["ReadTopics missing"] if name == "missing" else [])


@pytest.mark.behaviour("int-039")
def test_too_few_lists_or_a_topic_without_partition_0_are_refused(cluster: Scene) -> None:
    """There is nothing to go on from."""
    cluster.partition("headless", 1, (4,))

    run = grow(cluster, by_hand(3, (4, 5)), MorePartitions("headless", 3))

    assert results(run) == (
        TopicResult(
            "t",
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "there are to be 2 more partitions, and 1 assignments are given",
        ),
        TopicResult(
            "headless",
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "partitions are numbered from 0 without a gap, these are [1]",
        ),
    )
    assert not [ask for ask in run.asks if isinstance(ask, WriteTopics)]


def test_a_topic_without_any_partition_is_refused(cluster: Scene) -> None:
    """The same, with nothing at all."""
    cluster.memory.topics["empty"] = TopicRead("id-of-empty", {})

    run = grow(cluster, MorePartitions("empty", 1))

    message = "it has no partition 0 to go on from"
    assert results(run) == (TopicResult("empty", ErrorCode.UNKNOWN_SERVER_ERROR, message),)


def test_a_topic_that_cannot_be_read_is_left_alone(cluster: Scene) -> None:
    """Writing it whole would lose what is there."""
    cluster.memory.topics["t"] = TopicRead("id-of-t", {0: assignment(5, 6)}, {1: "no list"})
    cluster.memory.topics["u"] = Malformed("/brokers/topics/u", "no JSON")

    run = grow(cluster, MorePartitions("t", 3), MorePartitions("u", 3))

    assert results(run) == (
        TopicResult(
            "t",
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "some of its partitions cannot be read: {1: 'no list'}",
        ),
        TopicResult(
            "u", ErrorCode.UNKNOWN_SERVER_ERROR, "/brokers/topics/u cannot be read: no JSON"
        ),
    )


def test_a_topic_under_reassignment_cannot_grow(scene: Scene) -> None:
    """How many replicas it has is not settled."""
    scene.live(1, 2)
    scene.partition("t", 0, assignment(2, 1, adding=(2,), removing=(1,)))

    run = grow(scene, MorePartitions("t", 2))

    message = "its partitions [0] are being reassigned"
    assert results(run) == (TopicResult("t", ErrorCode.REASSIGNMENT_IN_PROGRESS, message),)


def test_a_topic_queued_for_deletion_cannot_grow(cluster: Scene) -> None:
    """Its partitions are frozen."""
    cluster.state.queue_deletions(["t"])

    run = grow(cluster, MorePartitions("t", 2))

    message = "t is queued for deletion"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_TOPIC_EXCEPTION, message),)


def test_a_topic_named_twice_is_refused_once(cluster: Scene) -> None:
    """Nobody knows which of the two was meant."""
    run = grow(cluster, MorePartitions("t", 2), MorePartitions("t", 3))

    message = "the request names this topic more than once"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_REQUEST, message),)


def test_a_factor_that_the_live_brokers_cannot_carry_any_more_is_refused(scene: Scene) -> None:
    """Two replicas, one broker left."""
    scene.live(5)
    scene.partition("t", 0, (5, 6), leadership=leadership(5, (5,)))

    run = grow(scene, MorePartitions("t", 2))

    message = "the replication factor is 2, and there are 1 live brokers"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_REPLICATION_FACTOR, message),)


def test_a_topic_that_vanishes_before_the_write_is_unknown(cluster: Scene) -> None:
    """Its znode is not created anew."""
    cluster.memory.before_write = lambda _ask: cluster.memory.topics.clear()

    run = grow(cluster, MorePartitions("t", 2))

    message = "somebody removed it just now"
    assert results(run) == (TopicResult("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message),)
    assert cluster.memory.topics == {}
