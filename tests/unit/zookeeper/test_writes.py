"""The writing asks against the twin: fences, races, and connections lost at every place."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    DeleteIsrNotifications,
    DropController,
    EnsureFeatures,
    Fence,
    LeadershipWrite,
    Malformed,
    ReadController,
    ReadControllerEpoch,
    ReadLeaderships,
    TakeController,
    TopicWrite,
    WriteFailure,
    WriteLeaderships,
    WriteTopics,
)
from regent.errors import ControllerMoved, SessionLost
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.fencing import BATCH_OPS, ROUNDS_MAX
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import perform
from regent.zookeeper.registration import announce_isr_changes
from regent.zookeeper.store import (
    Check,
    Create,
    Delete,
    Failed,
    Multi,
    MultiFailed,
    SetData,
    ZkError,
)
from regent.zookeeper.writes import ensure_paths
from regent.zookeeper.znodes import encode_leadership, encode_topic
from tests.unit.zookeeper.world import (
    B1,
    B2,
    B3,
    Fault,
    FaultySession,
    World,
    leadership,
    partition,
    run_with_interference,
)

V0, V1 = ZkVersion(0), ZkVersion(1)


@pytest.fixture
def world() -> World:
    return World()


def state(world: World, topic: str, index: int) -> tuple[bytes | None, int] | None:
    return world.server.dump().get(paths.partition_state(topic, index))


# --- the controller -------------------------------------------------------------------------


@pytest.mark.behaviour("zk-010")
def test_a_controller_takes_the_role_and_gives_it_up() -> None:
    """The epoch is raised in the same step, and survives the resignation."""
    session = MemorySession(MemoryZooKeeper())
    current = run(session, perform(ReadControllerEpoch()))

    fence = run(session, perform(TakeController(B3, current, now_ms=5)))

    assert fence == Fence(ControllerEpoch(1), V1)
    assert run(session, perform(ReadController())) == B3
    run(session, perform(DropController(fence)))
    assert run(session, perform(ReadController())) is None
    assert run(session, perform(ReadControllerEpoch())) == fence


def test_the_role_cannot_be_taken_while_it_is_held(world: World) -> None:
    """Nor with an epoch that is no longer the current one."""
    held = world.ask(TakeController(B2, world.fence, now_ms=0))
    world.write(Delete(paths.CONTROLLER))
    stale = world.ask(TakeController(B2, Fence(ControllerEpoch(0), V0), now_ms=0))

    assert (held, stale) == (None, None)
    assert world.ask(ReadControllerEpoch()) == world.fence


def test_the_role_is_taken_from_its_holder_where_that_is_wanted(world: World) -> None:
    """Deletion, claim and epoch are one step, and the znode is the new holder's own."""
    fence = world.ask(TakeController(B2, world.fence, now_ms=0, deposes=True))

    assert fence == Fence(ControllerEpoch(2), ZkVersion(2))
    assert world.ask(ReadController()) == B2
    with pytest.raises(ControllerMoved):
        world.ask(DropController(world.fence))


def test_nobody_is_deposed_by_one_that_knows_an_older_epoch(world: World) -> None:
    """Nor where the role was given up meanwhile; who tries looks again."""
    stale = world.ask(TakeController(B2, Fence(ControllerEpoch(0), V0), now_ms=0, deposes=True))
    world.ask(DropController(world.fence))
    free = world.ask(TakeController(B2, world.fence, now_ms=0, deposes=True))

    assert (stale, free) == (None, None)
    assert world.ask(ReadControllerEpoch()) == world.fence


def test_an_own_controller_znode_of_another_epoch_is_not_a_victory(world: World) -> None:
    """Only the exact epoch of the claim proves that the claim got through."""
    stale = Fence(ControllerEpoch(5), ZkVersion(9))

    assert world.ask(TakeController(B1, stale, now_ms=0)) is None


def test_a_claim_is_lost_where_the_controller_cannot_be_read(world: World) -> None:
    """Somebody holds it, and it is not provably us."""
    world.write(SetData(paths.CONTROLLER, b"?"))

    assert world.ask(TakeController(B1, Fence(ControllerEpoch(0), V0), now_ms=0)) is None


def test_a_deposed_controller_does_not_drop_its_successor(world: World) -> None:
    """The fence of the deletion is the epoch, not the name in the znode."""
    world.write(SetData(paths.CONTROLLER_EPOCH, b"2"))

    with pytest.raises(ControllerMoved):
        world.ask(DropController(world.fence))

    assert world.ask(ReadController()) == B1


def test_dropping_what_is_gone_is_fine(world: World) -> None:
    """A resignation may come twice."""
    world.ask(DropController(world.fence))
    world.ask(DropController(world.fence))

    assert world.ask(ReadController()) is None


@pytest.mark.behaviour("fov-013")
def test_a_claim_by_kraft_is_respected_until_it_is_deleted(world: World) -> None:
    """And each take-over, of either kind, raises the epoch by exactly one."""
    claim = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":42}'
    world.write(
        Multi(
            (
                SetData(paths.CONTROLLER_EPOCH, b"2", world.fence.zk_version),
                Delete(paths.CONTROLLER),
                Create(paths.CONTROLLER, claim),
            )
        )
    )
    claimed = world.ask(ReadControllerEpoch())

    assert claimed == Fence(ControllerEpoch(2), ZkVersion(2))
    assert isinstance(world.ask(ReadController()), Malformed)
    assert world.ask(TakeController(B1, claimed, now_ms=0)) is None

    world.write(Delete(paths.CONTROLLER))
    assert world.ask(TakeController(B1, claimed, now_ms=0)) == Fence(
        ControllerEpoch(3), ZkVersion(3)
    )


@pytest.mark.behaviour("fov-014")
def test_every_epoch_is_won_exactly_once() -> None:
    """Four contenders try each of 200 epochs; compare-and-set lets one of them through."""
    server = MemoryZooKeeper()
    sessions = {BrokerId(n): MemorySession(server) for n in range(4)}
    run(sessions[BrokerId(0)], perform(ReadControllerEpoch()))
    won: list[int] = []

    for epoch in range(200):
        for broker_id, session in sessions.items():
            current = Fence(ControllerEpoch(epoch), ZkVersion(epoch))
            fence = run(session, perform(TakeController(broker_id, current, now_ms=0)))
            if fence is not None:
                won.append(fence.controller_epoch)
                run(session, perform(DropController(fence)))

    assert won == list(range(1, 201))


@pytest.mark.parametrize(
    "before",
    [
        None,
        b'{"version":2,"status":0,"features":{}}',
        b'{"version":1,"status":0,"features":{}}',
        b"?",
    ],
)
def test_features_are_brought_to_the_wanted_status(world: World, before: bytes | None) -> None:
    """Missing, different or broken: it is the controller's znode, and it says so again."""
    if before is not None:
        world.write(Create(paths.FEATURE, before))

    world.ask(EnsureFeatures(enabled=True))
    world.ask(EnsureFeatures(enabled=True))

    version = 0 if before is None else 1
    assert world.server.dump()[paths.FEATURE] == (
        b'{"version":2,"status":1,"features":{}}',
        version,
    )


def test_features_that_are_right_are_left_alone(world: World) -> None:
    """A rewrite would wake every broker for nothing."""
    content = b'{"features":{},"status":1,"version":1}'
    world.write(Create(paths.FEATURE, content))

    world.ask(EnsureFeatures(enabled=True))

    assert world.server.dump()[paths.FEATURE] == (content, 0)


def test_persistent_paths_are_created_once_with_null_data() -> None:
    """A second start finds them and changes nothing."""
    server = MemoryZooKeeper()
    session = MemorySession(server)

    run(session, ensure_paths())
    once = server.dump()
    run(session, ensure_paths())

    assert server.dump() == once
    parents = {"/admin", "/brokers", "/config"}
    assert once == dict.fromkeys(sorted({*paths.PERSISTENT_PATHS, *parents}), (None, 0))


# --- leadership -----------------------------------------------------------------------------


@pytest.mark.behaviour("zk-002")
def test_updates_of_states_that_do_not_exist_fail_each_by_itself(world: World) -> None:
    """Nothing is created on the way."""
    before = world.contents()
    writes = tuple(LeadershipWrite(partition("t", index), leadership()) for index in range(3))

    answer = world.ask(WriteLeaderships(world.fence, writes))

    assert list(answer) == [WriteFailure.MISSING] * 3
    assert world.contents() == before


@pytest.mark.behaviour("zk-003", "zk-007")
def test_updates_with_the_right_version_carry_the_next_one(world: World) -> None:
    """The version that comes back is the one the next write must expect."""
    partitions = world.add_topic("t", leadership(), leadership())
    first = tuple(LeadershipWrite(each, leadership(B2, epoch=1)) for each in partitions)
    second = tuple(LeadershipWrite(each, leadership(B1, epoch=2, version=1)) for each in partitions)

    assert world.ask(WriteLeaderships(world.fence, first)) == [1, 1]
    assert world.ask(ReadLeaderships(partitions)) == [leadership(B2, epoch=1, version=1)] * 2
    assert world.ask(WriteLeaderships(world.fence, second)) == [2, 2]
    world.write(SetData(paths.partition_state("t", 0), b"another client", 2))


@pytest.mark.behaviour("zk-005")
def test_one_bulk_update_has_a_result_for_each_partition(world: World) -> None:
    """One multi fails as a whole; the partitions in it must not."""
    world.add_topic("t", leadership(), leadership(version=4), None, leadership(version=2))
    writes = (
        LeadershipWrite(partition("t", 0), leadership(B2)),
        LeadershipWrite(partition("t", 1), leadership(B2, version=3)),
        LeadershipWrite(partition("t", 2), leadership(B2)),
        LeadershipWrite(partition("t", 3), leadership(B2, version=2)),
    )

    answer = world.ask(WriteLeaderships(world.fence, writes))

    assert list(answer) == [1, WriteFailure.CONFLICT, WriteFailure.MISSING, 3]
    assert state(world, "t", 0) == (encode_leadership(leadership(B2)), 1)
    assert state(world, "t", 1) == (encode_leadership(leadership()), 4)
    assert state(world, "t", 3) == (encode_leadership(leadership(B2)), 3)


def test_a_partition_named_twice_is_written_once(world: World) -> None:
    """The look after the failure finds nothing stale, and there must be progress all the same."""
    (only,) = world.add_topic("t", leadership())
    writes = (
        LeadershipWrite(only, leadership(B1, epoch=1)),
        LeadershipWrite(only, leadership(B2, epoch=1)),
    )

    answer = world.ask(WriteLeaderships(world.fence, writes))

    assert list(answer) == [1, WriteFailure.CONFLICT]


def test_what_stays_undecided_is_a_conflict() -> None:
    """The bound of the rounds; who gets a conflict reads again and decides afresh."""
    write = LeadershipWrite(partition("t", 0), leadership())
    exchange = perform(WriteLeaderships(Fence(ControllerEpoch(1), V1), (write,)))
    lost = Failed(ZkError.CONNECTION_LOSS)
    server = World()
    server.add_topic("t", leadership(B2))
    requests = next(exchange)

    for _ in range(ROUNDS_MAX - 1):
        looks = exchange.send([lost])
        assert exchange.send(server.session.call(looks)) == requests
    looks = exchange.send([lost])
    replies = server.session.call(looks)
    with pytest.raises(StopIteration) as end:
        exchange.send(replies)

    assert end.value.value == [WriteFailure.CONFLICT]


@pytest.mark.behaviour("zk-006")
def test_states_are_created_with_their_parents_and_only_once(world: World) -> None:
    """The second time each exists, and nothing has changed."""
    world.write(Create(paths.topic("t"), encode_topic(None, {})))
    partitions = [partition("t", index) for index in range(3)]
    writes = tuple(LeadershipWrite(each, leadership()) for each in partitions)

    first = world.ask(CreateLeaderships(world.fence, writes))
    made = world.contents()
    second = world.ask(CreateLeaderships(world.fence, writes))

    assert list(first) == [0, 0, 0]
    assert made[paths.partitions("t")] == made[paths.partition("t", 2)] == (None, 0)
    assert world.ask(ReadLeaderships(partitions)) == [leadership()] * 3
    assert list(second) == [WriteFailure.EXISTS] * 3
    assert world.contents() == made


def test_one_bulk_creation_has_a_result_for_each_partition(world: World) -> None:
    """One that exists and one whose topic is gone stop no other."""
    world.add_topic("t", None, leadership(B2), None)
    world.write(Create(paths.partition("t", 2)))
    names = [("t", 0), ("t", 1), ("gone", 0), ("t", 2)]
    writes = tuple(LeadershipWrite(partition(*name), leadership()) for name in names)

    answer = world.ask(CreateLeaderships(world.fence, writes))

    assert list(answer) == [0, WriteFailure.EXISTS, WriteFailure.MISSING, 0]
    assert state(world, "t", 1) == (encode_leadership(leadership(B2)), 0)
    assert paths.topic("gone") not in world.contents()


@pytest.mark.parametrize(
    ("interfere", "expected"),
    [
        (Create(paths.partition("t", 0)), [0, 0]),
        (Delete(paths.partitions("t")), [0, 0]),
        (
            Multi((Delete(paths.partitions("t")), Delete(paths.topic("t")))),
            [WriteFailure.MISSING] * 2,
        ),
        (
            Multi(
                (
                    Create(paths.partition("t", 1)),
                    Create(paths.partition_state("t", 1), encode_leadership(leadership())),
                )
            ),
            [0, WriteFailure.EXISTS],
        ),
    ],
    ids=["parent made", "parents gone", "topic gone", "state made"],
)
def test_a_creation_copes_with_what_others_do_meanwhile(
    world: World, interfere: Create | Delete | Multi, expected: list[object]
) -> None:
    """Anything may happen between its look and its write, even a state just like ours."""
    partitions = world.add_topic("t", None, None)
    writes = tuple(LeadershipWrite(each, leadership()) for each in partitions)

    answer = run_with_interference(
        world.session,
        perform(CreateLeaderships(world.fence, writes)),
        lambda: world.write(interfere),
        after=3,
    )

    assert list(answer) == expected


def test_large_writes_go_out_in_pipelined_batches(world: World) -> None:
    """No multi is larger than the bound, and no batch waits for another."""
    count = BATCH_OPS + 10
    partitions = world.add_topic("t", *[leadership()] * count)
    writes = tuple(LeadershipWrite(each, leadership(B2)) for each in partitions)

    requests = next(perform(WriteLeaderships(world.fence, writes)))

    sizes = [len(request.ops) for request in requests if isinstance(request, Multi)]
    assert sizes == [1 + BATCH_OPS, 1 + 10]
    assert world.ask(WriteLeaderships(world.fence, writes)) == [1] * count


def test_large_creations_keep_to_the_bound_and_parents_come_first(world: World) -> None:
    """Each partition's own parent goes with its state, so that no multi waits for another's."""
    world.write(Create(paths.topic("t"), encode_topic(None, {})))
    writes = tuple(
        LeadershipWrite(partition("t", index), leadership()) for index in range(BATCH_OPS)
    )
    exchange = perform(CreateLeaderships(world.fence, writes))

    requests = exchange.send(world.session.call(next(exchange)))

    # The check, once the common parent, and two for each partition.
    sizes = [len(request.ops) for request in requests if isinstance(request, Multi)]
    assert sizes == [1 + 1 + 248, 1 + 250, 1 + 2]


# --- topics and notifications ---------------------------------------------------------------


def test_partitions_that_nobody_told_us_of_stay_in_a_topic(world: World) -> None:
    """Added while we wrote: Kafka, where the last writer wins, would lose them."""
    one, two = Assignment((B1,)), Assignment((B2,))
    world.add_topic("t")
    world.write(SetData(paths.topic("t"), encode_topic("id", {0: one, 1: two})))
    writes = (TopicWrite("gone", None, {}), TopicWrite("t", "id", {0: two}))

    assert world.ask(WriteTopics(world.fence, writes)) == (WriteFailure.MISSING, None)
    assert world.server.dump()[paths.topic("t")] == (encode_topic("id", {0: two, 1: two}), 2)


def test_a_topic_written_whole_loses_what_is_not_named(world: World) -> None:
    """That is how partitions added to a topic under deletion are undone."""
    one = Assignment((B1,))
    world.add_topic("t")
    world.write(SetData(paths.topic("t"), encode_topic("id", {0: one, 1: one})))
    write = TopicWrite("t", "id", {0: one}, is_whole=True)

    assert world.ask(WriteTopics(world.fence, (write,))) == (None,)
    assert world.server.dump()[paths.topic("t")] == (encode_topic("id", {0: one}), 2)


def test_a_topic_that_cannot_be_read_is_not_written(world: World) -> None:
    """What it says of other partitions would be lost."""
    world.add_topic("t")
    world.write(SetData(paths.topic("t"), b"somebody else"))
    write = TopicWrite("t", "id", {0: Assignment((B1,))})

    assert world.ask(WriteTopics(world.fence, (write,))) == (WriteFailure.CONFLICT,)
    assert world.server.dump()[paths.topic("t")] == (b"somebody else", 1)


def test_a_topic_that_changes_under_our_hands_is_read_again(world: World) -> None:
    """The write is conditional on what it was based on."""
    one, two = Assignment((B1,)), Assignment((B2,))
    world.add_topic("t")
    exchange = perform(WriteTopics(world.fence, (TopicWrite("t", "id", {0: two}),)))
    replies = world.session.call(next(exchange))
    world.write(SetData(paths.topic("t"), encode_topic("id", {0: one, 1: one})))

    with suppress(StopIteration):
        while True:
            replies = world.session.call(exchange.send(replies))

    assert world.server.dump()[paths.topic("t")] == (encode_topic("id", {0: two, 1: one}), 2)


def test_notifications_are_deleted_whether_or_not_they_are_there(
    world: World,
) -> None:
    """First some by name, then all that are left."""
    names = [
        run(world.session, announce_isr_changes((TopicPartition("t", index),)))
        for index in range(3)
    ]

    def left() -> list[str]:
        return [path for path in world.contents() if path.startswith("/isr_change_notification/")]

    some = (names[0], "isr_change_0000000099", names[2])
    world.ask(DeleteIsrNotifications(world.fence, some))
    assert left() == [paths.isr_notification(names[1])]
    world.ask(DeleteIsrNotifications(world.fence))
    assert left() == []


# --- fences ---------------------------------------------------------------------------------


def standing(world: World) -> dict[str, Ask[Any]]:
    """One of each fenced write, all of which would succeed."""
    world.add_topic("t", leadership(), leadership(), None, None)
    world.add_topic("u")
    run(world.session, announce_isr_changes((TopicPartition("t", 0),)))
    run(world.session, announce_isr_changes((TopicPartition("t", 1),)))
    new = leadership(B2, epoch=1)
    return {
        "write": WriteLeaderships(
            world.fence, tuple(LeadershipWrite(partition("t", i), new) for i in (0, 1, 3))
        ),
        "create": CreateLeaderships(
            world.fence, tuple(LeadershipWrite(partition("t", i), new) for i in (1, 2, 3))
        ),
        "topics": WriteTopics(
            world.fence,
            (TopicWrite("t", "id", {}), TopicWrite("x", None, {}), TopicWrite("u", "v", {})),
        ),
        "notifications": DeleteIsrNotifications(world.fence),
        "drop": DropController(world.fence),
    }


FENCED = ["write", "create", "topics", "notifications", "drop"]


@pytest.mark.parametrize("kind", FENCED)
@pytest.mark.parametrize(
    "change", [SetData(paths.CONTROLLER_EPOCH, b"2"), Delete(paths.CONTROLLER_EPOCH)]
)
def test_a_deposed_controller_writes_nothing(
    world: World, kind: str, change: SetData | Delete
) -> None:
    """It learns so by an exception, because nothing it still wants to do may happen."""
    ask = standing(world)[kind]
    world.write(change)
    before = world.server.dump()

    with pytest.raises(ControllerMoved):
        world.ask(ask)

    assert world.server.dump() == before


@pytest.mark.parametrize("kind", FENCED)
def test_a_write_in_a_dead_session_ends_the_exchange(world: World, kind: str) -> None:
    """Whatever it held is gone with it."""
    ask = standing(world)[kind]
    world.server.expire_session(world.session.session_id)

    with pytest.raises(SessionLost):
        world.ask(ask)


def test_every_fenced_batch_starts_with_the_check(world: World) -> None:
    """One batch without it would be enough for a zombie."""
    asks = standing(world)

    for kind in ("write", "drop"):
        for request in next(perform(asks[kind])):
            assert isinstance(request, Multi)
            assert request.ops[0] == Check("/controller_epoch", world.fence.zk_version)


def test_the_check_and_not_its_position_makes_a_controller_move(world: World) -> None:
    """A failure of any later op is that op's own business."""
    world.add_topic("t", leadership(version=1))
    write = LeadershipWrite(partition("t", 0), leadership())
    exchange = perform(WriteLeaderships(world.fence, (write,)))

    replies = world.session.call(next(exchange))

    assert replies == [
        MultiFailed(ZkError.BAD_VERSION, 1, (ZkError.OK, ZkError.BAD_VERSION)),
    ]


# --- lost connections -----------------------------------------------------------------------


def take(world: World) -> Ask[Any]:
    world.write(Delete(paths.CONTROLLER))
    return TakeController(B2, world.fence, now_ms=0)


def large_write(world: World) -> Ask[Any]:
    partitions = world.add_topic("t", *[leadership()] * (BATCH_OPS + 3))
    stale = LeadershipWrite(partitions[1], leadership(B3, version=7))
    writes = [LeadershipWrite(each, leadership(B2, epoch=1)) for each in partitions]
    return WriteLeaderships(world.fence, (*writes[:1], stale, *writes[2:]))


def large_creation(world: World) -> Ask[Any]:
    partitions = world.add_topic("t", *[None] * BATCH_OPS)
    return CreateLeaderships(
        world.fence, tuple(LeadershipWrite(each, leadership()) for each in partitions)
    )


def features(world: World) -> Ask[Any]:
    world.write(Create(paths.FEATURE, b'{"version":2,"status":0}'))
    return EnsureFeatures(enabled=True)


WRITES: dict[str, Callable[[World], Ask[Any]]] = {
    **{kind: lambda world, kind=kind: standing(world)[kind] for kind in FENCED},  # type: ignore[misc]
    "take": take,
    "large write": large_write,
    "large creation": large_creation,
    "features": features,
    "first features": lambda _: EnsureFeatures(enabled=False),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_lost_connection_changes_neither_answer_nor_outcome(kind: str) -> None:
    """At every request of every call, arrived or not: never twice, never half."""
    calm = World()
    ask = WRITES[kind](calm)
    counted = FaultySession(calm.session)
    expected = run(counted, perform(ask))

    for call, size in enumerate(counted.sizes):
        for position in range(size):
            for applied in (True, False):
                world = World()
                ask = WRITES[kind](world)
                session = FaultySession(world.session, Fault(call, position, applied))
                assert run(session, perform(ask)) == expected
                assert world.server.dump() == calm.server.dump()


def test_a_write_that_arrived_and_was_overwritten_is_a_conflict(world: World) -> None:
    """Our content two versions on is not ours to build on."""
    (only,) = world.add_topic("t", leadership())
    wanted = leadership(B2, epoch=1)
    content = encode_leadership(wanted)
    world.session.lose_connection(0, applied=True)

    answer = run_with_interference(
        world.session,
        perform(WriteLeaderships(world.fence, (LeadershipWrite(only, wanted),))),
        lambda: world.write(SetData(paths.partition_state("t", 0), content)),
        after=1,
    )

    assert list(answer) == [WriteFailure.CONFLICT]


def test_equal_content_without_a_lost_connection_is_a_conflict(world: World) -> None:
    """Nothing was lost, so the write cannot have been ours."""
    (only,) = world.add_topic("t", leadership(B2, version=1))

    answer = world.ask(WriteLeaderships(world.fence, (LeadershipWrite(only, leadership(B2)),)))

    assert list(answer) == [WriteFailure.CONFLICT]


def test_a_claim_lost_on_the_way_and_overtaken_is_lost(world: World) -> None:
    """Another node was faster while we were reconnecting."""
    world.write(Delete(paths.CONTROLLER))
    world.session.lose_connection(0, applied=False)

    def overtake() -> None:
        rival = MemorySession(world.server)
        assert run(rival, perform(TakeController(B3, world.fence, now_ms=0))) is not None

    answer = run_with_interference(
        world.session, perform(TakeController(B2, world.fence, now_ms=0)), overtake, after=1
    )

    assert answer is None
    assert world.ask(ReadController()) == B3
