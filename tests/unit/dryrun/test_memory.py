"""The copied memory answers whatever the core may ask, and keeps the conditions of every write."""

from typing import Any

import pytest

from regent.core import asks
from regent.core.asks import Ask, Fence, LeadershipWrite, TopicRead, WriteFailure
from regent.core.events import TopicChanged, TopicDeletionsChanged, TopicsChanged
from regent.core.state import Partition
from regent.dryrun.loading import load_snapshot
from regent.dryrun.memory import ANSWERS, NOW_MS, CopiedMemory
from regent.errors import ControllerMoved
from regent.model.brokers import Broker, RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, ZkVersion
from tests.support.builders import assignment, leadership
from tests.unit.dryrun.builders import cluster, partition, topic


def memory() -> CopiedMemory:
    """One topic of two partitions, the second never led."""
    led = partition(0, 1, 2)
    return load_snapshot(cluster(topic("t", led, min_insync_replicas="2")))


def test_there_is_an_answer_to_every_ask() -> None:
    """A new ask of the core must have its place here."""
    kinds = [kind for kind in vars(asks).values() if isinstance(kind, type) and kind is not Ask]

    assert {kind for kind in kinds if issubclass(kind, Ask)} == set(ANSWERS)


def test_a_write_under_another_epoch_is_fenced() -> None:
    """As everywhere."""
    held = memory()
    stale = Fence(ControllerEpoch(99), ZkVersion(99))

    with pytest.raises(ControllerMoved):
        held.answer(asks.MarkTopicsForDeletion(stale, ("t",)))
    assert held.deletions == {}


def test_taking_office_raises_the_epoch_above_all_that_left_a_trace() -> None:
    """Otherwise the first write would look older than what it replaces."""
    traced = load_snapshot(cluster(topic("t", partition(0, 1))))
    traced.epoch = Fence(ControllerEpoch(41), ZkVersion(41))
    take = asks.TakeController(BrokerId(9), traced.epoch, NOW_MS)

    assert traced.answer(take) == Fence(ControllerEpoch(42), ZkVersion(42))
    assert traced.answer(asks.ReadController()) == BrokerId(9)
    assert traced.answer(take) is None


def test_leaderships_are_written_only_over_the_version_that_was_read() -> None:
    """Nobody races here; a core that forgot the version would still be noticed."""
    held = memory()
    known = Partition("t", 0, assignment(1, 2))
    never_led = Partition("t", 1, assignment(1, 2))
    unknown = Partition("u", 0, assignment(1, 2))

    def write(where: Partition, zk_version: int) -> LeadershipWrite:
        return LeadershipWrite(where, leadership(2, (2,), leader_epoch=1, zk_version=zk_version))

    writes = [write(known, 5), write(never_led, 0), write(unknown, 0), write(known, 0)]
    results = held.answer(asks.WriteLeaderships(held.epoch, writes))
    created = held.answer(
        asks.CreateLeaderships(held.epoch, [write(known, 0), write(never_led, 0)])
    )

    missing = WriteFailure.MISSING
    assert results == [WriteFailure.CONFLICT, missing, missing, 1]
    assert created == [WriteFailure.EXISTS, 0]
    assert held.answer(asks.ReadLeaderships([known, never_led])) == [
        leadership(2, (2,), leader_epoch=1, zk_version=1),
        leadership(2, (2,), leader_epoch=1, zk_version=0),
    ]


def test_writes_are_followed_by_what_watches_would_tell() -> None:
    """Each once, however often it happened: a watch that fired is quiet until somebody looks."""
    held = memory()
    write = asks.TopicWrite("t", "id-of-t", {0: assignment(1, 3)})

    failures = held.answer(asks.WriteTopics(held.epoch, (write, write)))
    missing = held.answer(asks.WriteTopics(held.epoch, (asks.TopicWrite("u", None, {}),)))
    held.answer(asks.MarkTopicsForDeletion(held.epoch, ("t",)))

    assert (failures, missing) == ((None, None), (WriteFailure.MISSING,))
    assert held.topics["t"] == TopicRead("id-of-t", {0: assignment(1, 3)})
    assert list(held.news) == [TopicChanged(NOW_MS, "t"), TopicDeletionsChanged(NOW_MS)]


def test_a_removed_topic_leaves_nothing() -> None:
    """The topic, its config, its leaderships and its marker."""
    held = memory()
    held.answer(asks.MarkTopicsForDeletion(held.epoch, ("t",)))
    held.news.clear()

    held.answer(asks.RemoveTopics(held.epoch, ("t",)))

    left: list[dict[str, Any]] = [held.topics, held.configs, held.leaderships, held.deletions]
    assert left == [{}, {}, {}, {}]
    assert list(held.news) == [TopicsChanged(NOW_MS), TopicDeletionsChanged(NOW_MS)]


def test_a_topic_is_created_once() -> None:
    """With its configs, and with nobody leading it."""
    held = memory()
    creation = asks.TopicCreation("u", "id", {0: assignment(1)}, {"a": "b"})
    ask = asks.CreateTopicZnodes(held.epoch, (creation,))

    assert held.answer(ask) == (None,)
    assert held.answer(ask) == (WriteFailure.EXISTS,)
    assert held.answer(asks.ReadTopicConfigs(("u",))) == {"u": {"a": "b"}}
    assert held.answer(asks.ReadLeaderships([Partition("u", 0, assignment(1))])) == [None]


def test_a_broker_comes_back_in_a_later_life_than_any() -> None:
    """The same broker with the same epoch would be the same life, and nothing would follow."""
    held = memory()
    held.lose_broker(BrokerId(3))
    held.bring_back(BrokerId(3))
    held.bring_back(BrokerId(8))

    assert held.brokers[BrokerId(3)] == RegisteredBroker(
        Broker(BrokerId(3), rack="odd"), BrokerEpoch(104)
    )
    assert held.brokers[BrokerId(8)] == RegisteredBroker(Broker(BrokerId(8)), BrokerEpoch(105))
