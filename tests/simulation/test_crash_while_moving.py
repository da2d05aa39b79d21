"""A controller may die between any two writes of a move; its successor knows what was wanted."""

from collections.abc import Callable

import pytest
from msgspec import Struct

from regent.core.events import (
    AlterPartitionRequested,
    ReassignmentsRequested,
    ReassignmentZnodeChanged,
    TopicDeletionsChanged,
)
from regent.model.admin_requests import AlterReassignments, ReassignmentTarget
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from regent.zookeeper.reassignment_znode import encode_reassignments
from regent.zookeeper.store import Create
from regent.zookeeper.znodes import decode_topic
from tests.support.interrupted import Died, Ground, Reign, one_write_at_a_time

__all__ = ["one_write_at_a_time"]

#: More writes than any move here makes; a loop that needs more has gone wrong.
WRITES_MAX = 100
#: More rounds than any move here needs to be told of all that its leader does.
ROUNDS_MAX = 10


class Move(Struct, frozen=True):
    """What is asked for while the first controller is in office, and again of its successor."""

    name: str
    act: Callable[[Ground, Reign], None]
    change: Callable[[Ground], None] = lambda _ground: None
    #: Whether the successor comes to the end of what it finds before it is asked again. A move
    #: that has ended cannot be cancelled any more.
    ends_first: bool = True


def prepare() -> Ground:
    """Five brokers, two topics, a first controller that has come and gone."""
    ground = Ground()
    ground.register(1, 2, 3, 4, 5)
    ground.write_topic("orders", (1, 2, 3), (2, 3))
    ground.write_topic("clicks", (1,))
    first = ground.controller(9)
    first.stand()
    first.die()
    return ground


# --- what happens -------------------------------------------------------------------------------


def ask_for(reign: Reign, *replicas: int, topic: str = "orders") -> None:
    """A caller wants the first partition moved, or without replicas its move cancelled."""
    wanted = tuple(map(BrokerId, replicas)) or None
    request = AlterReassignments((ReassignmentTarget(topic, 0, wanted),))
    reign.handle(ReassignmentsRequested(0, 1, request))


def catch_up(ground: Ground, reign: Reign, *broker_ids: int) -> None:
    """Replicas of the moving partitions catch up, and their leaders ask for them: these, or all."""
    for partition in list(reign.controller.state.reassigning):
        assignment, led = partition.assignment, ground.leadership(*partition.name)
        coming = [r for r in assignment.target if not broker_ids or r in broker_ids]
        isr = tuple(dict.fromkeys((*led.isr, *coming)))
        broker_epoch = reign.controller.state.broker_epoch(led.leader)
        assert broker_epoch is not None, "everybody lives here"
        proposal = IsrProposal(*partition.name, led.leader_epoch, isr, led.zk_version)
        request = AlterPartition(led.leader, broker_epoch, (proposal,), version=1)
        reign.handle(AlterPartitionRequested(0, 2, request))


def settle(ground: Ground, reign: Reign) -> None:
    """All moves that are known come to their end."""
    for _ in range(ROUNDS_MAX):
        if not reign.controller.state.reassigning:
            return
        catch_up(ground, reign)
    pytest.fail("a move does not end")


def move(ground: Ground, reign: Reign) -> None:
    """One move, from beginning to end."""
    ask_for(reign, 4, 3)
    catch_up(ground, reign, 4)
    settle(ground, reign)


def widen(ground: Ground, reign: Reign) -> None:
    """Nothing is removed, and the leader stays."""
    ask_for(reign, 1, 4, 5, topic="clicks")
    settle(ground, reign)


def reorder(_ground: Ground, reign: Reign) -> None:
    """No data moves."""
    ask_for(reign, 3, 2, 1)


def replace(ground: Ground, reign: Reign) -> None:
    """Another target while some of the first is in sync."""
    ask_for(reign, 4, 5)
    catch_up(ground, reign, 4)
    ask_for(reign, 5, 1)
    settle(ground, reign)


def cancel(ground: Ground, reign: Reign) -> None:
    """Back, while some of the target is in sync."""
    ask_for(reign, 4, 5, 1)
    catch_up(ground, reign, 4)
    ask_for(reign)


def leave_plan(ground: Ground) -> None:
    """A tool wants one move, no move, and the impossible."""
    targets = {("orders", 0): (4, 5), ("orders", 1): (2, 3), ("ghost", 0): (1,)}
    plan = {
        TopicPartition(*name): tuple(map(BrokerId, replicas)) for name, replicas in targets.items()
    }
    ground.operator.call([Create(paths.REASSIGNMENT, encode_reassignments(plan))])


def follow_plan(ground: Ground, reign: Reign) -> None:
    """The watch fires, the replicas catch up."""
    reign.handle(ReassignmentZnodeChanged(0))
    settle(ground, reign)


def overrule_plan(ground: Ground, reign: Reign) -> None:
    """A caller wants something else than the plan."""
    reign.handle(ReassignmentZnodeChanged(0))
    ask_for(reign, 5, 2)
    settle(ground, reign)


def delete_meanwhile(ground: Ground, reign: Reign) -> None:
    """The topic is marked while one of its partitions moves."""
    ask_for(reign, 4, 3)
    ground.mark_for_deletion("orders")
    reign.handle(TopicDeletionsChanged(0))
    settle(ground, reign)
    reign.confirm_deletions()


MOVES = [
    Move("moves", move),
    Move("widens", widen),
    Move("reorders", reorder),
    Move("replaces", replace),
    Move("cancels", cancel, ends_first=False),
    Move("follows a plan", follow_plan, leave_plan),
    Move("overrules a plan", overrule_plan, leave_plan),
]


# --- what must be -------------------------------------------------------------------------------


def assignments(ground: Ground) -> dict[TopicPartition, Assignment]:
    """What the topics' znodes say."""
    return {
        TopicPartition(path.rpartition("/")[2], index): assignment
        for path, (data, _) in ground.server.dump().items()
        if path.startswith(f"{paths.TOPICS}/") and path.count("/") == 3
        for index, assignment in decode_topic(path, data).partitions.items()
    }


def end_of(ground: Ground) -> object:
    """Who holds what, and what is left of a plan. Leaders may be others after more elections."""
    held = assignments(ground)
    in_sync = {name: sorted(ground.leadership(*name).isr) for name in held}
    return held, in_sync, ground.server.peek(paths.REASSIGNMENT)


def assert_sound(ground: Ground) -> None:
    """Nothing is left of what was dropped, and every leader is one of its replicas."""
    for name, assignment in assignments(ground).items():
        led = ground.leadership(*name)
        assert set(led.isr) <= set(assignment.replicas), f"{name}: {led} on {assignment}"
        assert led.leader in assignment.replicas, f"{name}: {led} on {assignment}"
        assert not set(assignment.adding) & set(assignment.removing), f"{name}: {assignment}"


def assert_settled(ground: Ground) -> None:
    """Nothing moves, and all replicas are in sync."""
    for name, assignment in assignments(ground).items():
        assert not assignment.is_reassigning
        assert sorted(ground.leadership(*name).isr) == sorted(assignment.replicas)


def run(moving: Move, writes_to_live: int | None) -> tuple[object, bool]:
    """How it ends with a successor, and whether the first controller died."""
    ground = prepare()
    reign = ground.controller(7)
    reign.stand()
    moving.change(ground)
    reign.session.writes_to_live = writes_to_live
    died = False
    try:
        moving.act(ground, reign)
    except Died:
        died = True
    reign.die()
    successor = ground.controller(8)
    successor.stand()
    assert_sound(ground)
    if moving.ends_first:
        settle(ground, successor)
        assert_settled(ground)
    moving.act(ground, successor)
    assert_settled(ground)
    return end_of(ground), died


@pytest.mark.requirement("A2", "A3", "A4", "A5")
@pytest.mark.usefixtures("one_write_at_a_time")
@pytest.mark.parametrize("moving", MOVES, ids=lambda moving: moving.name)
def test_a_successor_goes_on_with_a_move(moving: Move) -> None:
    """Whatever the n-th write was: origin and target are known, and nothing dropped is left."""
    whole, died = run(moving, None)

    assert not died
    for writes in range(1, WRITES_MAX):
        end, died = run(moving, writes)
        assert end == whole, f"died behind write {writes}"
        if not died:
            return
    pytest.fail(f"{moving.name}: more than {WRITES_MAX} writes")


@pytest.mark.requirement("T3")
@pytest.mark.usefixtures("one_write_at_a_time")
def test_a_successor_ends_the_move_and_then_deletes_the_topic() -> None:
    """The deletion waits for the move, in whosever reign that ends."""
    for writes in range(1, WRITES_MAX):
        ground = prepare()
        reign = ground.controller(7)
        reign.stand()
        reign.session.writes_to_live = writes
        died = False
        try:
            delete_meanwhile(ground, reign)
        except Died:
            died = True
        reign.die()
        ground.mark_for_deletion("orders")
        successor = ground.controller(8)
        successor.stand()
        settle(ground, successor)
        successor.confirm_deletions()
        assert [name.topic for name in assignments(ground)] == ["clicks"], f"write {writes}"
        if not died:
            return
    pytest.fail(f"more than {WRITES_MAX} writes")
