"""Blocks of producer ids: one after the other, never one twice."""

import pytest

from regent.errors import CorruptZnode, RegentError
from regent.zookeeper.exchange import run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.producer_ids import (
    PRODUCER_IDS,
    ProducerIdBlock,
    decode_producer_ids,
    encode_producer_ids,
    take_producer_ids,
)
from regent.zookeeper.store import Create, SetData
from tests.unit.zookeeper.world import (
    B1,
    B2,
    Fault,
    FaultySession,
    World,
    run_with_interference,
)


def test_the_first_block_starts_at_zero_and_is_written_as_kafka_does() -> None:
    world = World()

    assert run(world.session, take_producer_ids(B2)) == ProducerIdBlock(B2, 0, 999)

    content, version = world.contents()[PRODUCER_IDS]
    assert content == b'{"version":1,"broker":2,"block_start":"0","block_end":"999"}'
    assert version == 1


def test_the_next_block_follows_whatever_its_size_was() -> None:
    world = World()
    world.write(SetData(PRODUCER_IDS, encode_producer_ids(ProducerIdBlock(B1, 3000, 3499))))

    assert run(world.session, take_producer_ids(B2)) == ProducerIdBlock(B2, 3500, 4499)


def test_a_missing_znode_is_made() -> None:
    """`ensure_paths` makes it; somebody may have tidied up."""
    session = MemorySession(MemoryZooKeeper())

    assert run(session, take_producer_ids(B1)) == ProducerIdBlock(B1, 0, 999)


def test_who_is_slower_gets_the_next_block() -> None:
    """Even when the faster one asked for the same broker: its block is not ours."""
    world = World()

    def interfere() -> None:
        assert run(MemorySession(world.server), take_producer_ids(B1)).first_id == 0

    block = run_with_interference(world.session, take_producer_ids(B1), interfere, after=1)

    assert block == ProducerIdBlock(B1, 1000, 1999)


@pytest.mark.parametrize(("applied", "first_id"), [(False, 0), (True, 1000)])
def test_after_a_lost_connection_ids_may_be_skipped_and_do_not_repeat(
    applied: bool,  # noqa: FBT001 - a parameter of the test
    first_id: int,
) -> None:
    world = World()
    session = FaultySession(world.session, Fault(call=1, position=0, applied=applied))

    assert run(session, take_producer_ids(B1)).first_id == first_id


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"version":1,"broker":2,"block_start":0,"block_end":999}',
        b'{"version":1,"broker":2,"block_start":"9","block_end":"0"}',
        b'{"version":1,"broker":2,"block_start":"-1","block_end":"0"}',
    ],
)
def test_what_cannot_be_read_is_not_guessed(content: bytes) -> None:
    with pytest.raises(CorruptZnode, match=PRODUCER_IDS):
        decode_producer_ids(content)


def test_there_is_an_end() -> None:
    last = ProducerIdBlock(B1, 0, 2**63 - 1 - 1000)
    world = World()
    world.write(SetData(PRODUCER_IDS, encode_producer_ids(last)))

    with pytest.raises(RegentError, match="used up"):
        run(world.session, take_producer_ids(B1))


def test_null_is_no_block_yet() -> None:
    session = MemorySession(MemoryZooKeeper())
    session.call((Create(PRODUCER_IDS, None),))

    assert run(session, take_producer_ids(B1)).first_id == 0
