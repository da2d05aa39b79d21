"""The exchanges behind the listener, on a real ZooKeeper: multis with checks and sequences."""

from collections.abc import Iterator

import pytest

from regent.model.brokers import Endpoint
from regent.model.cluster_requests import NodeAddress
from regent.model.ids import BrokerId, ControllerEpoch
from regent.zookeeper import paths
from regent.zookeeper.cluster_reads import read_cluster
from regent.zookeeper.config_writes import change_config
from regent.zookeeper.config_znodes import broker_entity, read_configs, topic_entity
from regent.zookeeper.controller_znodes import register_controller
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.producer_ids import take_producer_ids
from regent.zookeeper.store import Children, Create, Done, GetChildren
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import (
    encode_controller,
    encode_controller_epoch,
    encode_leadership,
    encode_topic,
)
from tests.support.builders import assignment, leadership

NODE = BrokerId(100)


@pytest.fixture
def session(zookeeper_options: ZooKeeperOptions) -> Iterator[KazooSession]:
    """A session in a cluster with a controller and one topic."""
    opened = KazooSession.open(
        zookeeper_options, on_watch=lambda _event: None, on_state=lambda _state: None
    )
    run(opened, ensure_paths())
    made = (
        Create(paths.CONTROLLER, encode_controller(NODE, 0), ephemeral=True),
        Create(paths.CONTROLLER_EPOCH, encode_controller_epoch(ControllerEpoch(1))),
        Create(paths.topic("orders"), encode_topic(None, {0: assignment(1, 2)})),
        Create(paths.partitions("orders")),
        Create(paths.partition("orders", 0)),
        Create(paths.partition_state("orders", 0), encode_leadership(leadership(1, (1, 2)))),
    )
    assert all(isinstance(reply, Done) for reply in opened.call(made))
    yield opened
    opened.close()


def test_configs_are_changed_and_announced(session: KazooSession) -> None:
    orders, brokers = topic_entity("orders"), broker_entity(None)

    for entity in (orders, brokers, orders):
        assert run(session, change_config(entity, lambda now: {**now, "retention.ms": "1"})) is None

    read = run(session, read_configs((orders, brokers, topic_entity("nothing"))))
    assert read == {
        orders: {"retention.ms": "1"},
        brokers: {"retention.ms": "1"},
        "topics/nothing": None,
    }
    (reply,) = session.call((GetChildren(paths.CONFIG_CHANGES),))
    assert isinstance(reply, Children)
    assert reply.names == tuple(f"config_change_{number:010}" for number in range(3))


def test_the_cluster_is_read_as_it_is(session: KazooSession) -> None:
    run(
        session,
        register_controller(
            NODE,
            Endpoint("one.example", 9092),
            session_id=session.session_id,
            previous_session_id=None,
        ),
    )

    known = run(session, read_cluster(None))

    assert known.controller_id == NODE
    assert known.controllers == {NODE: NodeAddress(NODE, "one.example", 9092)}
    (partition,) = known.topics["orders"]
    assert partition.leadership == leadership(1, (1, 2))


def test_producer_ids_do_not_repeat(session: KazooSession) -> None:
    blocks = [run(session, take_producer_ids(BrokerId(1))) for _ in range(3)]

    assert [block.first_id for block in blocks] == [0, 1000, 2000]
