"""`/admin/reassign_partitions`: what it says, and who may change it."""

import msgspec
import pytest

from regent.core.asks import (
    Fence,
    Malformed,
    ReadReassignmentZnode,
    WatchLeaderships,
    WriteReassignmentZnode,
)
from regent.errors import ControllerMoved, CorruptZnode
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.performer import perform
from regent.zookeeper.reassignment_znode import decode_reassignments, encode_reassignments
from regent.zookeeper.store import Create, Delete, SetData
from regent.zookeeper.watches import event_for
from tests.unit.zookeeper.world import Fault, FaultySession, World, leadership

PATH = "/admin/reassign_partitions"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def to(*replicas: int) -> tuple[BrokerId, ...]:
    """A target."""
    return tuple(map(BrokerId, replicas))


def entry(**changes: object) -> dict[str, object]:
    """An entry as tools write it, with something else in it."""
    return {"topic": "t", "partition": 0, "replicas": [4, 5]} | changes


def content(*entries: object, **others: object) -> bytes:
    """A whole plan, with something else in it."""
    return msgspec.json.encode({"version": 1, "partitions": entries} | others)


@pytest.fixture
def world() -> World:
    """A controller in office, and no plan."""
    return World()


# --- bytes ------------------------------------------------------------------------------------


@pytest.mark.behaviour("zk-023")
def test_a_plan_is_written_as_kafka_writes_it() -> None:
    """Version 1, with the replicas in their order."""
    encoded = encode_reassignments({TopicPartition("bar", 4): to(8, 6)})

    assert msgspec.json.decode(encoded) == {
        "version": 1,
        "partitions": [{"topic": "bar", "partition": 4, "replicas": [8, 6]}],
    }
    assert decode_reassignments(encoded) == {TopicPartition("bar", 4): to(8, 6)}


def test_a_partition_that_is_named_twice_goes_where_it_is_named_last() -> None:
    """Kafka reads the list into a map."""
    raw = content(entry(), entry(partition=1), entry(replicas=[6]))

    assert decode_reassignments(raw) == {T0: to(6), T1: to(4, 5)}


@pytest.mark.fault("F62")
@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"no JSON",
        b"[]",
        content(entry(), version=2),
        content(entry(), version="1"),
        content(entry(), extra=1),
        content(entry(extra=1)),
        content(entry(log_dirs=["any"])),
        content(entry(topic=7)),
        content(entry(topic="")),
        content(entry(partition="0")),
        content(entry(partition=-1)),
        content(entry(replicas="4,5")),
        content(entry(replicas=["4"])),
        content(entry(replicas=[4, -1])),
        content(entry(replicas=None)),
        content({"topic": "t", "partition": 0}),
        content(partitions={"t": [1]}),
        b'{"version":1}',
        b'{"partitions":[]}',
    ],
)
def test_a_plan_with_anything_wrong_in_it_is_no_plan(raw: bytes | None) -> None:
    """Badly typed values must not get any further (KAFKA-4914)."""
    with pytest.raises(CorruptZnode) as corrupt:
        decode_reassignments(raw)

    assert corrupt.value.path == PATH


# --- asks -------------------------------------------------------------------------------------


def test_a_plan_is_read_and_its_absence_too(world: World) -> None:
    """What cannot be read is an answer of its own."""
    answers = [world.ask(ReadReassignmentZnode())]
    for raw in (content(entry()), b"torn"):
        world.write(Create(PATH, raw))
        answers.append(world.ask(ReadReassignmentZnode()))
        world.write(Delete(PATH))

    assert answers[:2] == [None, {T0: to(4, 5)}]
    assert isinstance(answers[2], Malformed)
    assert answers[2].path == PATH


@pytest.mark.fault("F58")
@pytest.mark.parametrize("is_there", [False, True])
def test_every_look_sets_the_watch(world: World, *, is_there: bool) -> None:
    """A plan that is written the moment the last one is gone must not be missed (KAFKA-6193)."""
    if is_there:
        world.write(Create(PATH, content(entry())))
    world.ask(ReadReassignmentZnode())

    world.write(SetData(PATH, b"") if is_there else Create(PATH, b""))

    assert [event.path for event in world.events()] == [PATH]


@pytest.mark.fault("F58")
def test_the_deletion_of_a_plan_is_seen_by_whoever_deletes_it(world: World) -> None:
    """So the look that follows finds the next plan, however soon that was written."""
    world.write(Create(PATH, content(entry())))
    world.ask(ReadReassignmentZnode())

    world.ask(WriteReassignmentZnode(world.fence, {}))
    world.write(Create(PATH, content(entry(replicas=[9]))))

    assert [event.path for event in world.events()] == [PATH]
    assert world.ask(ReadReassignmentZnode()) == {T0: to(9)}


def test_what_is_left_of_a_plan_is_written_and_the_znode_goes_with_the_last(world: World) -> None:
    """One that somebody else has removed stays removed."""
    world.write(Create(PATH, content(entry(), entry(partition=1))))
    left = []
    for targets in ({T1: to(4, 5)}, {}, {}, {T1: to(4, 5)}):
        world.ask(WriteReassignmentZnode(world.fence, targets))
        left.append(world.ask(ReadReassignmentZnode()))

    assert left == [{T1: to(4, 5)}, None, None, None]


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("targets", [{}, {T1: to(4, 5)}], ids=["delete", "rewrite"])
def test_a_deposed_controller_leaves_the_plan_as_it_is(
    world: World, targets: dict[TopicPartition, tuple[BrokerId, ...]]
) -> None:
    """It is no longer this controller's."""
    world.write(Create(PATH, content(entry())))
    before = world.contents()

    with pytest.raises(ControllerMoved):
        world.ask(WriteReassignmentZnode(Fence(ControllerEpoch(1), ZkVersion(0)), targets))

    assert world.contents() == before


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("targets", [{}, {T1: to(4, 5)}], ids=["delete", "rewrite"])
def test_a_lost_connection_does_not_lose_the_write(
    world: World, targets: dict[TopicPartition, tuple[BrokerId, ...]], *, applied: bool
) -> None:
    """Whether or not the first attempt got through."""
    world.write(Create(PATH, content(entry(), entry(partition=1))))
    session = FaultySession(world.session, Fault(0, 0, applied))

    run(session, perform(WriteReassignmentZnode(world.fence, targets)))

    assert world.ask(ReadReassignmentZnode()) == (targets or None)


def test_leaderships_are_read_with_a_watch_on_each(world: World) -> None:
    """A partition that nobody has led has nothing to watch."""
    first, unled = world.add_topic("t", leadership(), None)

    reads = world.ask(WatchLeaderships([first, unled]))
    world.write(SetData(paths.partition_state("t", 0), b"{}"))

    assert reads == [leadership(), None]
    assert [event_for(event.path, 3) for event in world.events()] == [
        event_for("/brokers/topics/t/partitions/0/state", 3)
    ]
    (torn,) = world.ask(WatchLeaderships([first]))
    assert isinstance(torn, Malformed)
