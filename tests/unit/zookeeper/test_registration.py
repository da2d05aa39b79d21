"""What brokers write by themselves: registrations, ISRs of old leaders, announcements."""

import pytest

from regent.errors import BrokerIdTaken, SessionLost
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerEpoch, BrokerId, TopicPartition, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import encode_broker
from regent.zookeeper.exchange import Exchange, run
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.registration import (
    announce_isr_changes,
    register_broker,
    write_isr_directly,
)
from regent.zookeeper.store import Create, Delete, Session, SetData
from regent.zookeeper.znodes import encode_leadership
from tests.unit.zookeeper.world import (
    B1,
    B2,
    Fault,
    FaultySession,
    World,
    leadership,
    run_with_interference,
)

B31 = BrokerId(31)
BROKER = Broker(B31, (Endpoint("h", 9092),))
PATH = "/brokers/ids/31"
T0 = TopicPartition("t", 0)


@pytest.fixture
def world() -> World:
    return World()


def registering(
    session: Session, broker: Broker = BROKER, *, previous: int | None = None
) -> Exchange[BrokerEpoch]:
    return register_broker(
        broker, session_id=session.session_id, previous_session_id=previous, now_ms=0
    )


# --- registrations --------------------------------------------------------------------------


def test_a_fresh_registration_has_version_1_and_its_czxid_for_an_epoch(world: World) -> None:
    """Created empty and then filled, in one step, as Kafka does since 2.2."""
    broker_epoch = run(world.session, registering(world.session))

    found = world.server.peek(PATH)
    assert found is not None
    assert found.data == encode_broker(BROKER, now_ms=0)
    assert (found.stat.version, found.stat.czxid) == (1, broker_epoch)
    assert found.stat.ephemeral_owner == world.session.session_id


@pytest.mark.behaviour("zk-011", "zk-032")
def test_a_second_registration_changes_nothing(world: World) -> None:
    """By the same session it is accepted as its own; by another the id is taken."""
    first = run(world.session, registering(world.session))
    before = world.server.peek(PATH)
    other = MemorySession(world.server)

    again = run(world.session, registering(world.session, Broker(B31, rack="r")))
    with pytest.raises(BrokerIdTaken) as caught:
        run(other, registering(other, previous=77))

    assert again == first
    assert (caught.value.broker_id, caught.value.owner_session_id) == (
        B31,
        world.session.session_id,
    )
    assert world.server.peek(PATH) == before


@pytest.mark.fault("F19")
@pytest.mark.behaviour("zk-012")
def test_the_registration_of_the_previous_session_is_replaced(world: World) -> None:
    """A new life must have a new epoch, or messages to the old one would still be valid."""
    previous = run(world.session, registering(world.session))
    session = MemorySession(world.server)

    broker_epoch = run(session, registering(session, previous=world.session.session_id))

    found = world.server.peek(PATH)
    assert found is not None
    assert broker_epoch == found.stat.czxid > previous
    assert found.stat.ephemeral_owner == session.session_id


def test_a_previous_registration_that_expires_meanwhile_is_no_obstacle(world: World) -> None:
    """The race between the server's clock and the broker's restart."""
    run(world.session, registering(world.session))
    session = MemorySession(world.server)

    for after in (1, 2):
        run_with_interference(
            session,
            registering(session, previous=world.session.session_id),
            lambda: world.server.expire_session(world.session.session_id),
            after=after,
        )

        found = world.server.peek(PATH)
        assert found is not None
        assert found.stat.ephemeral_owner == session.session_id


@pytest.mark.fault("F17")
def test_a_registration_survives_a_lost_connection() -> None:
    """Whether or not it arrived there is one registration, made once."""
    for applied in (True, False):
        world = World()
        faulty = FaultySession(world.session, Fault(0, 0, applied))

        broker_epoch = run(faulty, registering(world.session))

        found = world.server.peek(PATH)
        assert found is not None
        assert (found.stat.version, found.stat.czxid) == (1, broker_epoch)


def test_a_dead_session_registers_nobody(world: World) -> None:
    """An ephemeral needs an owner."""
    world.server.expire_session(world.session.session_id)

    with pytest.raises(SessionLost):
        run(world.session, registering(world.session))


# --- ISRs written by leaders ----------------------------------------------------------------


@pytest.mark.behaviour("zk-034")
def test_a_leaders_stale_write_succeeds_only_if_it_says_what_is_stored(world: World) -> None:
    """The version may be stale because its own earlier write had arrived."""
    stored = leadership(B1, isr=(B1, B2), epoch=1, version=1)
    world.add_topic("t", stored)
    same = leadership(B1, isr=(B1, B2), epoch=1, version=0)
    other = leadership(B1, isr=(B1,), epoch=1, version=0)

    assert run(world.session, write_isr_directly(T0, same)) == 1
    assert run(world.session, write_isr_directly(T0, other)) is None
    assert world.server.dump()[paths.partition_state("t", 0)] == (encode_leadership(stored), 1)


def test_a_leader_writes_its_isr_with_the_right_version(world: World) -> None:
    """The version that comes back is the one to expect next time."""
    world.add_topic("t", leadership())
    shrunk = leadership(isr=(B1,))

    assert run(world.session, write_isr_directly(T0, shrunk)) == 1
    assert world.server.dump()[paths.partition_state("t", 0)] == (encode_leadership(shrunk), 1)


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_leader_does_not_overwrite_what_it_cannot_read(
    world: World, content: bytes | None
) -> None:
    """It is refused, as with any other stranger's write."""
    world.add_topic("t", leadership())
    world.write(SetData(paths.partition_state("t", 0), content))

    assert run(world.session, write_isr_directly(T0, leadership(isr=(B1,)))) is None


def test_a_leader_of_a_deleted_partition_is_refused(world: World) -> None:
    """Nothing is created by a leader."""
    world.add_topic("t", leadership())
    world.write(Delete(paths.partition_state("t", 0)))

    assert run(world.session, write_isr_directly(T0, leadership())) is None


def test_a_leader_does_not_write_into_another_life_of_its_partition(world: World) -> None:
    """The version fits again after a new creation, but the decision was made on the old one."""
    world.add_topic("t", leadership(version=1))
    path = paths.partition_state("t", 0)
    reborn = encode_leadership(leadership(B2))

    answer = run_with_interference(
        world.session,
        write_isr_directly(T0, leadership(isr=(B1,))),
        lambda: world.write(Delete(path), Create(path, reborn)),
        after=1,
    )

    assert answer is None
    assert world.server.dump()[path] == (reborn, 0)


def test_a_leaders_write_survives_a_lost_connection() -> None:
    """Written once, and the right version known, whether or not it arrived."""
    for applied in (True, False):
        world = World()
        world.add_topic("t", leadership())
        session = FaultySession(world.session, Fault(0, 0, applied))

        answer = run(session, write_isr_directly(T0, leadership(isr=(B2,))))

        assert answer == ZkVersion(1)
        assert world.server.dump()[paths.partition_state("t", 0)][1] == 1


@pytest.mark.behaviour("zk-018")
def test_isr_changes_are_announced_in_sequence(world: World) -> None:
    """The controller reads them in this order and deletes what it has read."""
    x, y = TopicPartition("x", 0), TopicPartition("y", 0)

    names = [run(world.session, announce_isr_changes(each)) for each in ((x, y), (y,))]

    assert names == ["isr_change_0000000000", "isr_change_0000000001"]
    contents = world.contents()
    assert [contents[paths.isr_notification(name)][0] for name in names] == [
        b'{"version":1,"partitions":[{"topic":"x","partition":0},{"topic":"y","partition":0}]}',
        b'{"version":1,"partitions":[{"topic":"y","partition":0}]}',
    ]
