"""The reading asks against the twin: what they answer, what they watch, what they survive."""

from typing import Any

import pytest

from regent.core.asks import (
    Ask,
    Fence,
    IsrNotification,
    ListTopicDeletions,
    ListTopics,
    Malformed,
    ReadBrokers,
    ReadController,
    ReadControllerEpoch,
    ReadIsrNotifications,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    TopicRead,
    WatchBrokers,
)
from regent.errors import CorruptZnode, RegentError, SessionLost
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, TopicPartition, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import encode_broker
from regent.zookeeper.exchange import RECONNECTS_MAX, run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.performer import PERFORMERS, perform
from regent.zookeeper.registration import announce_isr_changes
from regent.zookeeper.store import (
    Create,
    Delete,
    Failed,
    SetData,
    WatchEvent,
    WatchKind,
    ZkError,
)
from regent.zookeeper.znodes import encode_config, encode_topic
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

B11, B12 = BrokerId(11), BrokerId(12)


@pytest.fixture
def world() -> World:
    return World()


def epoch_of(world: World, broker_id: BrokerId) -> BrokerEpoch:
    found = world.server.peek(paths.broker(broker_id))
    assert found is not None
    return BrokerEpoch(found.stat.czxid)


# --- the controller -------------------------------------------------------------------------


def test_no_controller_is_none_and_its_coming_is_seen() -> None:
    """The watch must be there although the znode is not, or nobody would ever stand again."""
    server = MemoryZooKeeper()
    session = MemorySession(server)

    assert run(session, perform(ReadController())) is None

    MemorySession(server).call([Create("/controller", b"3")])
    assert list(session.watch_events()) == [WatchEvent(WatchKind.CREATED, "/controller")]


def test_the_controller_is_read_and_its_going_is_seen(world: World) -> None:
    """A read sets the watch that tells of the next change."""
    assert world.ask(ReadController()) == B1

    world.write(Delete("/controller"))
    assert list(world.events()) == [WatchEvent(WatchKind.DELETED, "/controller")]


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"version":9,"brokerid":1}'])
def test_a_controller_that_cannot_be_read_is_not_none(world: World, content: bytes | None) -> None:
    """None would start an election against a controller that may be alive."""
    world.write(SetData("/controller", content))

    answer = world.ask(ReadController())

    assert isinstance(answer, Malformed)
    assert answer.path == "/controller"


def test_a_missing_controller_epoch_is_created_with_0() -> None:
    """The first controller of a cluster gets epoch 1."""
    server = MemoryZooKeeper()
    session = MemorySession(server)

    first = run(session, perform(ReadControllerEpoch()))
    again = run(session, perform(ReadControllerEpoch()))

    assert first == again == Fence(ControllerEpoch(0), ZkVersion(0))
    assert server.dump() == {"/controller_epoch": (b"0", 0)}


def test_who_creates_the_epoch_second_reads_the_first(world: World) -> None:
    """Two nodes may start on an empty ZooKeeper at once."""
    world.write(Delete("/controller_epoch"))

    fence = run_with_interference(
        world.session,
        perform(ReadControllerEpoch()),
        lambda: world.write(Create("/controller_epoch", b"5")),
        after=1,
    )

    assert fence == Fence(ControllerEpoch(5), ZkVersion(0))


def test_a_controller_epoch_that_cannot_be_read_is_an_error(world: World) -> None:
    """There is no going on without a fence."""
    world.write(SetData("/controller_epoch", b"one"))

    with pytest.raises(CorruptZnode):
        world.ask(ReadControllerEpoch())


# --- brokers --------------------------------------------------------------------------------


@pytest.mark.behaviour("zk-014")
def test_brokers_are_listed_by_number_with_their_epochs(world: World) -> None:
    """Whoever registered first, and however the names sort."""
    brokers = [Broker(broker_id, (Endpoint("h", 1),)) for broker_id in (B12, B11, B2)]
    for broker in brokers:
        world.write(Create(paths.broker(broker.broker_id), encode_broker(broker, now_ms=0)))

    answer = world.ask(ReadBrokers())

    assert list(answer) == [B2, B11, B12]
    assert answer[B11] == RegisteredBroker(brokers[1], epoch_of(world, B11))
    world.write(Delete(paths.broker(B12)))
    assert list(world.events()) == [WatchEvent(WatchKind.CHILDREN_CHANGED, "/brokers/ids")]


def test_a_broken_registration_spoils_no_other(world: World) -> None:
    """It is reported under its id; what is no id at all is not a broker."""
    broker = Broker(B2)
    world.write(
        Create(paths.broker(B1), b"{}"),
        Create(paths.broker(B2), encode_broker(broker, now_ms=0)),
        Create("/brokers/ids/stranger", b"{}"),
    )

    assert world.ask(ReadBrokers()) == {
        B1: Malformed("/brokers/ids/1", "Object missing required field `version`; found {}"),
        B2: RegisteredBroker(broker, epoch_of(world, B2)),
    }


@pytest.mark.fault("F53")
def test_a_broker_that_went_between_listing_and_look_is_left_out(world: World) -> None:
    """Its going fires the watch just set, so nothing is missed."""
    for broker_id in (B1, B2):
        world.write(Create(paths.broker(broker_id), encode_broker(Broker(broker_id), now_ms=0)))

    answer = run_with_interference(
        world.session,
        perform(ReadBrokers()),
        lambda: world.write(Delete(paths.broker(B1))),
        after=1,
    )

    assert list(answer) == [B2]
    assert list(world.events()) == [WatchEvent(WatchKind.CHILDREN_CHANGED, "/brokers/ids")]


def test_watched_brokers_are_read_and_their_changes_seen(world: World) -> None:
    """A change of endpoints shows in the data only; a missing broker is None."""
    world.write(Create(paths.broker(B1), encode_broker(Broker(B1), now_ms=0)))
    world.write(Create(paths.broker(B2), b"?"))

    answer = world.ask(WatchBrokers((B1, B2, B3)))

    assert answer == {
        B1: RegisteredBroker(Broker(B1), epoch_of(world, B1)),
        B2: Malformed("/brokers/ids/2", answer[B2].reason),  # type: ignore[union-attr]
        B3: None,
    }
    world.write(SetData(paths.broker(B1), b"x"))
    assert list(world.events()) == [WatchEvent(WatchKind.DATA_CHANGED, "/brokers/ids/1")]


# --- topics ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "path"),
    [(ListTopics(), paths.TOPICS), (ListTopicDeletions(), paths.TOPIC_DELETIONS)],
)
def test_lists_are_sorted_and_watched(world: World, ask: Ask[tuple[str, ...]], path: str) -> None:
    """The next change of the list comes back as an event."""
    world.write(Create(f"{path}/b"), Create(f"{path}/a"))

    assert world.ask(ask) == ("a", "b")

    world.write(Delete(f"{path}/a"))
    assert list(world.events()) == [WatchEvent(WatchKind.CHILDREN_CHANGED, path)]


@pytest.mark.parametrize(
    ("ask", "nothing"),
    [
        (ListTopics(), ()),
        (ListTopicDeletions(), ()),
        (ReadBrokers(), {}),
        (ReadIsrNotifications(), ()),
    ],
)
def test_a_missing_parent_is_an_empty_list(ask: Ask[Any], nothing: object) -> None:
    """An old cluster lacks some of the paths."""
    assert run(MemorySession(MemoryZooKeeper()), perform(ask)) == nothing


def test_topics_are_read_each_by_itself_and_watched(world: World) -> None:
    """A missing and a broken topic stop no other."""
    world.write(
        Create(paths.topic("good"), encode_topic("id", {0: Assignment((B1,))})),
        Create(paths.topic("bad"), b"[]"),
    )

    answer = world.ask(ReadTopics(("good", "gone", "bad")))

    assert answer == {
        "good": TopicRead("id", {0: Assignment((B1,))}),
        "gone": None,
        "bad": Malformed("/brokers/topics/bad", "Expected `object`, got `array`; found []"),
    }
    world.write(SetData(paths.topic("bad"), b""), SetData(paths.topic("good"), b""))
    assert list(world.events()) == [
        WatchEvent(WatchKind.DATA_CHANGED, "/brokers/topics/bad"),
        WatchEvent(WatchKind.DATA_CHANGED, "/brokers/topics/good"),
    ]


@pytest.mark.behaviour("zk-026")
def test_configs_are_read_each_by_itself(world: World) -> None:
    """No znode and no data both mean that nothing is set; a broken one is no such thing."""
    world.write(
        Create(paths.topic_config("set"), encode_config({"a": "b"})),
        Create(paths.topic_config("null")),
        Create(paths.topic_config("bad"), b"1"),
    )

    assert world.ask(ReadTopicConfigs(("set", "null", "gone", "bad"))) == {
        "set": {"a": "b"},
        "null": {},
        "gone": {},
        "bad": Malformed("/config/topics/bad", "Expected `object`, got `int`; found 1"),
    }


# --- leadership -----------------------------------------------------------------------------


@pytest.mark.behaviour("zk-008")
def test_leaderships_are_read_in_order_with_their_versions(world: World) -> None:
    """None where nobody has led, and a broken state spoils only itself."""
    states = leadership(version=0), leadership(B2, version=3), None
    partitions = world.add_topic("t", *states)
    world.write(
        Create(paths.partition("t", 2)),
        Create(paths.partition_state("t", 2), b"{}"),
    )

    answer = world.ask(ReadLeaderships((partition("gone", 0), *reversed(partitions))))

    assert list(answer) == [
        None,
        Malformed(
            paths.partition_state("t", 2), "Object missing required field `version`; found {}"
        ),
        states[1],
        states[0],
    ]


def test_notifications_come_in_the_order_of_their_numbers(world: World) -> None:
    """Also when a name is longer or stranger than it should be."""
    x, y = TopicPartition("x", 0), TopicPartition("y", 0)
    run(world.session, announce_isr_changes((x, y)))
    run(world.session, announce_isr_changes((y,)))
    world.write(
        Create("/isr_change_notification/isr_change_10000000000", b"?"),
        Create("/isr_change_notification/stranger", b"{}"),
    )

    answer = world.ask(ReadIsrNotifications())

    assert [each.name for each in answer] == [
        "stranger",
        "isr_change_0000000000",
        "isr_change_0000000001",
        "isr_change_10000000000",
    ]
    assert answer[1:3] == (
        IsrNotification("isr_change_0000000000", (x, y)),
        IsrNotification("isr_change_0000000001", (y,)),
    )
    assert isinstance(answer[3].partitions, Malformed)
    run(world.session, announce_isr_changes((x,)))
    assert list(world.events()) == [
        WatchEvent(WatchKind.CHILDREN_CHANGED, "/isr_change_notification")
    ]


# --- connections and sessions ---------------------------------------------------------------

READS: list[Ask[Any]] = [
    ReadController(),
    ReadControllerEpoch(),
    ReadBrokers(),
    WatchBrokers((B1, B2)),
    ListTopics(),
    ReadTopics(("t", "u")),
    ReadTopicConfigs(("t",)),
    ListTopicDeletions(),
    ReadLeaderships((partition("t", 0), partition("t", 1))),
    ReadIsrNotifications(),
]


def furnished() -> World:
    world = World()
    world.add_topic("t", leadership(), leadership())
    world.add_topic("u", leadership())
    world.write(Create(paths.broker(B1), encode_broker(Broker(B1), now_ms=0)))
    world.write(Create(paths.broker(B2), encode_broker(Broker(B2), now_ms=0)))
    run(world.session, announce_isr_changes((TopicPartition("t", 0),)))
    return world


@pytest.mark.parametrize("ask", READS, ids=lambda ask: type(ask).__name__)
def test_a_read_that_lost_its_connection_is_asked_again_with_its_watches(ask: Ask[Any]) -> None:
    """At whichever request it broke: the answer and the watches are those of a calm run."""
    calm = furnished()
    counted = FaultySession(calm.session)
    expected = run(counted, perform(ask))
    calm_watches = calm.server.drop_watches(calm.session.session_id)

    for call, size in enumerate(counted.sizes):
        for position in range(size):
            world = furnished()
            fault = Fault(call, position, applied=False)
            assert run(FaultySession(world.session, fault), perform(ask)) == expected
            watches = world.server.drop_watches(world.session.session_id)
            lost = world.session.lost_watches()
            # What was set by an earlier call than the broken one is named as lost instead.
            assert set(calm_watches) <= ({*watches, *lost} if call else {*watches})


@pytest.mark.parametrize("ask", READS, ids=lambda ask: type(ask).__name__)
def test_a_read_in_a_dead_session_ends_the_exchange(world: World, ask: Ask[Any]) -> None:
    """There is nobody left to answer."""
    world.server.expire_session(world.session.session_id)

    with pytest.raises(SessionLost):
        world.ask(ask)


def test_a_connection_that_never_holds_is_a_lost_session() -> None:
    """Every loop has a bound."""
    exchange = perform(ListTopics())
    next(exchange)

    for _ in range(RECONNECTS_MAX - 1):
        exchange.send([Failed(ZkError.CONNECTION_LOSS)])
    with pytest.raises(SessionLost):
        exchange.send([Failed(ZkError.CONNECTION_LOSS)])


def test_an_answer_that_makes_no_sense_is_an_error() -> None:
    """An ACL that keeps us out must not look like an empty cluster."""
    exchange = perform(ListTopics())
    next(exchange)

    with pytest.raises(RegentError, match="NO_AUTH"):
        exchange.send([Failed(ZkError.NO_AUTH)])


def test_every_ask_but_those_of_chance_is_carried_out_here() -> None:
    """An ask that is added and forgotten here would stop a controller in mid-flight."""
    asks = {ask.__name__ for ask in Ask.__subclasses__()}

    assert asks - {ask.__name__ for ask in PERFORMERS} == {"DrawNumbers", "MintTopicIds"}
