"""Snapshots taken from a ZooKeeper hold what a controller would read there."""

from typing import Any

from regent.core.asks import Ask
from regent.dryrun.capture import capture
from regent.dryrun.snapshot import (
    SNAPSHOT_VERSION,
    Snapshot,
    SnapshotBroker,
    SnapshotEndpoint,
    SnapshotLeadership,
    SnapshotPartition,
    SnapshotTopic,
)
from regent.zookeeper import paths
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Create, SetData
from tests.support.interrupted import Ground


def taken(ground: Ground) -> tuple[Snapshot, tuple[str, ...]]:
    """A snapshot, read through the real performers."""

    def answer(ask: Ask[Any]) -> Any:
        return run_exchange(ground.operator, perform(ask))

    return capture(answer)


def test_a_snapshot_has_all_that_a_controller_would_read() -> None:
    """Brokers, topics with their configs, leaderships, and what is marked for deletion."""
    ground = Ground()
    ground.register(1)
    ground.write_topic("t", (1,), min_insync_replicas="1")
    ground.controller(9).stand()
    ground.write_topic("u", (2, 1))
    ground.operator.call([Create(f"{paths.TOPIC_DELETIONS}/u", None)])

    snapshot, left_out = taken(ground)

    (broker,) = snapshot.brokers
    led = SnapshotLeadership(1, (1,), controller_epoch=1)
    assert left_out == ()
    assert snapshot == Snapshot(
        SNAPSHOT_VERSION,
        (SnapshotBroker(1, None, broker.epoch, (SnapshotEndpoint("127.0.0.1", 9001),)),),
        (
            SnapshotTopic(
                "t",
                (SnapshotPartition(0, (1,), (), (), led),),
                "id-t",
                {"min.insync.replicas": "1"},
            ),
            SnapshotTopic("u", (SnapshotPartition(0, (2, 1)),), "id-u", {}, deleting=True),
        ),
    )
    assert broker.epoch > 0


def test_what_cannot_be_read_is_left_out_and_named() -> None:
    """A snapshot of the rest is better than none, as long as it says so."""
    ground = Ground()
    ground.register(1)
    ground.write_topic("bad", (1,))
    ground.write_topic("good", (1,))
    ground.operator.call([SetData(paths.topic("bad"), b"{")])

    snapshot, left_out = taken(ground)

    assert [topic.name for topic in snapshot.topics] == ["good"]
    (complaint,) = left_out
    assert complaint.startswith("/brokers/topics/bad: ")
