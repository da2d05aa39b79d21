"""What any node of a cluster is asked, and so a controller, too: it is listed among the brokers.

Whoever gets no sensible answer from one node may take the whole cluster for one that cannot.
"""

import pytest

from regent.model.admin_requests import CreateTopics, NewTopic
from regent.model.coordinator_requests import (
    CoordinatorType,
    FindCoordinator,
    FindCoordinatorAnswer,
)
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import ListGroups, ListGroupsAnswer
from regent.model.ids import BrokerId, TopicPartition
from regent.model.log_requests import DescribeLogDirs, DescribeLogDirsAnswer
from regent.model.producer_ids import InitProducerId, InitProducerIdAnswer
from regent.model.record_requests import (
    Acks,
    AppendResult,
    PartitionRecords,
    Produce,
    ProduceAnswer,
)
from regent.zookeeper.producer_ids import PRODUCER_IDS
from regent.zookeeper.store import SetData
from tests.runtime.listener.served_node import ServedCluster, ServedNode
from tests.runtime.listener.test_requests import PATIENT, started


def create(node: ServedNode, topic: str, *leaders: int) -> None:
    """A topic with one partition for each of these, which leads it."""
    placed = tuple((index, (BrokerId(each),)) for index, each in enumerate(leaders))
    wish = NewTopic(topic, assignments=placed)
    (result,) = node.ask(CreateTopics((wish,)), timeout_ms=PATIENT).results
    assert result.error is ErrorCode.NONE, result


def test_a_controller_knows_produce_and_leads_nothing(cluster: ServedCluster) -> None:
    """Clients of Java before 2.8 break on a node that does not know the API at all."""
    node = started(cluster)
    name = TopicPartition("t", 0)

    answer = node.ask(Produce(Acks.ALL, 1_000, (PartitionRecords(name, b""),)))

    assert answer == ProduceAnswer((AppendResult(name, ErrorCode.NOT_LEADER_OR_FOLLOWER),))


def test_producers_get_an_id_each(cluster: ServedCluster) -> None:
    """Out of the controller's own block, which it takes for a thousand of them."""
    node = started(cluster)

    answers = [node.ask(InitProducerId()) for _ in range(3)]

    assert answers == [InitProducerIdAnswer(ErrorCode.NONE, each, 0) for each in range(3)]


def test_a_transactional_producer_is_sent_to_its_coordinator(cluster: ServedCluster) -> None:
    """Clients look for it then."""
    answer = started(cluster).ask(InitProducerId("orders"))

    assert answer == InitProducerIdAnswer(ErrorCode.NOT_COORDINATOR)


def test_a_producer_tries_again_where_no_ids_can_be_had(cluster: ServedCluster) -> None:
    """The code is one that clients do not take for final."""
    node = started(cluster)
    node.do(lambda: node.desk.session.call((SetData(PRODUCER_IDS, b"{}"),)))

    assert node.ask(InitProducerId()).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize(
    ("key_type", "topic"),
    [
        (CoordinatorType.GROUP, "__consumer_offsets"),
        (CoordinatorType.TRANSACTION, "__transaction_state"),
    ],
)
@pytest.mark.parametrize(("key", "leader"), [("a", 2), ("b", 1)])
def test_the_coordinator_is_whoever_leads_its_partition(
    cluster: ServedCluster, key_type: CoordinatorType, topic: str, key: str, leader: int
) -> None:
    """Java's hash of "a" is 97, of "b" 98: the second partition of two, and the first."""
    node = started(cluster)
    create(node, topic, 1, 2)

    answer = node.ask(FindCoordinator(key, key_type), api_version=1)

    assert (answer.error, answer.node_id) == (ErrorCode.NONE, leader)
    assert answer.port > 0


@pytest.mark.parametrize("key_type", CoordinatorType)
def test_nobody_coordinates_before_the_topic_is_there(
    cluster: ServedCluster, key_type: CoordinatorType
) -> None:
    """Clients ask another node then, and brokers make the topic."""
    answer = started(cluster).ask(FindCoordinator("a", key_type), api_version=1)

    assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_what_nobody_coordinates_is_refused(cluster: ServedCluster) -> None:
    answer: FindCoordinatorAnswer = started(cluster).ask(FindCoordinator("a", 7), api_version=1)

    assert answer.error is ErrorCode.INVALID_REQUEST


def test_a_controller_has_neither_groups_nor_logs(cluster: ServedCluster) -> None:
    """Tools that ask all nodes get an answer from each."""
    node = started(cluster)

    assert node.ask(ListGroups()) == ListGroupsAnswer()
    assert node.ask(DescribeLogDirs()) == DescribeLogDirsAnswer()
