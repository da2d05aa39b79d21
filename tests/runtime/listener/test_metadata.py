"""What clients are told of the cluster, by the controller and by those that stand by."""

import pytest

from regent.core.config import ControllerConfig
from regent.model.admin_requests import CreateTopics, DeleteTopics, NewTopic
from regent.model.brokers import Broker, Endpoint
from regent.model.cluster_requests import (
    DescribeCluster,
    DescribeClusterAnswer,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, LeaderEpoch
from regent.runtime.apis import k03_metadata
from regent.zookeeper import paths
from regent.zookeeper.store import Create, SetData
from regent.zookeeper.znodes import encode_topic
from tests.runtime.listener.memory_desk import CLUSTER_ID
from tests.runtime.listener.served_node import HOST, ServedCluster, ServedNode
from tests.support.builders import assignment, ids

B1, B2, B3 = ids(1, 2, 3)
PATIENT = 10_000


def created(cluster: ServedCluster, *topics: NewTopic) -> ServedNode:
    """A controller with three brokers and these topics."""
    node = cluster.serve()
    cluster.start_brokers(1, 2, 3)
    if topics:
        answer = node.ask(CreateTopics(topics), timeout_ms=PATIENT)
        assert [result.error for result in answer.results] == [ErrorCode.NONE] * len(topics)
    return node


def on(topic: str, *replica_lists: tuple[BrokerId, ...]) -> NewTopic:
    return NewTopic(topic, assignments=tuple(enumerate(replica_lists)))


def topics_of(answer: MetadataAnswer) -> dict[str, TopicDescription]:
    return {each.topic: each for each in answer.topics}


@pytest.mark.requirement("K1")
def test_the_whole_cluster_is_told(cluster: ServedCluster) -> None:
    node = created(cluster, on("orders", (B1, B2)), on("__consumer_offsets", (B3,)))

    request = Metadata(("orders", "__consumer_offsets"), with_cluster_operations=True)
    told = node.ask(request)

    ports = [each.port for each in cluster.nodes]
    assert told == MetadataAnswer(
        nodes=(
            *(NodeAddress(BrokerId(i), HOST, ports[i]) for i in (1, 2, 3)),
            NodeAddress(BrokerId(100), HOST, ports[0]),
        ),
        cluster_id=CLUSTER_ID,
        controller_id=BrokerId(100),
        topics=(
            TopicDescription(
                "orders",
                partitions=(
                    PartitionDescription(
                        0, leader=B1, leader_epoch=LeaderEpoch(0), replicas=(B1, B2), isr=(B1, B2)
                    ),
                ),
            ),
            TopicDescription(
                "__consumer_offsets",
                is_internal=True,
                partitions=(
                    PartitionDescription(
                        0, leader=B3, leader_epoch=LeaderEpoch(0), replicas=(B3,), isr=(B3,)
                    ),
                ),
            ),
        ),
        cluster_operations=0b1_1111_1010_0000,
    )


@pytest.mark.parametrize("version", range(9))
def test_every_version_is_understood(cluster: ServedCluster, version: int) -> None:
    node = created(cluster, on("orders", (B1, B2)))

    told = node.ask(Metadata(), api_version=version)

    (topic,) = told.topics
    (partition,) = topic.partitions
    assert (topic.topic, partition.leader, partition.isr) == ("orders", B1, (B1, B2))


def test_topics_that_are_not_there_are_told_one_by_one(cluster: ServedCluster) -> None:
    """And are not created, though the request allows it."""
    node = created(cluster, on("orders", (B1,)))

    told = node.ask(Metadata(("nothing", "orders", "in/valid", "nothing")))

    assert [(each.topic, each.error) for each in told.topics] == [
        ("nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", ErrorCode.NONE),
        ("in/valid", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]
    assert list(topics_of(node.ask(Metadata()))) == ["orders"]


def test_no_topics_are_none(cluster: ServedCluster) -> None:
    node = created(cluster, on("orders", (B1,)))

    assert node.ask(Metadata(())).topics == ()


def test_a_dead_broker_shows(cluster: ServedCluster) -> None:
    """Partitions that only it had have no leader, and others go on without it."""
    node = created(cluster, on("safe", (B3, B1)), on("lost", (B3,)))

    cluster.stop_broker(3)

    told = node.ask(Metadata())
    topics = topics_of(told)
    assert [each.node_id for each in told.nodes] == [1, 2, 100]
    assert topics["safe"].partitions[0] == PartitionDescription(
        0,
        leader=B1,
        leader_epoch=LeaderEpoch(1),
        replicas=(B3, B1),
        isr=(B1,),
        offline_replicas=(B3,),
    )
    assert topics["lost"].partitions[0] == PartitionDescription(
        0,
        ErrorCode.LEADER_NOT_AVAILABLE,
        NO_LEADER,
        LeaderEpoch(1),
        replicas=(B3,),
        isr=(B3,),
        offline_replicas=(B3,),
    )


def test_the_oldest_clients_are_not_told_of_brokers_that_are_away(cluster: ServedCluster) -> None:
    """They look every one of them up in the list of nodes."""
    node = created(cluster, on("safe", (B3, B1)))
    cluster.stop_broker(3)

    (topic,) = node.ask(Metadata(), api_version=0).topics

    assert topic.partitions[0] == PartitionDescription(
        0, ErrorCode.REPLICA_NOT_AVAILABLE, B1, replicas=(B1,), isr=(B1,)
    )


@pytest.mark.parametrize(
    ("version", "error"), [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)]
)
def test_a_leader_that_plain_clients_cannot_reach_is_none(
    cluster: ServedCluster, version: int, error: ErrorCode
) -> None:
    node = created(cluster)
    safe = Endpoint("safe.example", 9093, "SAFE", "SASL_SSL")
    cluster.start_broker(Broker(BrokerId(4), (safe,)))
    node.ask(CreateTopics((on("orders", (BrokerId(4),)),)), timeout_ms=PATIENT)

    told = node.ask(Metadata(), api_version=version)

    assert BrokerId(4) not in [each.node_id for each in told.nodes]
    partition = told.topics[0].partitions[0]
    assert (partition.leader, partition.error) == (NO_LEADER, error)


def test_of_several_listeners_the_one_called_like_ours_is_told(cluster: ServedCluster) -> None:
    node = created(cluster)
    inside = Endpoint("inside.example", 1, "INSIDE")
    ours = Endpoint("ours.example", 2, "PLAINTEXT")
    cluster.start_broker(Broker(BrokerId(4), (inside, ours), rack="r1"))
    cluster.start_broker(Broker(BrokerId(5), (inside,)))

    nodes = {each.node_id: each for each in node.ask(Metadata()).nodes}

    assert nodes[BrokerId(4)] == NodeAddress(BrokerId(4), "ours.example", 2, "r1")
    assert nodes[BrokerId(5)].host == "inside.example"


def test_a_topic_that_nobody_has_led_yet_has_no_leader(cluster: ServedCluster) -> None:
    """A tool assigned it to a broker that is not there; brokers would not know it at all."""
    node = created(cluster)
    content = encode_topic(None, {0: assignment(9)})
    node.do(lambda: node.desk.session.call((Create(paths.topic("early"), content),)))
    cluster.settle()

    (topic,) = node.ask(Metadata(("early",))).topics

    assert topic.partitions == (
        PartitionDescription(
            0,
            ErrorCode.LEADER_NOT_AVAILABLE,
            replicas=(BrokerId(9),),
            offline_replicas=(BrokerId(9),),
        ),
    )


def test_a_replica_in_a_failed_directory_is_offline(cluster: ServedCluster) -> None:
    node = created(cluster, on("orders", (B1, B2)))
    partition = node.desk.state.partition("orders", 0)
    assert partition is not None
    node.desk.state.offline_dirs[B2] = {partition: None}

    (topic,) = node.ask(Metadata()).topics

    assert topic.partitions[0].offline_replicas == (B2,)


def test_a_topic_that_is_being_deleted_is_gone(cluster: ServedCluster) -> None:
    """Even if its deletion cannot end, because a broker that has some of it is away."""
    node = created(cluster, on("orders", (B1, B3)))
    cluster.stop_broker(3)
    node.ask(DeleteTopics(("orders",)), timeout_ms=PATIENT)

    assert node.ask(Metadata()).topics == ()
    (named,) = node.ask(Metadata(("orders",))).topics
    assert named.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.requirement("K1")
def test_a_standby_tells_what_the_controller_tells(cluster: ServedCluster) -> None:
    """It has no state, and reads; a client cannot tell the difference."""
    node = created(cluster, on("orders", (B1, B2), (B2, B3)), on("lost", (B3,)), on("gone", (B3,)))
    standby = cluster.serve(101)
    cluster.stop_broker(3)
    node.ask(DeleteTopics(("gone",)), timeout_ms=PATIENT)

    for request in (Metadata(), Metadata(("orders", "gone", "nothing", "in/valid")), Metadata(())):
        told, also_told = node.ask(request), standby.ask(request)
        assert topics_of(told) == topics_of(also_told)
        assert (told.nodes, told.controller_id) == (also_told.nodes, also_told.controller_id)


def test_without_a_controller_a_standby_still_tells_of_the_brokers(cluster: ServedCluster) -> None:
    node = created(cluster)
    node.desk.is_deaf = True
    for each in cluster.nodes:
        each.desk.is_deaf = True
    node.do(node.desk.lose_session)

    told = cluster.nodes[1].ask(Metadata())

    assert (told.controller_id, [each.node_id for each in told.nodes]) == (-1, [1, 2, 3])


def test_what_a_standby_cannot_read_it_leaves_out(cluster: ServedCluster) -> None:
    created(cluster, on("orders", (B1,)), on("broken", (B1,)), on("stateless", (B1,)))
    standby = cluster.serve(101)
    bad = (
        SetData(paths.topic("broken"), b"not JSON"),
        SetData(paths.partition_state("stateless", 0), b"not JSON"),
        Create(paths.broker(7), b"not JSON"),
        Create("/regent/controllers/9", b"not JSON"),
    )
    standby.do(lambda: standby.desk.session.call(bad))

    told = standby.ask(Metadata())

    assert [each.node_id for each in told.nodes] == [1, 2, 3, 100]
    assert sorted(topics_of(told)) == ["orders", "stateless"]
    assert topics_of(told)["stateless"].partitions[0].error is ErrorCode.LEADER_NOT_AVAILABLE


def test_a_large_answer_is_made_in_turns(
    cluster: ServedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, whatever the size of a turn."""
    node = created(cluster, *(NewTopic(f"t{number}", 4, 2) for number in range(10)))
    whole = node.ask(Metadata())
    monkeypatch.setattr(k03_metadata, "TURN_PARTITIONS", 3)

    assert node.ask(Metadata()) == whole
    assert len(whole.topics) == 10


@pytest.mark.parametrize("version", [0, 1])
def test_the_cluster_is_told_without_its_topics(cluster: ServedCluster, version: int) -> None:
    node = created(cluster)

    told = node.ask(DescribeCluster(with_operations=True), api_version=version)

    assert told == DescribeClusterAnswer(
        cluster_id=CLUSTER_ID,
        controller_id=BrokerId(100),
        nodes=node.ask(Metadata(())).nodes,
        operations=0b1_1111_1010_0000,
    )


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_there_are_no_controllers_of_kraft_to_describe(
    cluster: ServedCluster, endpoint_type: int, error: ErrorCode
) -> None:
    node = created(cluster)

    told = node.ask(DescribeCluster(endpoint_type=endpoint_type))

    assert (told.error, told.endpoint_type, told.nodes) == (error, endpoint_type, ())


def test_a_cluster_without_a_name_is_told_too(cluster: ServedCluster) -> None:
    """`/cluster/id` is made by the first broker; there may be none yet."""
    node = cluster.serve(config=ControllerConfig())
    node.desk.cluster_id = None

    assert node.ask(Metadata()).cluster_id is None
    assert node.ask(DescribeCluster()).cluster_id == ""
