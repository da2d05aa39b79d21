"""What is left for a controller to find: how it is written, read, watched and removed."""

from collections.abc import Callable
from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    DeleteElectionZnode,
    DeleteLogDirEvents,
    Malformed,
    ReadBrokerDefaults,
    ReadConfigChanges,
    ReadElectionZnode,
    ReadLogDirEvents,
)
from regent.errors import ControllerMoved, CorruptZnode, SessionLost
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.notice_znodes import (
    decode_config_change,
    decode_election,
    decode_log_dir_event,
    encode_config_change,
    encode_election,
    encode_log_dir_event,
)
from regent.zookeeper.performer import perform
from regent.zookeeper.registration import announce_log_dir_failure
from regent.zookeeper.store import (
    Create,
    Delete,
    Failed,
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from regent.zookeeper.znodes import encode_config
from tests.unit.zookeeper.world import Fault, FaultySession, World

ELECTION = "/admin/preferred_replica_election"
LOG_DIRS = "/log_dir_event_notification"
CHANGES = "/config/changes"
WANTED = (TopicPartition("t", 0), TopicPartition("u.v", 7))
B6, B9 = BrokerId(6), BrokerId(9)


@pytest.fixture
def world() -> World:
    return World()


# --- what they say ----------------------------------------------------------------------------


def test_contents_are_written_as_kafka_writes_them() -> None:
    """Without spaces, and with the only event there is."""
    assert encode_election(WANTED) == (
        b'{"version":1,"partitions":[{"topic":"t","partition":0},{"topic":"u.v","partition":7}]}'
    )
    assert encode_log_dir_event(B6) == b'{"version":1,"broker":6,"event":1}'
    assert encode_config_change("topics/t") == b'{"version":2,"entity_path":"topics/t"}'


@pytest.mark.parametrize(
    ("raw", "entity"),
    [
        (b'{"version":2,"entity_path":"topics/t"}', "topics/t"),
        (b'{"entity_path":"brokers/<default>","version":2}', "brokers/<default>"),
        (b'{"version":2,"entity_path":"users/u/clients/c"}', "users/u/clients/c"),
        (b'{"version":1,"entity_type":"topics","entity_name":"t"}', "topics/t"),
    ],
)
def test_both_versions_of_a_changed_config_name_the_entity(raw: bytes, entity: str) -> None:
    """Old tools still write the first."""
    assert decode_config_change(CHANGES, raw) == entity


Decoder = Callable[[bytes | None], object]


def election(raw: bytes | None) -> object:
    """Its path is always the same."""
    return decode_election(raw)


def log_dir_event(raw: bytes | None) -> object:
    """One of a queue."""
    return decode_log_dir_event(LOG_DIRS, raw)


def config_change(raw: bytes | None) -> object:
    """One of a queue."""
    return decode_config_change(CHANGES, raw)


@pytest.mark.parametrize(
    ("decode", "raw"),
    [
        (election, None),
        (election, b"[]"),
        (election, b'{"version":2,"partitions":[]}'),
        (election, b'{"version":1,"partitions":[{"topic":"t"}]}'),
        (election, b'{"version":1,"partitions":[{"topic":"t","partition":-1}]}'),
        (log_dir_event, b"{}"),
        (log_dir_event, b'{"version":1,"broker":"2","event":1}'),
        (log_dir_event, b'{"version":1,"broker":2,"event":2}'),
        (config_change, b"?"),
        (config_change, b'{"version":3,"entity_path":"topics/t"}'),
        (config_change, b'{"version":2,"entity_type":"topics","entity_name":"t"}'),
        (config_change, b'{"version":1,"entity_path":"topics/t"}'),
        (config_change, b'{"version":1,"entity_type":"topics"}'),
    ],
)
def test_what_is_not_as_expected_is_corrupt(decode: Decoder, raw: bytes | None) -> None:
    """Nothing is guessed."""
    with pytest.raises(CorruptZnode):
        decode(raw)


# --- elections --------------------------------------------------------------------------------


@pytest.mark.behaviour("prf-008")
def test_an_election_is_read_as_it_was_written_and_cannot_be_written_over(world: World) -> None:
    """Whoever comes second has to wait until the first one is served."""
    write = Create(ELECTION, encode_election(WANTED))
    world.write(write)

    assert world.ask(ReadElectionZnode()) == WANTED
    assert MemorySession(world.server).call([write]) == [Failed(ZkError.NODE_EXISTS, ELECTION)]


@pytest.mark.requirement("L1")
def test_an_election_is_watched_whether_or_not_there_is_one(world: World) -> None:
    """Its coming is seen, and so is its going."""
    assert world.ask(ReadElectionZnode()) is None
    world.write(Create(ELECTION, encode_election(WANTED)))
    assert list(world.events()) == [WatchEvent(WatchKind.CREATED, ELECTION)]

    world.ask(ReadElectionZnode())
    world.ask(DeleteElectionZnode(world.fence))

    assert list(world.events()) == [WatchEvent(WatchKind.DELETED, ELECTION)]
    assert world.ask(ReadElectionZnode()) is None


def test_an_election_that_cannot_be_read_says_why(world: World) -> None:
    """And can be removed like any other."""
    world.write(Create(ELECTION, b"?"))

    found = world.ask(ReadElectionZnode())
    world.ask(DeleteElectionZnode(world.fence))

    assert isinstance(found, Malformed)
    assert (found.path, world.server.peek(ELECTION)) == (ELECTION, None)


# --- log directories --------------------------------------------------------------------------


@pytest.mark.behaviour("zk-021")
@pytest.mark.requirement("B5")
def test_failed_directories_are_announced_and_read_in_order(world: World) -> None:
    """Three znodes, although two are of the same broker."""
    names = [run(world.session, announce_log_dir_failure(b)) for b in (B6, B6, B9)]

    assert names == [f"log_dir_event_000000000{i}" for i in range(3)]
    assert world.ask(ReadLogDirEvents()) == tuple(zip(names, (B6, B6, B9), strict=True))
    found = world.server.peek(f"{LOG_DIRS}/{names[2]}")
    assert found is not None
    assert found.data == b'{"version":1,"broker":9,"event":1}'


def test_a_new_announcement_is_seen_and_a_broken_one_spoils_only_itself(world: World) -> None:
    """In the order of their numbers, not of their letters."""
    world.write(
        Create(f"{LOG_DIRS}/log_dir_event_10000000000", encode_log_dir_event(B9)),
        Create(f"{LOG_DIRS}/log_dir_event_9999999999", b"?"),
    )

    answer = world.ask(ReadLogDirEvents())

    assert [name for name, _ in answer] == [
        "log_dir_event_9999999999",
        "log_dir_event_10000000000",
    ]
    assert isinstance(answer[0][1], Malformed)
    assert answer[1][1] == B9
    run(MemorySession(world.server), announce_log_dir_failure(B6))
    assert list(world.events()) == [WatchEvent(WatchKind.CHILDREN_CHANGED, LOG_DIRS)]


@pytest.mark.parametrize("named", [True, False])
def test_announcements_are_removed_by_name_or_all(world: World, *, named: bool) -> None:
    """What came behind the read stays when names are given; what is gone does not matter."""
    first = run(world.session, announce_log_dir_failure(B6))
    second = run(world.session, announce_log_dir_failure(B9))
    names = (first, "log_dir_event_gone") if named else None

    world.ask(DeleteLogDirEvents(world.fence, names))

    assert world.ask(ReadLogDirEvents()) == (((second, B9),) if named else ())


# --- configs ----------------------------------------------------------------------------------


@pytest.mark.requirement("T4")
def test_changed_configs_are_read_in_order_and_watched(world: World) -> None:
    """The oldest first; a broken one spoils only itself."""
    prefix = f"{CHANGES}/config_change_"
    world.write(
        Create(prefix, encode_config_change("topics/t"), sequential=True),
        Create(prefix, b'{"version":1,"entity_type":"topics","entity_name":"u"}', sequential=True),
        Create(prefix, b"?", sequential=True),
    )

    answer = world.ask(ReadConfigChanges())

    assert answer[:2] == (
        ("config_change_0000000000", "topics/t"),
        ("config_change_0000000001", "topics/u"),
    )
    assert isinstance(answer[2][1], Malformed)
    world.write(Create(prefix, encode_config_change("topics/t"), sequential=True))
    assert list(world.events()) == [WatchEvent(WatchKind.CHILDREN_CHANGED, CHANGES)]


def test_the_defaults_of_all_brokers_are_read(world: World) -> None:
    """No znode means that nothing is set; a broken one is no such thing."""
    path = "/config/brokers/<default>"
    assert world.ask(ReadBrokerDefaults()) == {}

    world.write(Create(path, encode_config({"a": "b"})))
    assert world.ask(ReadBrokerDefaults()) == {"a": "b"}

    world.write(SetData(path, b"1"))
    assert world.ask(ReadBrokerDefaults()) == Malformed(
        path, "Expected `object`, got `int`; found 1"
    )


# --- fences, connections, sessions ------------------------------------------------------------


def furnished() -> World:
    world = World()
    world.write(
        Create(ELECTION, encode_election(WANTED)),
        Create(f"{LOG_DIRS}/log_dir_event_0000000000", encode_log_dir_event(B6)),
        Create(f"{LOG_DIRS}/log_dir_event_0000000001", encode_log_dir_event(B9)),
        Create(f"{CHANGES}/config_change_0000000000", encode_config_change("topics/t")),
        Create(paths.broker_config(None), encode_config({"a": "b"})),
    )
    return world


ASKS: dict[str, Callable[[World], Ask[Any]]] = {
    "read election": lambda _: ReadElectionZnode(),
    "read log dirs": lambda _: ReadLogDirEvents(),
    "read changes": lambda _: ReadConfigChanges(),
    "read defaults": lambda _: ReadBrokerDefaults(),
    "delete election": lambda world: DeleteElectionZnode(world.fence),
    "delete log dirs": lambda world: DeleteLogDirEvents(world.fence),
}
FENCED = [kind for kind in ASKS if kind.startswith("delete")]


@pytest.mark.requirement("E5")
@pytest.mark.parametrize("kind", FENCED)
@pytest.mark.parametrize(
    "change", [SetData(paths.CONTROLLER_EPOCH, b"2"), Delete(paths.CONTROLLER_EPOCH)]
)
def test_a_deposed_controller_removes_nothing(kind: str, change: SetData | Delete) -> None:
    """What it has not served is its successor's."""
    world = furnished()
    ask = ASKS[kind](world)
    world.write(change)
    before = world.contents()

    with pytest.raises(ControllerMoved):
        world.ask(ask)

    assert world.contents() == before


@pytest.mark.parametrize("kind", ASKS)
def test_a_lost_connection_changes_neither_answer_nor_outcome(kind: str) -> None:
    """At every request of every call, arrived or not."""
    calm = furnished()
    counted = FaultySession(calm.session)
    expected = run(counted, perform(ASKS[kind](calm)))

    for call, size in enumerate(counted.sizes):
        for position in range(size):
            for applied in (False, True):
                world = furnished()
                session = FaultySession(world.session, Fault(call, position, applied))
                assert run(session, perform(ASKS[kind](world))) == expected
                assert world.server.dump() == calm.server.dump()


@pytest.mark.parametrize("kind", ASKS)
def test_nothing_is_answered_in_a_dead_session(kind: str) -> None:
    """There is nobody left to answer."""
    world = furnished()
    ask = ASKS[kind](world)
    world.server.expire_session(world.session.session_id)

    with pytest.raises(SessionLost):
        world.ask(ask)
