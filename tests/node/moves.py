"""Moves on a real cluster, as a person types them, and what can be seen of them from outside."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from regent.cli.main import main
from regent.client.addresses import Address, parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster as Asked
from regent.client.config_changes import (
    alter_configs,
    broker_resource,
    describe_configs,
    topic_resource,
)
from regent.client.throttles import SET_BY_HAND
from regent.model.config_requests import (
    ConfigChange,
    ConfigChanges,
    ConfigOperation,
    ConfigQuestion,
    ConfigResource,
    ConfigResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.log_requests import (
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    OffsetQuestion,
)
from regent.testing import Cluster
from regent.testing.patient import PATIENCE_S

#: Small enough that a copy takes many of them.
BATCH_BYTES = 10_000


def typed(cluster: Cluster, *arguments: str) -> int:
    """The exit code of a command."""
    return main([*arguments, "--bootstrap", cluster.bootstrap])


def plan(file: Path, moves: Mapping[TopicPartition, list[int]]) -> str:
    """A file that moves partitions."""
    entries = [
        {"topic": name.topic, "partition": name.partition, "replicas": to}
        for name, to in moves.items()
    ]
    file.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(file)


def create(cluster: Cluster, topic: str, *replicas: str, config: tuple[str, ...] = ()) -> None:
    """A topic with one partition for each `1:2`."""
    count = len(replicas)
    options = [option for each in config for option in ("--config", each)]
    placed = ("--replica-assignment", ",".join(replicas))
    assert typed(cluster, "topics", "create", topic, *placed, *options) == 0
    cluster.wait_until(
        lambda: all(cluster._knows_leaders(each, topic, count) for each in cluster.broker_ids),
        f"all to know {topic}",
    )


def fill(
    cluster: Cluster,
    names: Sequence[TopicPartition],
    count: int,
    size: int = BATCH_BYTES - 200,
) -> None:
    """So many records for each partition, all of them stored; by default each is a batch."""
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.size": BATCH_BYTES}
    producer = Producer(settings)
    errors: list[object] = []
    for name in [*names] * count:
        producer.produce(
            name.topic,
            b"." * size,
            partition=name.partition,
            on_delivery=lambda error, _message: errors.append(error),
        )
    assert producer.flush(PATIENCE_S) == 0
    assert errors == [None] * len(names) * count


# --- looking --------------------------------------------------------------------------------------


@contextmanager
def asked(cluster: Cluster) -> Iterator[Asked]:
    """A client of our own."""
    with Asked(parse_bootstrap(cluster.bootstrap)) as client:
        yield client


def address_of(cluster: Cluster, broker_id: int) -> Address:
    (address,) = parse_bootstrap(cluster.broker(broker_id).address)
    return address


def replicas_of(cluster: Cluster, topic: str) -> list[tuple[int, ...]]:
    """The replicas of each partition, in their order."""
    with asked(cluster) as client:
        return [each.replicas for each in Admin(client).describe((topic,)).partitions()]


def configs_of(cluster: Cluster, *resources: ConfigResource) -> dict[str, dict[str, str | None]]:
    """What is set on each topic or broker by hand."""
    with asked(cluster) as client:
        brokers = client.look(()).brokers
        described = describe_configs(client, brokers, [ConfigQuestion(each) for each in resources])
    return {
        each.resource.name: {
            entry.name: entry.value
            for entry in each.entries
            if entry.source == SET_BY_HAND[each.resource.kind]
        }
        for each in described
    }


def set_config(cluster: Cluster, resource: ConfigResource, name: str, value: str) -> None:
    change = ConfigChanges(resource, (ConfigChange(name, ConfigOperation.SET, value),))
    with asked(cluster) as client:
        results = alter_configs(client, client.look(()).brokers, [change])
    assert results == [ConfigResult(resource)]


def logs_on(cluster: Cluster, broker_id: int, topic: str) -> dict[int, int]:
    """The size of each partition's log that a broker has."""
    with asked(cluster) as client:
        answer: DescribeLogDirsAnswer = client.ask_at(
            address_of(cluster, broker_id), DescribeLogDirs(None)
        )
    return {
        log.name.partition: log.size_bytes
        for log_dir in answer.log_dirs
        for log in log_dir.logs
        if log.name.topic == topic
    }


def offset_at(cluster: Cluster, name: TopicPartition, timestamp: int) -> int | None:
    """Where a log begins or what is committed of it, as its leader says; None if it has none."""
    leader = cluster.leader(name.topic, name.partition)
    with asked(cluster) as client:
        answer: ListOffsetsAnswer = client.ask_at(
            address_of(cluster, leader), ListOffsets((OffsetQuestion(name, timestamp),))
        )
    (found,) = answer.offsets
    return found.offset if found.error is ErrorCode.NONE else None


TOPIC = topic_resource
BROKER = broker_resource
