"""ISRs, leaders and lists of brokers: faults of Kafka's history, provoked by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from regent.core.asks import Ask, WriteLeaderships
from regent.core.effects import OpenChannel
from regent.core.events import IsrChangesNotified
from regent.model.control_requests import LeaderAndIsr
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER
from regent.zookeeper import paths
from regent.zookeeper.store import Answered, Create, Done, GetChildren, Request
from tests.museum.by_hand import CHANGED
from tests.support.builders import assignment, ids, leadership
from tests.support.interrupted import Ground
from tests.support.moves import ask_for_moves, grow, stored_assignment
from tests.support.scene import Scene
from tests.unit.broker.wiring import ALL, B1, B2, T0, Wiring, leader_and_isr
from tests.unit.broker.wiring import leadership as told_leadership


@pytest.mark.fault("F44")
def test_replicas_stopped_one_after_another_leave_an_isr_with_its_last_member() -> None:
    """Nobody leads in the end, and the one that has all records is still known."""
    ground = Ground()
    ground.register(1, 2, 3)
    ground.write_topic("t", (1, 2, 3))
    reign = ground.controller(100)
    reign.stand()
    seen = []

    for stopped in (1, 3, 2):
        ground.lose(stopped)
        reign.handle(CHANGED)
        led = ground.leadership("t", 0)
        seen.append((led.leader, led.isr))

    assert seen == [(2, (2, 3)), (2, (2,)), (NO_LEADER, (2,))]


@pytest.mark.fault("F49")
def test_a_leader_puts_up_with_a_member_that_is_no_replica_until_it_can_be_removed() -> None:
    """It was told the narrow list; the ISR still has the other, which goes on fetching."""
    wiring = Wiring(*ALL)
    wiring.elect(T0, B1, ALL)
    wiring.append(B1, T0, "before", 1)
    before = wiring.states[T0]
    narrow = told_leadership(B1, before.leader_epoch + 1, ALL, before.zk_version + 1)
    wiring.states[T0] = narrow

    for told in (B1, B2):
        order = leader_and_isr((T0, narrow), replicas=(B1, B2))
        wiring.brokers[told].leader_and_isr(order, wiring.now_ms)
    wiring.append(B1, T0, "after", 2)
    wiring.run_for(60_000)

    assert wiring.states[T0].isr == (B1, B2)
    assert wiring.answers[2].error is ErrorCode.NONE
    assert [wiring.values(b, T0) for b in (B1, B2)] == [["before", "after"]] * 2


@pytest.mark.fault("F49")
def test_a_removed_replica_that_the_leader_takes_back_in_between_is_removed_again() -> None:
    """The leader wrote just before the controller did, and did not know better."""
    scene = Scene().in_office()
    scene.live(5, 6, 7, 8)
    moved = scene.partition(replicas=(5, 6, 7), leadership=leadership(5, (5, 6, 7)))
    ask_for_moves(scene, ("t", 0, (5, 7, 8)))
    raced: list[Ask[Any]] = []

    def take_back(ask: Ask[Any]) -> None:
        if isinstance(ask, WriteLeaderships) and 6 not in ask.writes[0].leadership.isr:
            if len(raced) < 3:
                scene.overwrite(moved, isr=ids(5, 6, 7, 8))
            raced.append(ask)

    scene.memory.before_write = take_back
    grow(scene, moved, 5, 6, 7, 8)

    assert len(raced) == 4
    assert scene.stored(moved).isr == ids(5, 7, 8)
    assert stored_assignment(scene, moved) == assignment(5, 7, 8)


@pytest.mark.fault("F50")
def test_a_handled_notification_is_removed_where_it_is_and_nothing_else_is() -> None:
    """The first repair in Kafka looked for it below the changes of configs."""
    ground = Ground()
    ground.register(1, 2)
    ground.write_topic("t", (1, 2))
    reign = ground.controller(100)
    reign.stand()
    change = Create(f"{paths.CONFIG_CHANGES}/isr_change_0000000000", b"{}")
    notification = Create(
        f"{paths.ISR_NOTIFICATIONS}/isr_change_",
        b'{"version":1,"partitions":[{"topic":"t","partition":0}]}',
        sequential=True,
    )
    for reply in ground.operator.call([change, notification]):
        assert isinstance(reply, Done)

    reign.handle(IsrChangesNotified(0))

    left = [p for p in ground.server.dump() if "isr_change_0" in p]
    assert left == [change.path]


@pytest.mark.fault("F52")
def test_thirty_brokers_that_came_while_nobody_looked_are_all_met_by_the_first_event() -> None:
    """The other twenty-nine events find nothing to do: an event says look, not what."""
    scene = Scene().in_office()
    scene.live(1)
    for index in range(30):
        scene.partition("t", index, (1, index + 2), leadership=leadership(1, (1,)))
    scene.memory.register(*range(2, 32))

    first, *others = [scene.handle(CHANGED) for _ in range(30)]

    opened = [e.broker.broker_id for e in first.effects if isinstance(e, OpenChannel)]
    assert opened == list(range(2, 32))
    assert first.lines.count("ReadBrokers") == 1
    hosts = {s.broker_id for s in first.sends if isinstance(s.request, LeaderAndIsr)}
    assert hosts >= set(range(2, 32))
    assert [other.lines for other in others] == [["ReadBrokers"]] * 29


@pytest.mark.fault("F53")
@pytest.mark.parametrize(("gone", "left"), [(4, (1, 2, 3)), (1, (2, 3, 4))])
def test_a_broker_that_goes_between_the_list_and_its_data_is_dead_and_not_alive(
    monkeypatch: pytest.MonkeyPatch, gone: int, left: tuple[int, ...]
) -> None:
    """Broker 4 has just come, and broker 1 leads; whichever goes, one look says one thing."""
    ground = Ground()
    ground.register(1, 2, 3)
    ground.write_topic("t", (1, 2, 3))
    reign = ground.controller(100)
    reign.stand()
    ground.register(4)
    look = reign.session.call

    def look_and_lose(requests: Sequence[Request]) -> list[Answered]:
        replies = look(requests)
        lists = any(isinstance(r, GetChildren) and r.path == paths.BROKER_IDS for r in requests)
        if lists and not ground.is_down(gone):
            ground.lose(gone)
        return replies

    monkeypatch.setattr(reign.session, "call", look_and_lose)
    reign.handle(CHANGED)

    assert tuple(sorted(reign.controller.state.brokers)) == left
    assert ground.leadership("t", 0).leader == (1 if gone == 4 else 2)
    assert reign.controller.state.isolated == {}
