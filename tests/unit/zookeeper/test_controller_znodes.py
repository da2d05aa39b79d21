"""Where Regent's own controllers say where they listen."""

import pytest

from regent.core.asks import Malformed
from regent.errors import ControllerIdTaken, CorruptZnode
from regent.model.brokers import Endpoint
from regent.model.cluster_requests import NodeAddress
from regent.model.ids import BrokerId
from regent.zookeeper.controller_znodes import (
    CONTROLLERS,
    controller_path,
    decode_controller_address,
    encode_controller_address,
    read_controllers,
    register_controller,
)
from regent.zookeeper.exchange import run
from regent.zookeeper.memory import MemoryZooKeeper
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import Create
from tests.unit.zookeeper.world import Fault, FaultySession

NODE = BrokerId(100)
OWN = Endpoint("one.example", 9092)


def register(session: MemorySession, previous: int | None = None) -> None:
    run(
        session,
        register_controller(NODE, OWN, session_id=session.session_id, previous_session_id=previous),
    )


def test_it_is_there_as_long_as_its_session() -> None:
    server = MemoryZooKeeper()
    session, reader = MemorySession(server), MemorySession(server)
    assert run(reader, read_controllers()) == {}

    register(session)
    assert run(reader, read_controllers()) == {NODE: NodeAddress(NODE, "one.example", 9092)}

    session.close()
    assert run(reader, read_controllers()) == {}


def test_the_address_has_a_form() -> None:
    content = b'{"version":1,"host":"one.example","port":9092}'

    assert encode_controller_address(OWN) == content
    assert decode_controller_address(NODE, content) == NodeAddress(NODE, "one.example", 9092)


@pytest.mark.parametrize(
    "content", [None, b"", b"{}", b'{"version":1,"host":"","port":1}', b'{"version":1,"host":"a"}']
)
def test_anything_else_is_said_to_be_wrong(content: bytes | None) -> None:
    with pytest.raises(CorruptZnode, match="/regent/controllers/100"):
        decode_controller_address(NODE, content)


def test_one_that_cannot_be_read_spoils_no_other() -> None:
    server = MemoryZooKeeper()
    session = MemorySession(server)
    register(session)
    session.call((Create(f"{CONTROLLERS}/101", b"?"), Create(f"{CONTROLLERS}/nobody")))

    found = run(session, read_controllers())

    assert found[NODE] == NodeAddress(NODE, "one.example", 9092)
    assert isinstance(found[BrokerId(101)], Malformed)
    assert len(found) == 2


def test_the_previous_life_is_replaced_and_another_is_not() -> None:
    server = MemoryZooKeeper()
    first, second, third = MemorySession(server), MemorySession(server), MemorySession(server)
    register(first)
    register(second, previous=first.session_id)

    with pytest.raises(ControllerIdTaken):
        register(third)


@pytest.mark.parametrize("applied", [True, False])
def test_a_lost_connection_does_not_matter(applied: bool) -> None:  # noqa: FBT001
    server = MemoryZooKeeper()
    session = MemorySession(server)
    for call in (0, 1):
        faulty = FaultySession(session, Fault(call=call, position=0, applied=applied))
        run(
            faulty,
            register_controller(NODE, OWN, session_id=session.session_id, previous_session_id=None),
        )
    found = server.peek(controller_path(NODE))

    assert found is not None
    assert found.stat.ephemeral_owner == session.session_id
