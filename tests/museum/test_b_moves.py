"""Moves of partitions: faults of Kafka's history, provoked by hand."""

import pytest

from regent.core.events import ReassignmentZnodeChanged
from regent.model.control_requests import LeaderAndIsr
from regent.zookeeper import paths
from regent.zookeeper.store import Create
from tests.museum.by_hand import CHANGED, lone_partition, requests_to
from tests.support.builders import assignment, leadership, name
from tests.support.interrupted import Ground
from tests.support.moves import ask_for_moves, leave_plan
from tests.support.scene import Scene
from tests.unit.broker.wiring import B1


@pytest.mark.fault("F61")
@pytest.mark.parametrize("way", ["call", "plan"])
def test_the_first_a_broker_hears_of_a_replica_is_that_it_is_new(way: str) -> None:
    """One with a failed directory would otherwise look for it there and refuse to make it."""
    lone = lone_partition()
    move = ask_for_moves if way == "call" else leave_plan
    run = move(lone, ("t", 0, (1, 2)))

    told = [r for r in requests_to(2, [run]) if isinstance(r, LeaderAndIsr)]
    assert [p.is_new for request in told for p in request.partitions] == [True] * len(told)
    assert told
    to_leader = [r for r in requests_to(1, [run]) if isinstance(r, LeaderAndIsr)]
    assert [p.is_new for request in to_leader for p in request.partitions] == [False]


@pytest.mark.fault("F61")
@pytest.mark.parametrize("what", ["failover", "bounce"])
def test_a_replica_that_never_was_in_sync_is_new_to_the_next_life_and_controller(
    what: str,
) -> None:
    """What was sent before may not have arrived; told otherwise, the broker would refuse it."""
    lone = lone_partition()
    ask_for_moves(lone, ("t", 0, (1, 2)))

    if what == "failover":
        lone.memory.free_role()
        run = Scene(lone.memory, controller_id=101).elect()
    else:
        lone.memory.register(2, life=2)
        run = lone.handle(CHANGED)

    for broker_id, is_new in ((2, True), (1, False)):
        told = [r for r in requests_to(broker_id, [run]) if isinstance(r, LeaderAndIsr)]
        assert {p.is_new for request in told for p in request.partitions} == {is_new}


@pytest.mark.fault("F61")
def test_a_new_controller_does_not_call_a_replica_new_that_is_in_sync() -> None:
    """Its broker has it, or had it in a directory that failed and must say so."""
    scene = Scene().in_office()
    scene.live(1, 2, 3)
    moving = assignment(2, 3, 1, adding=(2, 3), removing=(1,))
    scene.partition(replicas=moving, leadership=leadership(1, (1, 2)))
    scene.memory.free_role()

    run = Scene(scene.memory, controller_id=101).elect()

    first = next(r for r in requests_to(2, [run]) if isinstance(r, LeaderAndIsr))
    assert [p.is_new for p in first.partitions] == [False]


ENTRY = b'{"topic":"t","partition":0,"replicas":[%b]}'
PLAN = b'{"version":1,"partitions":[%b]}'


@pytest.mark.fault("F62")
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not JSON",
        b"[]",
        b'{"version":1}',
        PLAN % b'"t-0"',
        PLAN % b'{"topic":"t","partition":0}',
        PLAN % b'{"topic":"t","partition":"0","replicas":[2]}',
        PLAN % b'{"topic":7,"partition":0,"replicas":[2]}',
        PLAN % (ENTRY % b'"2"'),
        PLAN % (ENTRY % b"-2"),
        PLAN % (ENTRY % b"2.5"),
        PLAN % (ENTRY % b"null"),
    ],
)
def test_a_controller_starts_on_any_plan_and_the_next_plan_is_followed(raw: bytes) -> None:
    """What cannot be followed is removed, so that it breaks no later start either."""
    ground = Ground()
    ground.register(1, 2)
    ground.write_topic("t", (1,))
    ground.operator.call([Create(paths.REASSIGNMENT, raw)])
    reign = ground.controller(100)

    reign.stand()

    assert reign.controller.state.is_active
    assert ground.server.peek(paths.REASSIGNMENT) is None
    assert ground.leadership("t", 0).isr == (B1,)
    ground.operator.call([Create(paths.REASSIGNMENT, PLAN % (ENTRY % b"2"))])
    reign.handle(ReassignmentZnodeChanged(0))
    assert [p.name for p in reign.controller.state.reassigning] == [name("t", 0)]
