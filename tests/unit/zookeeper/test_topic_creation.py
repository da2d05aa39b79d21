"""Creating topics on the twin: both znodes or none, whoever else is at it."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from regent.core.asks import CreateTopicZnodes, TopicCreation, WriteFailure
from regent.errors import ControllerMoved
from regent.model.assignment import Assignment
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.fencing import ROUNDS_MAX
from regent.zookeeper.performer import perform
from regent.zookeeper.store import (
    Answered,
    Create,
    Failed,
    Multi,
    Request,
    SetData,
    ZkError,
)
from regent.zookeeper.znodes import encode_config, encode_topic
from tests.unit.zookeeper.world import B1, B2, Fault, FaultySession, World, run_with_interference

A = TypeVar("A")

ASSIGNED = {0: Assignment((B1, B2))}
CONFIG, TOPIC = paths.topic_config("t"), paths.topic("t")


@pytest.fixture
def world() -> World:
    return World()


def creation(topic: str = "t", **configs: str) -> TopicCreation:
    return TopicCreation(topic, f"id-of-{topic}", ASSIGNED, configs)


def stored(world: World, topic: str = "t") -> tuple[object, object]:
    """The config and the assignment of a topic, with their versions."""
    znodes = world.server.dump()
    return znodes.get(paths.topic_config(topic)), znodes.get(paths.topic(topic))


CREATED = (encode_config({"preallocate": "true"}), 0), (encode_topic("id-of-t", ASSIGNED), 0)


def ask_of(world: World, *creations: TopicCreation) -> CreateTopicZnodes:
    return CreateTopicZnodes(world.fence, creations or (creation(preallocate="true"),))


def test_a_topic_has_a_config_and_an_assignment(world: World) -> None:
    """The config znode is there even when nothing is configured."""
    results = world.ask(ask_of(world, creation(preallocate="true"), creation("u")))

    assert results == (None, None)
    assert stored(world) == CREATED
    assert stored(world, "u") == ((encode_config({}), 0), (encode_topic("id-of-u", ASSIGNED), 0))


def test_a_config_that_is_left_over_is_replaced(world: World) -> None:
    """Of an earlier topic with this name, whose removal was interrupted."""
    world.write(Create(CONFIG, encode_config({"retention.ms": "1"})))

    assert world.ask(ask_of(world)) == (None,)
    assert stored(world) == ((CREATED[0][0], 1), CREATED[1])


@pytest.mark.behaviour("int-045")
@pytest.mark.parametrize("after", range(4))
def test_of_two_creators_one_wins_and_its_topic_is_whole(world: World, after: int) -> None:
    """Whenever the other one comes, config and assignment are from the same hand."""
    theirs = encode_config({"retention.ms": "1"}), encode_topic("theirs", ASSIGNED)

    def interfere() -> None:
        if world.server.peek(TOPIC) is None:
            world.write(Multi((Create(CONFIG, theirs[0]), Create(TOPIC, theirs[1]))))

    result = run_with_interference(world.session, perform(ask_of(world)), interfere, after=after)

    won = result == (None,)
    assert won is (after == 3)
    assert stored(world) == (CREATED if won else ((theirs[0], 0), (theirs[1], 0)))
    assert won or result == (WriteFailure.EXISTS,)


def test_a_topic_that_exists_does_not_keep_the_others_from_being_created(world: World) -> None:
    """And its config is not touched."""
    world.add_topic("t")

    results = world.ask(ask_of(world, creation(preallocate="true"), creation("u")))

    assert results == (WriteFailure.EXISTS, None)
    assert stored(world)[0] is None


def test_a_deposed_controller_creates_nothing(world: World) -> None:
    """Neither the topic nor a config for it."""
    world.write(SetData(paths.CONTROLLER_EPOCH, b"2"))
    before = world.contents()

    with pytest.raises(ControllerMoved):
        world.ask(ask_of(world))

    assert world.contents() == before


@pytest.mark.parametrize("call", range(3))
@pytest.mark.parametrize("applied", [False, True])
def test_a_connection_lost_anywhere_changes_nothing_in_the_end(
    world: World, call: int, *, applied: bool
) -> None:
    """What our own hand has made before the loss is known again."""
    session = FaultySession(world.session, Fault(call, 0, applied))

    assert run(session, perform(ask_of(world))) == (None,)
    assert stored(world) == CREATED


def finish(exchange: Exchange[A], answer: Callable[[Sequence[Request]], Sequence[Answered]]) -> A:
    """Drive an exchange by hand, to its end."""
    try:
        requests = next(exchange)
        while True:
            requests = exchange.send(answer(requests))
    except StopIteration as end:
        result: A = end.value
        return result


def test_a_topic_that_another_made_during_a_loss_is_not_taken_for_ours(world: World) -> None:
    """Only our own content, untouched, proves our own hand."""
    session = FaultySession(world.session, Fault(2, 0, applied=False))

    def answer(requests: Sequence[Request]) -> Sequence[Answered]:
        replies = session.call(requests)
        if isinstance(requests[0], Multi):
            world.write(Create(TOPIC, encode_topic("theirs", ASSIGNED)))
        return replies

    assert finish(perform(ask_of(world)), answer) == (WriteFailure.EXISTS,)


def test_a_connection_that_never_holds_is_given_up(world: World) -> None:
    """Every loop has a bound: what is still open then is a conflict."""
    lost: list[Request] = []

    def answer(requests: Sequence[Request]) -> Sequence[Answered]:
        if isinstance(requests[0], Multi):
            lost.append(requests[0])
            return [Failed(ZkError.CONNECTION_LOSS)]
        return world.session.call(requests)

    assert finish(perform(ask_of(world)), answer) == (WriteFailure.CONFLICT,)
    assert len(lost) == ROUNDS_MAX
