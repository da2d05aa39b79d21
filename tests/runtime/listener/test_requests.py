"""What is asked of a controller: when it answers, and what it says when it is not one."""

import threading
from typing import Any

import pytest
from msgspec import Struct

from regent.core.config import ControllerConfig
from regent.model.admin_requests import (
    AlterReassignments,
    ControlledShutdown,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    MorePartitions,
    NewTopic,
    TopicResult,
)
from regent.model.alter_partition import AlterPartition
from regent.model.cluster_requests import Metadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.producer_ids import AllocateProducerIds, AllocateProducerIdsAnswer
from regent.zookeeper.producer_ids import PRODUCER_IDS
from regent.zookeeper.store import SetData
from tests.runtime.listener.served_node import PATIENCE_S, ServedCluster, ServedNode

PATIENT = 10_000
B1 = BrokerId(1)


def started(cluster: ServedCluster) -> ServedNode:
    node = cluster.serve()
    cluster.start_brokers(1, 2)
    return node


class Later:
    """An answer that is still to come."""

    def __init__(self, node: ServedNode, request: Struct, timeout_ms: int) -> None:
        self._answers: list[Any] = []
        self._thread = threading.Thread(
            target=lambda: self._answers.append(node.ask(request, timeout_ms=timeout_ms))
        )
        self._thread.start()

    @property
    def has_come(self) -> bool:
        """Whether somebody has answered."""
        return not self._thread.is_alive()

    def get(self) -> Any:
        """Wait for it."""
        self._thread.join(PATIENCE_S)
        (answer,) = self._answers
        return answer


def looked(node: ServedNode, times: int) -> None:
    """Wait until the waiting request has looked so often, and not seen what it waits for."""
    enough = node.desk.look_count + times
    for _ in range(10_000):
        if node.desk.look_count >= enough:
            return
        threading.Event().wait(0.001)
    pytest.fail("nobody looks")


# --- in time ------------------------------------------------------------------------------------


@pytest.mark.requirement("K1")
def test_a_topic_is_answered_for_when_it_has_leaders(cluster: ServedCluster) -> None:
    """A client that is told it exists goes on to use it."""
    node = started(cluster)
    node.desk.is_deaf = True
    answer = Later(node, CreateTopics((NewTopic("orders", 2, 1),)), PATIENT)
    looked(node, 3)
    assert not answer.has_come

    node.desk.is_deaf = False

    (result,) = answer.get().results
    assert (result.error, result.partition_count) == (ErrorCode.NONE, 2)
    assert node.ask(Metadata()).topics[0].partitions[1].error is ErrorCode.NONE


@pytest.mark.requirement("K1")
def test_new_partitions_are_answered_for_when_they_have_leaders(cluster: ServedCluster) -> None:
    node = started(cluster)
    node.ask(CreateTopics((NewTopic("orders", 1, 1),)), timeout_ms=PATIENT)
    node.desk.is_deaf = True
    answer = Later(node, CreatePartitions((MorePartitions("orders", 3),)), PATIENT)
    looked(node, 3)
    assert not answer.has_come

    node.desk.is_deaf = False

    assert answer.get().results == (TopicResult("orders"),)


@pytest.mark.requirement("K1")
def test_a_deletion_is_answered_for_when_nobody_sees_the_topic(cluster: ServedCluster) -> None:
    node = started(cluster)
    node.ask(CreateTopics((NewTopic("orders", 1, 1),)), timeout_ms=PATIENT)
    node.desk.is_deaf = True
    answer = Later(node, DeleteTopics(("orders",)), PATIENT)
    looked(node, 3)
    assert not answer.has_come

    node.desk.is_deaf = False

    assert [result.error for result in answer.get().results] == [ErrorCode.NONE]


@pytest.mark.parametrize("timeout_ms", [0, -1, 1])
def test_who_has_no_time_hears_so_and_it_is_done_all_the_same(
    cluster: ServedCluster, timeout_ms: int
) -> None:
    """As in Kafka. What was refused is still told as refused."""
    node = started(cluster)
    node.desk.is_deaf = True
    wishes = (NewTopic("orders", 1, 1), NewTopic("everywhere", 1, 9))

    answer = node.ask(CreateTopics(wishes), timeout_ms=timeout_ms)

    errors = [result.error for result in answer.results]
    assert errors == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_REPLICATION_FACTOR]
    node.desk.is_deaf = False
    assert [each.topic for each in node.ask(Metadata()).topics] == ["orders"]


def test_who_only_wants_to_validate_does_not_wait(cluster: ServedCluster) -> None:
    node = started(cluster)

    answer = node.ask(CreateTopics((NewTopic("orders", 1, 1),), validate_only=True))

    assert [result.error for result in answer.results] == [ErrorCode.NONE]
    assert node.ask(Metadata()).topics == ()
    growth = CreatePartitions((MorePartitions("orders", 3),), validate_only=True)
    (result,) = node.ask(growth).results
    assert result.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "request_", [CreateTopics((NewTopic("new", 1, 1),)), DeleteTopics(("orders",))], ids=repr
)
def test_a_controller_that_goes_does_not_say_that_it_is_done(
    cluster: ServedCluster, request_: Struct
) -> None:
    """It knows nothing any more: neither a leader to be seen, nor a topic that is still there."""
    node = started(cluster)
    node.ask(CreateTopics((NewTopic("orders", 1, 1),)), timeout_ms=PATIENT)
    for each in cluster.nodes:
        each.desk.is_deaf = True
    answer = Later(node, request_, 2_000)
    looked(node, 2)

    node.do(node.desk.lose_session)

    assert [each.error for each in answer.get().results] == [ErrorCode.REQUEST_TIMED_OUT]


def test_topics_are_deleted_by_id(cluster: ServedCluster) -> None:
    node = started(cluster)
    created = node.ask(CreateTopics((NewTopic("orders", 1, 1),)), timeout_ms=PATIENT)
    topic_id = created.results[0].topic_id
    unknown = "AAAAAAAAAAAAAAAAAAAAfw"

    answer = node.ask(DeleteTopics((topic_id, unknown), by_id=True), timeout_ms=PATIENT)

    assert [(each.topic, each.error) for each in answer.results] == [
        ("orders", ErrorCode.NONE),
        (unknown, ErrorCode.UNKNOWN_TOPIC_ID),
    ]
    assert node.ask(Metadata()).topics == ()


def test_deletion_may_be_switched_off(cluster: ServedCluster) -> None:
    node = cluster.serve(config=ControllerConfig(deletes_topics=False))

    (result,) = node.ask(DeleteTopics(("orders",)), timeout_ms=PATIENT).results

    assert result.error is ErrorCode.TOPIC_DELETION_DISABLED


# --- not the controller -------------------------------------------------------------------------

ONE_FOR_ALL: dict[str, Struct] = {
    "ElectLeaders": ElectLeaders(ElectionType.PREFERRED),
    "AlterPartitionReassignments": AlterReassignments(()),
    "ListPartitionReassignments": ListReassignments(),
    "AlterPartition": AlterPartition(B1, BrokerEpoch(1), ()),
    "AllocateProducerIds": AllocateProducerIds(B1, BrokerEpoch(1)),
}
ONE_FOR_EACH: dict[str, Struct] = {
    "CreateTopics": CreateTopics((NewTopic("a"), NewTopic("b"))),
    "DeleteTopics": DeleteTopics(("a", "b")),
    "CreatePartitions": CreatePartitions((MorePartitions("a", 3), MorePartitions("b", 3))),
}


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_a_standby_says_that_it_is_not_the_controller(cluster: ServedCluster, name: str) -> None:
    started(cluster)
    standby = cluster.serve(101)

    assert standby.ask(ONE_FOR_ALL[name]).error is ErrorCode.NOT_CONTROLLER


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("name", ONE_FOR_EACH)
def test_a_standby_says_so_for_each_topic(cluster: ServedCluster, name: str) -> None:
    """At once, however patient the caller is."""
    started(cluster)
    standby = cluster.serve(101)

    answer = standby.ask(ONE_FOR_EACH[name], timeout_ms=PATIENT)

    assert [(each.topic, each.error) for each in answer.results] == [
        ("a", ErrorCode.NOT_CONTROLLER),
        ("b", ErrorCode.NOT_CONTROLLER),
    ]


def test_a_broker_that_wants_to_go_hears_it_by_another_code(cluster: ServedCluster) -> None:
    """Kafka's own; a broker then looks for the controller again."""
    started(cluster)
    standby = cluster.serve(101)

    assert standby.ask(ControlledShutdown(B1)).error is ErrorCode.STALE_CONTROLLER_EPOCH


# --- producer ids -------------------------------------------------------------------------------


@pytest.mark.requirement("K1")
def test_brokers_get_blocks_of_producer_ids(cluster: ServedCluster) -> None:
    node = started(cluster)
    epochs = cluster.brokers.epochs
    wishes = [AllocateProducerIds(BrokerId(each), epochs[each]) for each in (1, 2, 1)]

    answers = [node.ask(wish) for wish in wishes]

    assert answers == [
        AllocateProducerIdsAnswer(first_id=first, count=1000) for first in (0, 1000, 2000)
    ]


@pytest.mark.parametrize(
    ("broker_id", "offset", "error"),
    [(9, 0, ErrorCode.BROKER_ID_NOT_REGISTERED), (1, -1, ErrorCode.STALE_BROKER_EPOCH)],
)
def test_only_a_registered_life_gets_producer_ids(
    cluster: ServedCluster, broker_id: int, offset: int, error: ErrorCode
) -> None:
    node = started(cluster)
    broker_epoch = BrokerEpoch(cluster.brokers.epochs[1] + offset)

    answer = node.ask(AllocateProducerIds(BrokerId(broker_id), broker_epoch))

    assert answer == AllocateProducerIdsAnswer(error)


def test_a_block_that_cannot_be_read_gives_no_ids(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """Guessing could give ids out twice."""
    node = started(cluster)
    node.do(lambda: node.desk.session.call((SetData(PRODUCER_IDS, b"{}"),)))

    answer = node.ask(AllocateProducerIds(B1, cluster.brokers.epochs[1]))

    assert answer == AllocateProducerIdsAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert PRODUCER_IDS in caplog.text
