"""Logs that do not begin at 0, and a topic that was there before: what only real brokers show."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

from regent.errors import BadInput
from regent.model.ids import TopicPartition
from regent.model.log_requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    DeleteRecords,
    RecordsDeleted,
    RecordsToDelete,
)
from regent.testing import Cluster
from regent.testing.patient import PATIENCE_S, wait_for
from tests.chaos.reading import read_topics
from tests.node.moves import (
    BROKER,
    TOPIC,
    address_of,
    asked,
    create,
    fill,
    logs_on,
    offset_at,
    plan,
    replicas_of,
    set_config,
    typed,
)

BROKERS, PARTITIONS = 5, 24


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests; retention is looked after at once, and nobody is without a replica."""
    config = {"log.retention.check.interval.ms": 200, "default.replication.factor": BROKERS}
    with Cluster(brokers=BROKERS, config=config) as started:
        yield started


def offset(cluster: Cluster, name: TopicPartition, timestamp: int) -> int:
    """Patient with a leader that does not know yet that it is one."""
    return wait_for(lambda: offset_at(cluster, name, timestamp), f"an offset of {name}")


@pytest.mark.behaviour("rsg-012")
def test_the_high_watermark_of_an_emptied_log_never_falls_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A leader that began at 0 would hand out offsets that consumers have committed."""
    name = TopicPartition("emptied", 0)
    create(cluster, "emptied", "1")
    fill(cluster, [name], 500, size=10)
    with asked(cluster) as client:
        answer = client.ask_at(
            address_of(cluster, 1), DeleteRecords((RecordsToDelete(name, before_offset=-1),))
        )
    assert answer.results == (RecordsDeleted(name, low_watermark=500),)

    assert typed(cluster, "reassign", "start", plan(tmp_path / "1.json", {name: [2, 3]})) == 0
    told = set()

    def has_arrived() -> bool:
        told.add(offset_at(cluster, name, LATEST_TIMESTAMP))
        return replicas_of(cluster, "emptied") == [(2, 3)] and cluster.leader("emptied") == 2

    cluster.wait_until(has_arrived, "the move to be done")
    # None: from a leader that is one no more, or does not know of it yet.
    assert told <= {500, None}
    assert offset(cluster, name, LATEST_TIMESTAMP) == 500
    assert offset(cluster, name, EARLIEST_TIMESTAMP) == 500

    # Its follower has as much: it leads when it is the only one.
    alone = plan(tmp_path / "2.json", {name: [3]})
    assert typed(cluster, "reassign", "start", alone, "--wait") == 0
    assert cluster.leader("emptied") == 3
    assert offset(cluster, name, LATEST_TIMESTAMP) == 500
    assert offset(cluster, name, EARLIEST_TIMESTAMP) == 500


@pytest.mark.behaviour("rsg-054")
def test_logs_that_lost_their_beginning_are_moved_under_load(
    cluster: Cluster, tmp_path: Path
) -> None:
    """New replicas begin where their leader does, and no acknowledged record is missing."""
    names = [TopicPartition("trimmed", partition) for partition in range(PARTITIONS)]
    create(
        cluster,
        "trimmed",
        *(":".join(map(str, brokers_from(each.partition))) for each in names),
        config=("min.insync.replicas=3", "segment.bytes=20000", "retention.bytes=20000"),
    )
    fill(cluster, names, 6)
    cluster.wait_until(
        lambda: all(offset_at(cluster, name, EARLIEST_TIMESTAMP) for name in names),
        "old segments to be gone",
    )
    set_config(cluster, TOPIC("trimmed"), "retention.bytes", "-1")
    # Who answers this knows of what was set before: from here on nothing is deleted any more.
    for broker_id in cluster.broker_ids:
        set_config(cluster, BROKER(broker_id), "background.threads", "7")
    starts = {name: offset(cluster, name, EARLIEST_TIMESTAMP) for name in names}

    # Two replicas are new, and the leader is none of the old ones.
    targets = {
        name: [*brokers_from(name.partition + 3)[:2], *brokers_from(name.partition)[1:2]]
        for name in names
    }
    with load(cluster, "trimmed") as acknowledged:
        cluster.wait_until(lambda: len(acknowledged) > PARTITIONS, "the load to begin")
        file = plan(tmp_path / "plan.json", targets)
        assert typed(cluster, "reassign", "start", file, "--wait", "--interval-s", "0.2") == 0

    assert replicas_of(cluster, "trimmed") == [tuple(targets[name]) for name in names]
    assert [cluster.leader(*name) for name in names] == [targets[name][0] for name in names]
    assert {name: offset(cluster, name, EARLIEST_TIMESTAMP) for name in names} == starts
    read = read_topics(cluster.bootstrap, ("trimmed",), PARTITIONS)
    lost = {
        place
        for place, value in acknowledged.items()
        if read[TopicPartition("trimmed", place[0])].values.get(place[1]) != value
    }
    assert lost == set()


def brokers_from(first: int) -> list[int]:
    """Three in a row."""
    return [(first + step) % BROKERS + 1 for step in range(3)]


@contextmanager
def load(cluster: Cluster, topic: str) -> Iterator[dict[tuple[int, int], bytes]]:
    """A producer at work; by partition and offset what it was told is stored."""
    acknowledged: dict[tuple[int, int], bytes] = {}
    is_over = threading.Event()

    def stored(error: object, message: Message) -> None:
        partition, at, value = message.partition(), message.offset(), message.value()
        if error is None and partition is not None and at is not None and value is not None:
            acknowledged[partition, at] = value

    def produce() -> None:
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5})
        number = 0
        while not is_over.is_set():
            value = f"record {number}".encode()
            producer.produce(topic, value, partition=number % PARTITIONS, on_delivery=stored)
            producer.poll(0.002)
            number += 1
        assert producer.flush(PATIENCE_S) == 0

    worker = threading.Thread(target=produce)
    worker.start()
    try:
        yield acknowledged
    finally:
        is_over.set()
        worker.join()


@pytest.mark.behaviour("del-023")
def test_a_topic_that_was_deleted_is_made_again_by_writing_to_it(cluster: Cluster) -> None:
    """It begins anew, with a leader and without what was in the old one."""
    name = TopicPartition("again", 0)
    fill(cluster, [name], 3)
    assert typed(cluster, "topics", "delete", "again") == 0
    cluster.wait_until(lambda: is_gone(cluster, name), "the deletion")

    offsets: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for _ in range(2):
        producer.produce(
            "again", b"again", on_delivery=lambda error, at: offsets.append(error or at.offset())
        )
        assert producer.flush(PATIENCE_S) == 0

    assert offsets == [0, 1]
    assert cluster.leader("again") in cluster.broker_ids


def is_gone(cluster: Cluster, name: TopicPartition) -> bool:
    """Of ZooKeeper, and of every disk."""
    try:
        cluster.partition(*name)
    except BadInput:
        return not any(logs_on(cluster, each, name.topic) for each in cluster.broker_ids)
    return False
