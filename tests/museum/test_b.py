"""Bounced brokers and stale requests: faults of Kafka's history, provoked by hand."""

from typing import Any

import pytest

from regent.broker.log import MemoryLogDirectory
from regent.core.asks import Ask
from regent.core.channel import Channel
from regent.core.effects import Send
from regent.core.events import ReassignmentsRequested
from regent.model.admin_requests import AlterReassignments
from regent.model.control_requests import ControlAnswer, LeaderAndIsr, StopReplica
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, ControllerEpoch
from tests.museum.by_hand import (
    CHANGED,
    is_deletion,
    known,
    lone_partition,
    obey,
    requests_to,
    succeed,
)
from tests.support.builders import assignment, broker_epoch, ids, leadership
from tests.support.moves import ask_for_moves, grow, stored_assignment, target
from tests.support.scene import Scene
from tests.unit.broker.wiring import B1, B3, T0, broker
from tests.unit.broker.wiring import leadership as told_leadership


@pytest.mark.fault("F32")
def test_a_deletion_meant_for_an_earlier_life_deletes_nothing_in_the_next() -> None:
    """It waited in some buffer while the broker bounced and was given the replica again."""
    lone = lone_partition()
    runs = [ask_for_moves(lone, ("t", 0, (2,))), grow(lone, known(lone), 1, 2)]
    held = next(request for request in requests_to(1, runs) if is_deletion(request))
    directory = MemoryLogDirectory()
    directory.open(T0).append(told_leadership(epoch=0).leader_epoch, ["kept"])

    next_life = broker(B1, directory=directory)
    next_life.registered(broker_epoch(1, life=2))
    answer = obey(next_life, held)

    assert answer == ControlAnswer(ErrorCode.STALE_BROKER_EPOCH)
    assert directory.open(T0).end_offset == 1


@pytest.mark.fault("F34")
def test_a_replica_moved_away_and_back_survives_the_deletion_that_comes_last() -> None:
    """Same broker, same life, same controller: only the leader epoch tells it from a new one."""
    lone = lone_partition()
    runs = [
        ask_for_moves(lone, ("t", 0, (2,))),
        grow(lone, known(lone), 1, 2),
        ask_for_moves(lone, ("t", 0, (1,))),
        grow(lone, known(lone), 2, 1),
    ]
    directory = MemoryLogDirectory()
    core = broker(B1, directory=directory, live=())
    core.registered(broker_epoch(1))
    requests = requests_to(1, runs)
    late = next(request for request in requests if is_deletion(request))

    for request in requests:
        if request is not late:
            obey(core, request)
    answer = obey(core, late)

    assert answer == ControlAnswer(partition_errors=((T0, ErrorCode.FENCED_LEADER_EPOCH),))
    assert (core.leads(), directory.names()) == ((T0,), (T0,))


@pytest.mark.fault("F35")
def test_leaderships_delivered_in_reverse_order_leave_the_last_one() -> None:
    """Two brokers died one after the other, and the news of it arrived the other way round."""
    scene = Scene().in_office()
    scene.live(1, 2, 3)
    led = scene.partition(leadership=leadership(1, (1, 2, 3)))
    runs = []
    for dead in (1, 2):
        scene.memory.lose(dead)
        runs.append(scene.handle(CHANGED))
    orders = [r for r in requests_to(3, runs) if isinstance(r, LeaderAndIsr)]
    core = broker(B3)

    codes = [code for o in reversed(orders) for _, code in obey(core, o).partition_errors]

    assert codes == [ErrorCode.NONE] + [ErrorCode.STALE_CONTROLLER_EPOCH] * (len(orders) - 1)
    assert len(orders) >= 2
    assert core.leads() == (T0,)
    assert core.hosted[T0].leader_epoch == scene.stored(led).leader_epoch


@pytest.mark.fault("F38")
def test_a_late_answer_does_not_confirm_the_request_that_came_next() -> None:
    """The first was sent twice, and answered twice; the second answer finds another request."""
    first, second = (
        StopReplica(BrokerId(100), ControllerEpoch(epoch), broker_epoch(1), ()) for epoch in (1, 2)
    )
    channel: Channel[StopReplica] = Channel(B1, broker_epoch(1))
    channel.put(first)
    channel.put(second)
    channel.next_to_send()
    sent_as = channel.head_number
    channel.failed()
    again = channel.next_to_send()
    confirmed = channel.answered(sent_as)
    following = channel.next_to_send()

    late = channel.answered(sent_as)

    assert (again, confirmed, following, late) == (first, first, second, None)
    assert channel.answered(channel.head_number) == second


@pytest.mark.fault("F41")
def test_a_send_that_fails_in_the_middle_of_a_batch_costs_the_office_and_nothing_else() -> None:
    """After each of the sends in turn: the next controller has a higher epoch and works."""
    count = 0
    while True:
        scene = Scene().in_office()
        scene.live(1, 2, 3)
        scene.partition(leadership=leadership(1, (1, 2, 3)))
        scene.memory.lose(1)
        if not _fails_at_send(scene, count):
            break
        scene.run(scene.controller.give_up("OSError: the send failed"))
        assert (scene.state.is_active, scene.memory.holder) == (False, None)

        successor = succeed(scene)
        assert successor.state.is_active
        assert successor.state.controller_epoch == 2
        successor.memory.lose(2)
        successor.handle(CHANGED)
        stored = successor.stored(known(successor))
        assert (stored.leader, stored.isr) == (3, (3,))
        count += 1
    assert count >= 4


def _fails_at_send(scene: Scene, number: int) -> bool:
    """Handle the death of a broker until so many requests were sent; whether there was one more."""
    procedure = scene.controller.handle(CHANGED)
    answer: Any = None
    try:
        while True:
            step = procedure.send(answer)
            answer = scene.memory.answer(step) if isinstance(step, Ask) else None
            if isinstance(step, Send):
                number -= 1
            if number < 0:
                procedure.throw(OSError("the send failed"))
    except StopIteration:
        return False
    except OSError:
        return True


@pytest.mark.fault("F43")
def test_a_move_whose_handling_is_broken_off_anywhere_is_ended_by_the_next_controller() -> None:
    """Being broken off is no error to handle: nothing is done, sent or written because of it."""
    count = 0
    while True:
        scene = Scene().in_office()
        scene.live(1, 2)
        scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
        request = AlterReassignments((target("t", 0, (2,)),))
        procedure = scene.controller.handle(ReassignmentsRequested(0, 5, request))
        if _ends_within(scene, procedure, count):
            break
        procedure.close()

        successor = succeed(scene)
        if not known(successor).assignment.is_reassigning:
            ask_for_moves(successor, ("t", 0, (2,)))
        grow(successor, known(successor), 1, 2)
        assert stored_assignment(successor, known(successor)) == assignment(2)
        assert successor.stored(known(successor)).isr == ids(2)
        count += 1
    assert count >= 10


def _ends_within(scene: Scene, procedure: Any, count: int) -> bool:
    answer: Any = None
    try:
        for _ in range(count):
            step = procedure.send(answer)
            answer = scene.memory.answer(step) if isinstance(step, Ask) else None
    except StopIteration:
        return True
    return False
