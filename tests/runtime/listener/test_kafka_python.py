"""kafka-python's admin client, unmodified, against a node that leads."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.runtime.listener.clients import kafka_python, kafka_python_admin, kafka_python_errors
from tests.runtime.listener.served_node import ServedCluster

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")

KafkaAdminClient = kafka_python.KafkaAdminClient
TopicPartition = kafka_python.TopicPartition
ConfigResource = kafka_python_admin.ConfigResource
ConfigResourceType = kafka_python_admin.ConfigResourceType
NewPartitions = kafka_python_admin.NewPartitions
NewTopic = kafka_python_admin.NewTopic
PREFERRED = 0
ORDERS = ConfigResource(ConfigResourceType.TOPIC, "orders")


@pytest.fixture
def admin(cluster: ServedCluster) -> Iterator[Any]:
    """A client of a controller with three brokers."""
    logging.getLogger("kafka").setLevel(logging.ERROR)
    node = cluster.serve()
    cluster.start_brokers(1, 2, 3)
    client = KafkaAdminClient(bootstrap_servers=node.address)
    yield client
    client.close()


def partitions_of(admin: Any, topic: str) -> dict[int, tuple[int, list[int], list[int]]]:
    """By partition: the leader, the replicas, the ISR."""
    (described,) = admin.describe_topics([topic])
    return {
        each["partition_index"]: (each["leader_id"], each["replica_nodes"], each["isr_nodes"])
        for each in described["partitions"]
    }


@pytest.mark.requirement("K1")
def test_the_controller_is_among_the_nodes(admin: Any) -> None:
    """A client looks for it there to send it what only a controller can do."""
    described = admin.describe_cluster()

    assert described["controller_id"] == 100
    assert [node["broker_id"] for node in described["brokers"]] == [1, 2, 3, 100]


@pytest.mark.requirement("K1")
def test_a_topic_is_created_grown_and_deleted(admin: Any) -> None:
    admin.create_topics([NewTopic("orders", 2, 2)])
    assert partitions_of(admin, "orders") == {0: (1, [1, 2], [1, 2]), 1: (2, [2, 3], [2, 3])}

    admin.create_partitions({"orders": NewPartitions(3)})
    assert list(partitions_of(admin, "orders")) == [0, 1, 2]

    admin.delete_topics(["orders"])
    assert admin.list_topics() == []


@pytest.mark.requirement("K1")
def test_refusals_are_the_clients_own_exceptions(admin: Any) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)])

    with pytest.raises(kafka_python_errors.TopicAlreadyExistsError):
        admin.create_topics([NewTopic("orders", 1, 1)])
    with pytest.raises(kafka_python_errors.UnknownTopicOrPartitionError):
        admin.delete_topics(["nothing"])


@pytest.mark.requirement("K1")
def test_partitions_are_moved(cluster: ServedCluster, admin: Any) -> None:
    """A move that cannot end yet is listed, and gone from the list when it has."""
    admin.create_topics([NewTopic("orders", 1, 2)])
    first = TopicPartition("orders", 0)
    desk = cluster.nodes[0].desk
    desk.is_lagging = True

    assert admin.alter_partition_reassignments({first: [3, 1]}) == {first: None}
    (moving,) = admin.list_partition_reassignments().values()
    assert (moving["adding_replicas"], moving["removing_replicas"]) == ([3], [2])

    desk.is_lagging = False
    admin.alter_partition_reassignments({first: None})
    admin.alter_partition_reassignments({first: [3, 1]})
    assert admin.list_partition_reassignments() == {}
    assert partitions_of(admin, "orders") == {0: (1, [3, 1], [3, 1])}


@pytest.mark.requirement("K1")
def test_preferred_leaders_are_elected(admin: Any) -> None:
    admin.create_topics([NewTopic("orders", 1, 2)])
    first = TopicPartition("orders", 0)
    admin.alter_partition_reassignments({first: [2, 1]})
    assert partitions_of(admin, "orders")[0][0] == 1

    admin.elect_leaders(PREFERRED, {"orders": [0]})

    assert partitions_of(admin, "orders")[0][0] == 2


@pytest.mark.requirement("K1")
def test_configs_are_altered_and_described(admin: Any) -> None:
    admin.create_topics([NewTopic("orders", 1, 1)])

    admin.alter_configs(
        [ConfigResource(ConfigResourceType.TOPIC, "orders", {"retention.ms": "1000"})]
    )

    modified = admin.describe_configs([ORDERS])["topic"]["orders"]
    assert {name: entry["value"] for name, entry in modified.items()} == {"retention.ms": "1000"}
    everything = admin.describe_configs([ORDERS], config_filter="all")["topic"]["orders"]
    assert everything["cleanup.policy"]["value"] == "delete"


@pytest.mark.requirement("K1")
def test_a_client_of_a_standby_finds_the_controller(cluster: ServedCluster, admin: Any) -> None:
    """It hears from the standby where the one in office listens, though that is no broker."""
    assert admin.list_topics() == []
    standby = cluster.serve(101)
    other = KafkaAdminClient(bootstrap_servers=standby.address)
    try:
        other.create_topics([NewTopic("orders", 1, 1)])
        assert partitions_of(other, "orders") == {0: (1, [1], [1])}
    finally:
        other.close()
