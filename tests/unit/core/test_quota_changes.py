"""Quotas on their way from the shared memory to the requests that are charged."""

import pytest

from regent.core.asks import Malformed
from regent.core.events import (
    ConfigsChanged,
    PartitionCreationRequested,
    TopicCreationRequested,
    TopicDeletionRequested,
)
from regent.model.admin_requests import (
    CreatePartitions,
    CreatePartitionsAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    MorePartitions,
    NewTopic,
    TopicResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, ZnodeIsolated
from regent.model.mutation_caller import MutationCaller
from tests.support.builders import leadership
from tests.support.drive import Run
from tests.support.scene import Scene

APP = MutationCaller("app")
ENTITY = "clients/app"
EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED
USED_UP = "its quota of 1 partitions made or deleted a second (controller_mutation_rate) is used up"


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """One partition a second, eleven at once, and two topics of twelve and of one."""
    scene.live(1)
    for topic, count in (("large", 12), ("small", 1)):
        for index in range(count):
            scene.partition(topic, index, (1,), leadership=leadership(1, (1,)))
    scene.memory.mutation_quotas[ENTITY] = 1.0
    return scene


def create(
    scene: Scene, *topics: NewTopic, now_ms: int = 0, validate_only: bool = False
) -> Run[None]:
    request = CreateTopics(topics, validate_only)
    return scene.handle(TopicCreationRequested(now_ms, 7, request, APP))


def delete(scene: Scene, *topics: str, now_ms: int = 0) -> Run[None]:
    return scene.handle(TopicDeletionRequested(now_ms, 7, DeleteTopics(topics), APP))


def grow(scene: Scene, *topics: MorePartitions, now_ms: int = 0) -> Run[None]:
    request = CreatePartitions(topics)
    return scene.handle(PartitionCreationRequested(now_ms, 7, request, APP))


def errors(run: Run[None]) -> list[ErrorCode]:
    answer = run.reply.answer
    assert isinstance(answer, CreateTopicsAnswer | DeleteTopicsAnswer | CreatePartitionsAnswer)
    return [result.error for result in answer.results]


# --- charging -------------------------------------------------------------------------------------


def test_what_is_too_much_is_refused_topic_by_topic(cluster: Scene) -> None:
    """Whoever comes behind one that was too large; nothing is written for it."""
    run = create(cluster, NewTopic("a", 14, 1), NewTopic("b", 1, 1))

    answer = run.answer(CreateTopicsAnswer)
    assert answer.results[1] == TopicResult("b", EXCEEDED, USED_UP)
    assert answer.results[0].error is ErrorCode.NONE
    assert answer.throttle_ms == 3_000
    assert run.facts == [CallRefused("CreateTopics", EXCEEDED, topic="b", reason=USED_UP)]
    assert "b" not in cluster.memory.topics


def test_what_is_refused_anyway_or_only_validated_costs_nothing(cluster: Scene) -> None:
    """Kafka charges when all is in order, and just before it writes."""
    create(cluster, NewTopic("large", 100, 1), NewTopic("?", 100, 1), NewTopic("a", 100, 9))
    create(cluster, NewTopic("a", 100, 1), validate_only=True)

    assert (
        errors(create(cluster, NewTopic("a", 11, 1), NewTopic("b", 1, 1))) == [ErrorCode.NONE] * 2
    )


def test_only_the_new_partitions_of_a_topic_are_charged(cluster: Scene) -> None:
    """Those it had before were paid for."""
    run = grow(cluster, MorePartitions("large", 23), MorePartitions("small", 2))
    assert errors(run) == [ErrorCode.NONE] * 2

    run = grow(cluster, MorePartitions("small", 3))

    assert errors(run) == [EXCEEDED]
    assert run.answer(CreatePartitionsAnswer).throttle_ms == 1_000


def test_the_partitions_of_a_deleted_topic_are_charged(cluster: Scene) -> None:
    """Once: to delete what is being deleted costs nothing, and is not refused."""
    first = delete(cluster, "large", "small")
    cluster.state.queue_deletions(["large"])
    second = delete(cluster, "large", "small")
    third = delete(cluster, "large")

    assert errors(first) == [ErrorCode.NONE, EXCEEDED]
    assert first.answer(DeleteTopicsAnswer).results[1].topic_id == "id-of-small"
    assert first.answer(DeleteTopicsAnswer).throttle_ms == 1_000
    assert "small" not in cluster.memory.deletions
    assert errors(second) == [ErrorCode.NONE, EXCEEDED]
    assert third.answer(DeleteTopicsAnswer) == DeleteTopicsAnswer(
        (TopicResult("large", topic_id="id-of-large"),)
    )


def test_time_pays_it_back(cluster: Scene) -> None:
    """The only clock is the one on the events."""
    create(cluster, NewTopic("a", 14, 1), now_ms=50_000)

    assert errors(create(cluster, NewTopic("b", 1, 1), now_ms=52_999)) == [EXCEEDED]
    assert errors(create(cluster, NewTopic("b", 1, 1), now_ms=53_000)) == [ErrorCode.NONE]


# --- learning -------------------------------------------------------------------------------------


@pytest.mark.fault("F95")
def test_a_changed_quota_holds_for_the_next_request(cluster: Scene) -> None:
    """Use, change, use (KAFKA-10458)."""
    create(cluster, NewTopic("a", 14, 1))
    cluster.memory.mutation_quotas[ENTITY] = 3.0
    cluster.memory.config_changes["config_change_1"] = ENTITY

    run = cluster.handle(ConfigsChanged(0))

    assert run.asked == ["ReadConfigChanges", "ReadMutationQuotas"]
    assert create(cluster, NewTopic("b", 1, 1)).answer(CreateTopicsAnswer).throttle_ms == 1_000
    cluster.memory.mutation_quotas[ENTITY] = None
    cluster.memory.config_changes["config_change_2"] = ENTITY
    cluster.handle(ConfigsChanged(0))
    assert errors(create(cluster, NewTopic("b", 100, 1))) == [ErrorCode.NONE]


def test_quotas_are_read_when_somebody_needs_them_and_once(cluster: Scene) -> None:
    """Until then, announcements of them concern nobody."""
    cluster.memory.config_changes["config_change_1"] = ENTITY
    before = cluster.handle(ConfigsChanged(0))

    first, second = (create(cluster, NewTopic(name, 1, 1)) for name in ("a", "b"))

    assert before.asked == ["ReadConfigChanges"]
    assert first.asked.count("ReadMutationQuotas") == 1
    assert second.asked.count("ReadMutationQuotas") == 0


def test_a_new_reign_reads_them_anew(node: Scene) -> None:
    """What the last one knew may be old."""
    node.elect()
    node.memory.register(1)
    create(node, NewTopic("a", 1, 1))
    node.state.clear()

    assert node.state.mutation_quotas is None


@pytest.mark.requirement("X3")
def test_a_quota_that_cannot_be_read_stays_as_it_was(cluster: Scene) -> None:
    """It is said once, and hinders nobody."""
    create(cluster, NewTopic("a", 14, 1))
    broken = Malformed("/config/clients/app", "not JSON")
    cluster.memory.mutation_quotas[ENTITY] = broken
    cluster.memory.config_changes["config_change_1"] = ENTITY

    run = cluster.handle(ConfigsChanged(0))

    assert run.facts == [ZnodeIsolated(broken.path, broken.reason)]
    assert errors(create(cluster, NewTopic("b", 1, 1))) == [EXCEEDED]
