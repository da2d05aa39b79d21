"""The cluster as a node sees it that only looks: no watches, and no paths from strangers."""

from collections.abc import Sequence

from regent.model.ids import BrokerId
from regent.zookeeper import paths
from regent.zookeeper.cluster_reads import read_cluster
from regent.zookeeper.exchange import run
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import Answered, Create, GetMany, Request, SetData
from tests.unit.zookeeper.world import B1, FaultySession, World, leadership


def world_with_topics() -> World:
    world = World()
    world.add_topic("orders", leadership(), None)
    world.add_topic("gone", leadership())
    world.write(Create(paths.topic_deletion("gone")))
    return world


class Listening(FaultySession):
    """A session that keeps what it was asked."""

    def __init__(self, session: MemorySession, asked: list[Request]) -> None:
        super().__init__(session)
        self._asked = asked

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Pass on."""
        self._asked += requests
        return super().call(requests)


def test_all_that_a_client_may_see_is_there() -> None:
    known = run(world_with_topics().session, read_cluster(None))

    assert known.controller_id == B1
    assert list(known.topics) == ["orders"]
    led, unled = known.topics["orders"]
    assert (led.partition, led.leadership) == (0, leadership())
    assert (unled.partition, unled.leadership) == (1, None)


def test_no_watch_is_left_behind() -> None:
    """Whoever only answers a question does not want to hear of every change from then on."""
    world = world_with_topics()
    run(world.session, read_cluster(None))

    world.write(
        Create(paths.topic("new")),
        SetData(paths.topic("orders"), b""),
        SetData(paths.partition_state("orders", 0), b""),
        Create(paths.broker(7)),
        SetData(paths.CONTROLLER, b""),
    )

    assert world.events() == []


def test_only_names_that_are_listed_become_paths() -> None:
    """A name from outside may be anything, and a server closes the connection on a bad path."""
    world = world_with_topics()
    asked: list[Request] = []
    listening = Listening(world.session, asked)

    known = run(listening, read_cluster(("orders", "in/valid", "", "..", "orders/partitions")))

    assert list(known.topics) == ["orders"]
    looked_at = {path for each in asked if isinstance(each, GetMany) for path in each.paths}
    assert {path for path in looked_at if path.startswith("/brokers/topics")} == {
        paths.topic("orders"),
        paths.partition_state("orders", 0),
        paths.partition_state("orders", 1),
    }


def test_a_controller_that_cannot_be_read_is_none() -> None:
    world = World()
    world.write(SetData(paths.CONTROLLER, b"?"))

    known = run(world.session, read_cluster(()))

    assert known.controller_id is None
    assert known.brokers == {}
    assert BrokerId(1) not in known.controllers
