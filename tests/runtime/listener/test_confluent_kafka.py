"""confluent-kafka's admin client (librdkafka), unmodified, against a node that leads."""

from concurrent.futures import Future
from typing import Any

import pytest

from tests.runtime.listener.clients import confluent, confluent_admin
from tests.runtime.listener.served_node import PATIENCE_S, ServedCluster

AlterConfigOpType = confluent_admin.AlterConfigOpType
ConfigEntry = confluent_admin.ConfigEntry
ConfigResource = confluent_admin.ConfigResource
NewPartitions = confluent_admin.NewPartitions
NewTopic = confluent_admin.NewTopic
TOPIC, BROKER = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER


@pytest.fixture
def admin(cluster: ServedCluster) -> Any:
    """A client of a controller with three brokers."""
    node = cluster.serve()
    cluster.start_brokers(1, 2, 3)
    return confluent_admin.AdminClient({"bootstrap.servers": node.address, "log_level": 0})


def only(futures: dict[Any, "Future[Any]"]) -> Any:
    """The one result of a request."""
    (future,) = futures.values()
    return future.result(PATIENCE_S)


def alteration(kind: Any, name: str, *changes: tuple[str, str | None, Any]) -> Any:
    entries = [ConfigEntry(n, v, incremental_operation=operation) for n, v, operation in changes]
    return ConfigResource(kind, name, incremental_configs=entries)


@pytest.mark.requirement("K1")
def test_the_cluster_is_described(admin: Any) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(PATIENCE_S)

    assert described.controller.id == 100
    assert sorted(node.id for node in described.nodes) == [1, 2, 3, 100]
    assert described.authorized_operations


@pytest.mark.requirement("K1")
def test_a_topic_is_created_grown_and_deleted(admin: Any) -> None:
    only(admin.create_topics([NewTopic("orders", 2, 2, config={"retention.ms": "1000"})]))
    described = only(admin.describe_topics(confluent.TopicCollection(["orders"])))
    assert [(each.id, each.leader.id) for each in described.partitions] == [(0, 1), (1, 2)]

    only(admin.create_partitions([NewPartitions("orders", 4)]))
    assert len(admin.list_topics("orders", PATIENCE_S).topics["orders"].partitions) == 4

    only(admin.delete_topics(["orders"]))
    assert admin.list_topics(timeout=PATIENCE_S).topics == {}


@pytest.mark.requirement("K1")
def test_a_refusal_says_why(admin: Any) -> None:
    with pytest.raises(confluent.KafkaException, match="INVALID_REPLICATION_FACTOR"):
        only(admin.create_topics([NewTopic("orders", 1, 4)]))


@pytest.mark.requirement("K1")
def test_leaders_are_elected(admin: Any) -> None:
    only(admin.create_topics([NewTopic("orders", 1, 2)]))

    results = admin.elect_leaders(
        confluent.ElectionType.PREFERRED, [confluent.TopicPartition("orders", 0)]
    )

    (refusal,) = results.result(PATIENCE_S).values()
    assert refusal.name() == "ELECTION_NOT_NEEDED"


@pytest.mark.requirement("K1")
def test_configs_are_altered_bit_by_bit(admin: Any) -> None:
    only(admin.create_topics([NewTopic("orders", 1, 1)]))

    wish = alteration(
        TOPIC,
        "orders",
        ("retention.ms", "1000", AlterConfigOpType.SET),
        ("cleanup.policy", "compact", AlterConfigOpType.APPEND),
    )
    only(admin.incremental_alter_configs([wish]))

    configs = only(admin.describe_configs([ConfigResource(TOPIC, "orders")]))
    assert configs["retention.ms"].value == "1000"
    assert configs["cleanup.policy"].value == "delete,compact"
    assert list(configs["retention.ms"].synonyms) == ["retention.ms", "log.retention.ms"]

    wish = alteration(TOPIC, "orders", ("retention.ms", None, AlterConfigOpType.DELETE))
    only(admin.incremental_alter_configs([wish]))
    configs = only(admin.describe_configs([ConfigResource(TOPIC, "orders")]))
    assert configs["retention.ms"].is_default


@pytest.mark.requirement("K1")
def test_a_value_that_cannot_be_is_refused(admin: Any) -> None:
    only(admin.create_topics([NewTopic("orders", 1, 1)]))
    wish = alteration(TOPIC, "orders", ("retention.ms", "never", AlterConfigOpType.SET))

    with pytest.raises(confluent.KafkaException, match=r"retention\.ms cannot be 'never'"):
        only(admin.incremental_alter_configs([wish]))


@pytest.mark.requirement("K1")
def test_brokers_are_configured(admin: Any) -> None:
    """Librdkafka asks the broker that it is about, so here the controller is asked of itself."""
    wish = alteration(BROKER, "100", ("log.retention.ms", "1000", AlterConfigOpType.SET))
    only(admin.incremental_alter_configs([wish]))

    configs = only(admin.describe_configs([ConfigResource(BROKER, "100")]))

    assert {name: entry.value for name, entry in configs.items()} == {"log.retention.ms": "1000"}
