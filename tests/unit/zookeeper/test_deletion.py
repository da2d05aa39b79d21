"""Taking topics out of ZooKeeper: order, fences, races, and connections lost at every place."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    DeleteTopicMarkers,
    ListTopicDeletions,
    MarkTopicsForDeletion,
    RemoveTopics,
)
from regent.errors import ControllerMoved, SessionLost
from regent.zookeeper import deletion, paths
from regent.zookeeper.exchange import run
from regent.zookeeper.fencing import BATCH_OPS
from regent.zookeeper.performer import perform
from regent.zookeeper.store import (
    Answered,
    Create,
    Delete,
    GetChildren,
    Multi,
    Request,
    SetData,
)
from tests.unit.zookeeper.world import (
    Fault,
    FaultySession,
    World,
    leadership,
    run_with_interference,
)


@pytest.fixture
def world() -> World:
    """Topics t and u with their configs; t is half deleted already, and both are marked."""
    return filled(World())


def filled(world: World) -> World:
    world.add_topic("t", leadership(), None, leadership())
    world.add_topic("u", leadership())
    world.add_topic("kept", leadership())
    world.write(
        Create(paths.partition("t", 1)),
        *(Create(paths.topic_config(topic), b"{}") for topic in ("t", "u", "kept")),
        *(Create(paths.topic_deletion(topic)) for topic in ("t", "u")),
    )
    return world


def left_of(world: World, *topics: str) -> list[str]:
    """The znodes that name any of these topics."""
    return [path for path in world.contents() for topic in topics if f"/{topic}/" in f"{path}/"]


class Eavesdropper:
    """A session that tells what it is asked before it asks."""

    def __init__(self, world: World, listen: Callable[[Request], None]) -> None:
        self._session = world.session
        self._listen = listen
        self.session_id = world.session.session_id
        self.watch_events = world.session.watch_events
        self.close = world.session.close

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Pass on."""
        for request in requests:
            self._listen(request)
        return self._session.call(requests)


def deleted_paths(world: World, ask: Ask[Any]) -> list[str]:
    """What an ask deletes, in the order of the requests."""
    deleted: list[str] = []

    def note(request: Request) -> None:
        if isinstance(request, Multi):
            deleted.extend(op.path for op in request.ops if isinstance(op, Delete))

    run(Eavesdropper(world, note), perform(ask))
    return deleted


# --- removing -------------------------------------------------------------------------------------


@pytest.mark.requirement("T3")
@pytest.mark.behaviour("zk-025")
def test_a_topic_goes_from_the_leaves_up_then_its_config_then_its_marker(world: World) -> None:
    """As long as anything is left a successor finds the marker; missing znodes do not matter."""
    deleted = deleted_paths(world, RemoveTopics(world.fence, ("t", "ghost", "u")))

    assert deleted == [
        "/brokers/topics/t/partitions/0/state",
        "/brokers/topics/t/partitions/2/state",
        "/brokers/topics/u/partitions/0/state",
        "/brokers/topics/t/partitions/0",
        "/brokers/topics/t/partitions/1",
        "/brokers/topics/t/partitions/2",
        "/brokers/topics/u/partitions/0",
        "/brokers/topics/t/partitions",
        "/brokers/topics/u/partitions",
        "/brokers/topics/t",
        "/brokers/topics/u",
        "/config/topics/t",
        "/config/topics/u",
        "/admin/delete_topics/t",
        "/admin/delete_topics/u",
    ]
    assert left_of(world, "t", "u", "ghost") == []
    assert len(left_of(world, "kept")) == 5


def test_the_remains_of_a_topic_are_removed_without_it(world: World) -> None:
    """Somebody died when the topic's own znode had gone."""
    world.ask(RemoveTopics(world.fence, ("u",)))
    world.write(Create(paths.topic_config("u")), Create(paths.topic_deletion("u")))

    world.ask(RemoveTopics(world.fence, ("u",)))

    assert left_of(world, "u") == []


def test_what_is_added_while_a_topic_is_removed_goes_too(world: World) -> None:
    """At any moment: the parent that is not empty any more is looked at again."""
    total = len(list(calls_of(filled(World()))))

    for call in range(1, total - 4):
        world = filled(World())

        def interfere(world: World = world) -> None:
            if world.server.peek(paths.partitions("t")) is not None:
                world.write(Create(f"{paths.partitions('t')}/7"))

        exchange = perform(RemoveTopics(world.fence, ("t", "u")))
        run_with_interference(world.session, exchange, interfere, after=call)
        assert left_of(world, "t", "u") == [], f"added before call {call}"


def calls_of(world: World) -> list[int]:
    session = FaultySession(world.session)
    run(session, perform(RemoveTopics(world.fence, ("t", "u"))))
    return session.sizes


@pytest.mark.behaviour("zk-025")
def test_what_somebody_else_removes_is_as_good_as_removed(world: World) -> None:
    """An operator may be cleaning up at the same time."""
    state = paths.partition_state("t", 0)
    exchange = perform(RemoveTopics(world.fence, ("t", "u")))

    run_with_interference(world.session, exchange, lambda: world.write(Delete(state)), after=6)

    assert left_of(world, "t", "u") == []


def test_a_topic_that_is_written_to_for_ever_ends_the_session(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another controller may fare better; this one does not try without end."""
    monkeypatch.setattr(deletion, "RACES_MAX", 3)
    numbers = count()

    def interfere(request: Request) -> None:
        if isinstance(request, Multi):
            world.write(Create(f"{paths.topic('u')}/{next(numbers)}"))

    with pytest.raises(SessionLost, match="3 times in a row"):
        run(Eavesdropper(world, interfere), perform(RemoveTopics(world.fence, ("u",))))


def test_a_large_topic_keeps_to_the_bound_of_a_multi(world: World) -> None:
    """ZooKeeper refuses requests of more than a megabyte."""
    world.add_topic("large", *[leadership()] * (BATCH_OPS + 10))
    session = FaultySession(world.session)

    run(session, perform(RemoveTopics(world.fence, ("large",))))

    assert left_of(world, "large") == []
    # Two multis for the states and two for their parents; all else is one request for a level.
    assert session.sizes.count(2) == 2


def test_no_watch_is_left_on_what_is_removed(world: World) -> None:
    """The watches that matter are on the lists, and others set them."""
    asked: list[Request] = []

    run(Eavesdropper(world, asked.append), perform(RemoveTopics(world.fence, ("t",))))

    watched = [each.watch for each in asked if isinstance(each, GetChildren)]
    assert watched == [False, False, False, False]


# --- markers --------------------------------------------------------------------------------------


def test_topics_are_marked_whether_or_not_they_are_marked_already(world: World) -> None:
    """A marker is an empty znode, as Kafka's own tools make it."""
    world.ask(MarkTopicsForDeletion(world.fence, ("t", "kept")))

    assert world.ask(ListTopicDeletions()) == ("kept", "t", "u")
    assert world.server.dump()[paths.topic_deletion("kept")] == (None, 0)


@pytest.mark.behaviour("zk-025")
def test_markers_are_removed_whether_or_not_they_are_there(world: World) -> None:
    """And nothing else is touched."""
    before = len(left_of(world, "t", "u", "kept"))

    world.ask(DeleteTopicMarkers(world.fence, ("t", "ghost")))

    assert world.ask(ListTopicDeletions()) == ("u",)
    assert len(left_of(world, "t", "u", "kept")) == before - 1


# --- fences and lost connections ------------------------------------------------------------------

WRITES: dict[str, Callable[[World], Ask[Any]]] = {
    "remove": lambda world: RemoveTopics(world.fence, ("t", "ghost", "u")),
    "mark": lambda world: MarkTopicsForDeletion(world.fence, ("t", "kept", "new")),
    "unmark": lambda world: DeleteTopicMarkers(world.fence, ("ghost", "t", "u")),
}


@pytest.mark.behaviour("fov-003")
@pytest.mark.parametrize("kind", WRITES)
def test_a_deposed_controller_neither_marks_nor_deletes(world: World, kind: str) -> None:
    """However late it wakes."""
    world.write(SetData(paths.CONTROLLER_EPOCH, b"2"))
    before = world.server.dump()

    with pytest.raises(ControllerMoved):
        world.ask(WRITES[kind](world))

    assert world.server.dump() == before


def test_a_controller_deposed_in_the_middle_deletes_no_more(world: World) -> None:
    """Every single batch is fenced, not the first alone."""
    exchange = perform(RemoveTopics(world.fence, ("t", "u")))

    with pytest.raises(ControllerMoved):
        run_with_interference(
            world.session,
            exchange,
            lambda: world.write(SetData(paths.CONTROLLER_EPOCH, b"2")),
            after=8,
        )

    assert {paths.topic("t"), paths.topic_deletion("t")} <= set(left_of(world, "t"))


@pytest.mark.parametrize("kind", WRITES)
def test_a_lost_connection_changes_neither_answer_nor_outcome(kind: str) -> None:
    """At every request of every call, arrived or not."""
    calm = filled(World())
    counted = FaultySession(calm.session)
    run(counted, perform(WRITES[kind](calm)))

    for call, size in enumerate(counted.sizes):
        for position in range(size):
            for applied in (True, False):
                world = filled(World())
                session = FaultySession(world.session, Fault(call, position, applied))
                run(session, perform(WRITES[kind](world)))
                assert world.server.dump() == calm.server.dump()
