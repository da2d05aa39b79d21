"""DeleteTopics: topics are marked, by name or by id, or refused one by one."""

import pytest

from regent.core.asks import MarkTopicsForDeletion
from regent.core.config import ControllerConfig
from regent.core.events import StopReplicaAnswered, TopicDeletionRequested, TopicDeletionsChanged
from regent.model.admin_requests import DeleteTopics, DeleteTopicsAnswer, TopicResult
from regent.model.control_requests import ControlAnswer
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused
from regent.model.ids import BrokerId, ControllerEpoch
from tests.support.builders import broker_epoch, leadership, name
from tests.support.drive import Run
from tests.support.scene import Scene

pytestmark = pytest.mark.requirement("K1", "T3")


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """One broker with the topics `real` and `other`."""
    scene.live(1)
    for topic in ("real", "other"):
        scene.partition(topic, 0, (1,), leadership=leadership(1, (1,)))
    return scene


def delete(scene: Scene, *topics: str, by_id: bool = False) -> Run[None]:
    """Ask for the deletion of these topics."""
    return scene.handle(TopicDeletionRequested(0, 7, DeleteTopics(topics, by_id)))


def results(run: Run[None]) -> tuple[TopicResult, ...]:
    return run.answer(DeleteTopicsAnswer).results


@pytest.mark.behaviour("del-030")
def test_a_topic_that_exists_is_deleted_beside_one_that_does_not(cluster: Scene) -> None:
    """One result each; the mark is seen, the broker deletes, and the topic is gone."""
    run = delete(cluster, "real", "ghost")
    marked = dict(cluster.memory.deletions)
    cluster.handle(TopicDeletionsChanged(0))
    cluster.handle(
        StopReplicaAnswered(
            0,
            BrokerId(1),
            broker_epoch(1),
            ControllerEpoch(1),
            ControlAnswer(partition_errors=((name("real", 0), ErrorCode.NONE),)),
            deleted=(name("real", 0),),
        )
    )

    message = "there is no topic 'ghost'"
    assert results(run) == (
        TopicResult("real", topic_id="id-of-real"),
        TopicResult("ghost", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message),
    )
    assert run.facts == [
        CallRefused(
            "DeleteTopics",
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            topic="ghost",
            reason=message,
        )
    ]
    assert marked == {"real": None}
    assert list(cluster.memory.topics) == ["other"]


@pytest.mark.behaviour("del-030")
def test_a_topic_can_be_named_by_its_id(cluster: Scene) -> None:
    """The caller hears the name; an id that nobody has is unknown as an id."""
    run = delete(cluster, "id-of-real", "id-of-ghost", by_id=True)

    message = "no topic has the id id-of-ghost"
    assert results(run) == (
        TopicResult("real", topic_id="id-of-real"),
        TopicResult("id-of-ghost", ErrorCode.UNKNOWN_TOPIC_ID, message, "id-of-ghost"),
    )
    assert cluster.memory.deletions == {"real": None}


@pytest.mark.behaviour("del-024")
def test_a_topic_that_is_not_there_is_unknown_and_leaves_the_others_alone(cluster: Scene) -> None:
    """Through the API no mark is made; one that a tool has left is taken away."""
    run = delete(cluster, "ghost")
    unmarked = dict(cluster.memory.deletions)
    cluster.memory.deletions["ghost"] = None
    before = cluster.state.topics["real"].partitions[0].leadership

    seen = cluster.handle(TopicDeletionsChanged(0))

    message = "there is no topic 'ghost'"
    expected = TopicResult("ghost", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    assert results(run) == (expected,)
    assert (unmarked, cluster.memory.deletions) == ({}, {})
    assert cluster.state.topics["real"].partitions[0].leadership == before
    assert seen.sends == []


@pytest.mark.behaviour("del-027", "del-035")
@pytest.mark.parametrize("by_id", [False, True])
def test_where_topics_are_not_deleted_every_request_is_refused(
    cluster: Scene, *, by_id: bool
) -> None:
    """Whether or not the topic exists; and a mark that a tool has left is taken away."""
    cluster.state.config = ControllerConfig(deletes_topics=False)
    asked = ("id-of-real", "id-of-ghost") if by_id else ("real", "ghost")

    run = delete(cluster, *asked, by_id=by_id)
    unmarked = dict(cluster.memory.deletions)
    cluster.memory.deletions["real"] = None
    seen = cluster.handle(TopicDeletionsChanged(0))

    message = "this controller does not delete topics: delete.topic.enable is false"
    error = ErrorCode.TOPIC_DELETION_DISABLED
    assert results(run) == tuple(TopicResult(each, error, message) for each in asked)
    assert (unmarked, cluster.memory.deletions) == ({}, {})
    assert "real" in cluster.memory.topics
    assert seen.sends == []


def test_a_topic_that_is_queued_already_is_no_error(cluster: Scene) -> None:
    """Whoever asked first has marked it."""
    cluster.state.queue_deletions(["real"])

    run = delete(cluster, "real", "other", "real")

    assert results(run) == (
        TopicResult("real", topic_id="id-of-real"),
        TopicResult("other", topic_id="id-of-other"),
    )
    assert run.asked == ["ReadMutationQuotas", "MarkTopicsForDeletion other"]


def test_nothing_is_written_where_nothing_is_left_to_mark(cluster: Scene) -> None:
    """An empty write would only cost."""
    cluster.state.queue_deletions(["real"])

    assert delete(cluster, "real").asks == []


def test_a_deposed_controller_marks_nothing(cluster: Scene) -> None:
    """The write is fenced."""
    cluster.memory.before_write = lambda ask: (
        cluster.memory.depose() if isinstance(ask, MarkTopicsForDeletion) else None
    )

    delete(cluster, "real")

    assert cluster.memory.deletions == {}
    assert not cluster.state.is_active
