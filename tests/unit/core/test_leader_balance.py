"""Leaders that are given to those who should have them: by request, by znode, by the clock."""

from typing import Any

import pytest

from regent.core.asks import Ask, DeleteElectionZnode, Malformed, WriteLeaderships
from regent.core.config import ControllerConfig
from regent.core.effects import SetTimer
from regent.core.events import (
    BrokersChanged,
    ElectionZnodeChanged,
    ElectLeadersRequested,
    SessionStarted,
    TimerRang,
)
from regent.core.leader_balance import ZNODES_MAX
from regent.core.state import Partition
from regent.model.admin_requests import (
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    PartitionResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import BalanceChecked, CallRefused, LeaderElected, ZnodeIsolated
from regent.model.ids import BrokerId, TopicPartition
from regent.model.states import PartitionState
from tests.support.builders import assignment, ids, leadership, name
from tests.support.drive import Run
from tests.support.scene import CONTROLLER, Scene

T0 = name("t", 0)
PREFERRED, UNCLEAN = ElectionType.PREFERRED, ElectionType.UNCLEAN


def elect(
    scene: Scene, election: ElectionType, *names: TopicPartition, everything: bool = False
) -> Run[None]:
    """A caller wants leaders."""
    request = ElectLeaders(election, None if everything else names)
    return scene.handle(ElectLeadersRequested(0, 5, request))


def results_of(run: Run[None]) -> list[tuple[str, int, ErrorCode]]:
    """What the caller hears of each partition, without the words."""
    answer = run.answer(ElectLeadersAnswer)
    assert answer.error is ErrorCode.NONE
    return [(r.topic, r.partition, r.error) for r in answer.results]


def astray(scene: Scene, topic: str = "t", index: int = 0) -> Partition:
    """A partition on 1 and 2 that is led by 2, while 1 is back in the ISR."""
    led = leadership(2, (2, 1), leader_epoch=1, zk_version=4)
    return scene.partition(topic, index, (1, 2), leadership=led)


def leaderless(scene: Scene, index: int = 0) -> Partition:
    """A partition on 8 and 9 whose only in-sync replica, 8, is dead."""
    led = leadership(-1, (8,), leader_epoch=3, zk_version=6)
    return scene.partition("t", index, (8, 9), leadership=led, state=PartitionState.OFFLINE)


# --- by request -------------------------------------------------------------------------------


@pytest.mark.requirement("L1", "S3", "P6")
def test_a_preferred_replica_gets_its_partition_back(scene: Scene) -> None:
    """All replicas are told, and the caller hears of the success when it is durable."""
    scene.live(1, 2, 3)
    partition = astray(scene)

    run = elect(scene, PREFERRED, T0)

    led = "leader=1 isr=2,1 epoch=2 v5"
    shown = "live=1,2,3; t-0 leader=1 isr=2,1 epoch=2 v5 replicas=1,2"
    assert run.lines == [
        "WriteLeaderships t-0 leader=1 isr=2,1 epoch=2 v4",
        f"t-0 OnlinePartition -> OnlinePartition {led}",
        f"1 <- LeaderAndIsr t-0 {led}",
        f"2 <- LeaderAndIsr t-0 {led}",
        f"1 <- UpdateMetadata {shown}",
        f"2 <- UpdateMetadata {shown}",
        f"3 <- UpdateMetadata {shown}",
        "reply to 5: NONE",
    ]
    assert run.answer(ElectLeadersAnswer) == ElectLeadersAnswer(results=(PartitionResult("t", 0),))
    assert scene.stored(partition) == partition.leadership


@pytest.mark.behaviour("prf-010")
def test_partitions_with_the_same_assignment_are_elected_together(scene: Scene) -> None:
    """One batch for all of them, whatever topic they belong to."""
    scene.live(1, 2)
    partitions = [astray(scene, "a"), astray(scene, "b")]

    run = elect(scene, PREFERRED, name("b", 0), name("a", 0))

    assert [scene.state.leader_of(p) for p in partitions] == [1, 1]
    assert results_of(run) == [("b", 0, ErrorCode.NONE), ("a", 0, ErrorCode.NONE)]
    assert len(run.sends) == 4


@pytest.mark.behaviour("prf-011")
@pytest.mark.parametrize("everything", [False, True])
def test_a_preferred_replica_that_leads_needs_no_other(scene: Scene, *, everything: bool) -> None:
    """Said to whoever named the partition, left out for whoever asked for everything."""
    scene.live(1, 2)
    scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)))

    run = elect(scene, PREFERRED, T0, everything=everything)

    assert run.asks == []
    assert results_of(run) == ([] if everything else [("t", 0, ErrorCode.ELECTION_NOT_NEEDED)])


@pytest.mark.behaviour("prf-012")
@pytest.mark.requirement("P7")
def test_every_partition_asked_about_gets_its_own_result(scene: Scene) -> None:
    """In the order they were named, each once, and the refused do not hinder the others."""
    scene.live(1, 2)
    astray(scene)
    lagging = leadership(2, (2,), leader_epoch=1)
    scene.partition("t", 1, (1, 2), leadership=lagging)
    scene.partition("t", 2, (7, 2), leadership=lagging)
    astray(scene, "going")
    scene.state.queue_deletions(["going"])
    asked = [name("t", i) for i in (77, 0, 1, 2)]

    run = elect(scene, PREFERRED, *asked, name("no", 0), name("going", 0), name("t", 0))

    not_available = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refused = [
        PartitionResult("t", 77, unknown, "there is no partition t-77"),
        PartitionResult(
            "t", 1, not_available, "the preferred replica 1 is not in sync; in sync are [2]"
        ),
        PartitionResult("t", 2, not_available, "the preferred replica 7 is not available"),
        PartitionResult("no", 0, unknown, "there is no partition no-0"),
        PartitionResult(
            "going", 0, ErrorCode.INVALID_TOPIC_EXCEPTION, "topic going is being deleted"
        ),
    ]
    elected = PartitionResult("t", 0)
    answer = ElectLeadersAnswer(results=(refused[0], elected, *refused[1:]))
    assert run.answer(ElectLeadersAnswer) == answer
    assert [fact for fact in run.facts if isinstance(fact, CallRefused)] == [
        CallRefused("ElectLeaders", r.error, None, r.topic, r.partition, r.message) for r in refused
    ]


@pytest.mark.requirement("P4")
def test_an_election_that_lost_its_race_says_so(scene: Scene) -> None:
    """The preferred replica is fine; the reason is the machine's."""
    scene.live(1, 2)
    partition = astray(scene)
    scene.memory.before_write = lambda _: scene.overwrite(partition)

    run = elect(scene, PREFERRED, T0)

    (result,) = run.answer(ElectLeadersAnswer).results
    assert result.message == "lost 10 races in a row"


@pytest.mark.behaviour("unc-011")
@pytest.mark.requirement("S1")
def test_an_operator_overrides_the_config(scene: Scene) -> None:
    """Whoever asks for an unclean election has read what it costs."""
    scene.live(9)
    scene.memory.configs["t"] = {"unclean.leader.election.enable": "false"}
    partition = leaderless(scene)

    run = elect(scene, UNCLEAN, T0)

    assert scene.stored(partition) == leadership(
        9, (9,), leader_epoch=4, zk_version=7, recovering=True
    )
    assert results_of(run) == [("t", 0, ErrorCode.NONE)]
    assert scene.state.unclean_election_count == 1


@pytest.mark.behaviour("unc-012")
def test_many_partitions_can_be_elected_uncleanly_at_once(scene: Scene) -> None:
    """One request for a whole broken topic."""
    scene.live(9)
    leaderless(scene, 0)
    leaderless(scene, 1)

    run = elect(scene, UNCLEAN, T0, name("t", 1))

    assert results_of(run) == [("t", 0, ErrorCode.NONE), ("t", 1, ErrorCode.NONE)]
    assert scene.state.unclean_election_count == 2


@pytest.mark.behaviour("unc-013", "unc-014")
@pytest.mark.parametrize("everything", [True, False])
def test_a_live_leader_is_not_replaced_uncleanly(scene: Scene, *, everything: bool) -> None:
    """Also one that is shutting down: it still leads."""
    scene.live(9, 10)
    scene.state.mark_shutting_down(BrokerId(10))
    leaderless(scene)
    led = scene.partition("t", 1, (10, 9), leadership=leadership(10, (10,)))

    run = elect(scene, UNCLEAN, T0, led.name, everything=everything)

    needless = [] if everything else [("t", 1, ErrorCode.ELECTION_NOT_NEEDED)]
    assert results_of(run) == [("t", 0, ErrorCode.NONE), *needless]
    assert led.leadership == leadership(10, (10,))


@pytest.mark.behaviour("unc-016")
def test_unknown_partitions_cannot_be_elected_uncleanly_either(scene: Scene) -> None:
    """An unknown topic, and an unknown partition of a known one."""
    scene.live(1, 2)
    astray(scene)

    run = elect(scene, UNCLEAN, name("no", 0), name("t", 9))

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert results_of(run) == [("no", 0, unknown), ("t", 9, unknown)]


@pytest.mark.behaviour("unc-017")
def test_nobody_can_lead_where_nobody_lives(scene: Scene) -> None:
    """Unclean means any live replica, and there is none."""
    scene.live(1)
    partition = leaderless(scene)

    run = elect(scene, UNCLEAN, T0)

    (result,) = run.answer(ElectLeadersAnswer).results
    assert result.error is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert result.message == "no assigned replica is alive"
    assert partition.leadership == leadership(-1, (8,), leader_epoch=3, zk_version=6)


# --- by znode ---------------------------------------------------------------------------------


def pending(scene: Scene) -> object:
    """What the election znode says now."""
    return scene.memory.elections


@pytest.mark.behaviour("prf-001")
@pytest.mark.requirement("L1")
def test_a_broker_that_is_back_leads_again_when_a_znode_says_so(scene: Scene) -> None:
    """Led by 1, by 2 while 1 was away, by 1 again: two leader epochs on."""
    scene.live(1, 2)
    partition = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2), leader_epoch=4))
    scene.memory.lose(1)
    scene.handle(BrokersChanged(0))
    scene.memory.register(1, life=2)
    scene.handle(BrokersChanged(0))
    after = scene.stored(partition)
    assert (after.leader, after.leader_epoch) == (2, 5)
    scene.overwrite(partition, isr=ids(2, 1))
    scene.memory.elections = (T0,)

    run = scene.handle(ElectionZnodeChanged(0))

    elected = scene.stored(partition)
    assert (elected.leader, elected.leader_epoch) == (1, 6)
    assert pending(scene) is None
    assert run.asked == [
        "ReadElectionZnode",
        "ReadLeaderships t-0",
        f"WriteLeaderships t-0 leader=1 isr=2,1 epoch=6 v{after.zk_version + 1}",
        "DeleteElectionZnode",
        "ReadElectionZnode",
    ]


@pytest.mark.behaviour("prf-003")
def test_a_znode_that_asks_for_the_impossible_is_removed_all_the_same(scene: Scene) -> None:
    """No leader epoch is spent on a preferred replica that is dead, and nobody else is taken."""
    scene.live(2, 3)
    led = leadership(2, (2, 3), leader_epoch=1)
    partition = scene.partition(replicas=(1, 2, 3), leadership=led)
    scene.memory.elections = (T0,)

    run = scene.handle(ElectionZnodeChanged(0))

    assert (scene.stored(partition), pending(scene)) == (led, None)
    assert run.sends == []
    reason = "the preferred replica 1 is not available"
    not_available = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    api = "preferred_replica_election"
    assert run.facts[-1] == CallRefused(api, not_available, None, "t", 0, reason)


@pytest.mark.requirement("X3")
def test_a_znode_that_cannot_be_read_is_recorded_and_removed(scene: Scene) -> None:
    """Left there it would keep everybody else from asking."""
    path = "/admin/preferred_replica_election"
    scene.memory.elections = Malformed(path, "not JSON")

    run = scene.handle(ElectionZnodeChanged(0))

    assert run.facts == [ZnodeIsolated(path, "not JSON")]
    assert pending(scene) is None


@pytest.mark.requirement("L1")
def test_a_znode_written_as_soon_as_the_last_was_gone_is_not_lost(scene: Scene) -> None:
    """Removing the znode and looking again are one step."""
    scene.live(1, 2)
    astray(scene)
    second = astray(scene, "u")
    scene.memory.elections = (T0,)

    def write_another(ask: Ask[Any]) -> None:
        if removals and scene.memory.elections is None:
            scene.memory.elections = (second.name,)
            removals.clear()
        if isinstance(ask, DeleteElectionZnode):
            removals.append(ask)

    removals: list[Ask[Any]] = []
    scene.memory.before_answer = write_another

    scene.handle(ElectionZnodeChanged(0))

    assert scene.state.leader_of(second) == 1
    assert pending(scene) is None


def test_one_event_serves_a_bounded_number_of_znodes(scene: Scene) -> None:
    """Whoever writes them faster than they go cannot keep the controller from other work."""
    scene.memory.before_answer = lambda _: setattr(scene.memory, "elections", ())

    run = scene.handle(ElectionZnodeChanged(0))

    assert run.asked == ["ReadElectionZnode", "DeleteElectionZnode"] * ZNODES_MAX


@pytest.mark.behaviour("fov-004")
@pytest.mark.requirement("E5")
def test_a_deposed_controller_cannot_hold_a_pending_election(scene: Scene) -> None:
    """Its first write is refused: it resigns, and all znodes are as they were."""
    scene.live(1, 2)
    partition = astray(scene)
    before = scene.stored(partition)
    scene.memory.elections = (T0,)
    scene.memory.depose(successor=7)

    run = scene.handle(ElectionZnodeChanged(0))

    assert not scene.state.is_active
    assert run.sends == []
    assert (scene.stored(partition), pending(scene)) == (before, (T0,))
    assert scene.memory.holder == 7


@pytest.mark.requirement("E6", "L1")
def test_a_new_controller_holds_the_elections_its_predecessor_left(node: Scene) -> None:
    """Of those in the znode only the ones that are still in need; then the znode goes."""
    node.memory.register(1, 2)
    for topic, leader in (("t", 2), ("done", 1)):
        node.memory.create_topic(topic, (1, 2))
        node.memory.leaderships[name(topic, 0)] = leadership(leader, (1, 2))
    node.memory.elections = (T0, name("done", 0), name("gone", 0))

    run = node.elect()

    elected = [fact for fact in run.facts if isinstance(fact, LeaderElected)]
    assert [(fact.topic, fact.leader) for fact in elected] == [("t", 1)]
    assert run.asked[-2:] == ["DeleteElectionZnode", "ReadElectionZnode"]
    assert run.steps[-1] == SetTimer("leader-balance", 5_000)


# --- by the clock -----------------------------------------------------------------------------


def ring(scene: Scene) -> Run[None]:
    """It is time to look at the balance."""
    return scene.handle(TimerRang(0, "leader-balance"))


def checks(run: Run[None]) -> list[tuple[int, int]]:
    """The brokers found out of balance, and how many elections each is worth."""
    found = [fact for fact in run.facts if isinstance(fact, BalanceChecked)]
    return [(fact.broker_id, fact.partition_count) for fact in found]


@pytest.mark.behaviour("prf-004")
@pytest.mark.requirement("L2")
def test_a_preferred_replica_gets_the_lead_back_without_being_asked(scene: Scene) -> None:
    """And the next look is counted from the end of this one."""
    scene.live(1, 2)
    partition = astray(scene)

    run = ring(scene)

    assert scene.stored(partition) == leadership(1, (2, 1), leader_epoch=2, zk_version=5)
    assert checks(run) == [(1, 1)]
    assert run.steps[-1] == SetTimer("leader-balance", 300_000)


@pytest.mark.requirement("L2")
@pytest.mark.parametrize(("astray_count", "moved"), [(1, False), (2, True)])
def test_a_small_imbalance_is_left_alone(scene: Scene, *, astray_count: int, moved: bool) -> None:
    """One of ten is ten per cent, and only more than that is too much."""
    scene.live(1, 2)
    for index in range(10):
        leader = 2 if index < astray_count else 1
        scene.partition("t", index, (1, 2), leadership=leadership(leader, (1, 2)))

    run = ring(scene)

    assert checks(run) == ([(1, astray_count)] if moved else [])
    assert scene.state.preferred_imbalance_count == (0 if moved else astray_count)


@pytest.mark.fault("F82")
@pytest.mark.requirement("L2")
def test_only_elections_that_can_succeed_are_tried(scene: Scene) -> None:
    """A preferred replica that lags or is dead would be tried for ever (KAFKA-9866)."""
    scene.live(1, 2, 4)
    scene.state.mark_shutting_down(BrokerId(4))
    lagging = scene.partition("t", 0, (1, 2), leadership=leadership(2, (2,)))
    dead = scene.partition("t", 1, (3, 2), leadership=leadership(2, (2, 3)))
    going = scene.partition("t", 2, (4, 2), leadership=leadership(2, (2, 4)))

    run = ring(scene)

    assert run.asks == []
    assert checks(run) == [(1, 0), (3, 0), (4, 0)]
    assert [p.leadership for p in (lagging, dead, going)] == [
        leadership(2, (2,)),
        leadership(2, (2, 3)),
        leadership(2, (2, 4)),
    ]


@pytest.mark.requirement("L2")
def test_topics_being_deleted_are_not_balanced(scene: Scene) -> None:
    """They count neither as preferring a broker nor as led by another."""
    scene.live(1, 2)
    astray(scene)
    scene.state.queue_deletions(["t"])

    run = ring(scene)

    assert (run.asks, checks(run)) == ([], [])


@pytest.mark.fault("F83")
@pytest.mark.behaviour("prf-005")
def test_a_stuck_reassignment_does_not_keep_others_from_being_balanced(scene: Scene) -> None:
    """A partition is held back by nothing but its own state (KAFKA-10149)."""
    scene.live(1, 2)
    stuck = scene.partition(
        "stuck", 0, assignment(9, 2, adding=(9,), removing=(2,)), leadership=leadership(2, (2,))
    )
    partition = astray(scene)

    ring(scene)

    assert scene.state.leader_of(partition) == 1
    assert stuck.leadership == leadership(2, (2,))


@pytest.mark.behaviour("prf-006")
def test_a_partition_on_its_way_goes_to_the_head_of_the_list_it_has(scene: Scene) -> None:
    """The move waits for a dead broker; its new preferred replica need not wait with it."""
    scene.live(1, 2)
    moving = assignment(2, 1, 9, adding=(9,))
    partition = scene.partition(replicas=moving, leadership=leadership(1, (1, 2), leader_epoch=1))

    ring(scene)

    assert scene.stored(partition) == leadership(2, (1, 2), leader_epoch=2, zk_version=1)
    assert partition.assignment == moving


@pytest.mark.requirement("C3")
def test_all_that_one_look_moves_is_told_in_one_go(scene: Scene) -> None:
    """At most one request of a kind for each broker, however many brokers are out of balance."""
    scene.live(1, 2, 3)
    scene.partition("t", 0, (1, 2), leadership=leadership(2, (1, 2)))
    scene.partition("t", 1, (3, 2), leadership=leadership(2, (3, 2)))

    run = ring(scene)

    assert [type(ask) for ask in run.asks].count(WriteLeaderships) == 1
    assert [(send.broker_id, type(send.request).__name__) for send in run.sends] == [
        *((b, "LeaderAndIsr") for b in (1, 2, 3)),
        *((b, "UpdateMetadata") for b in (1, 2, 3)),
    ]


@pytest.mark.requirement("L2")
def test_a_controller_that_does_not_balance_sets_no_timer() -> None:
    """`auto.leader.rebalance.enable` is off."""
    node = Scene()
    node.state.config = ControllerConfig(balances_leaders=False)

    run = node.handle(SessionStarted(0))

    assert node.state.active_id == CONTROLLER
    assert not [effect for effect in run.effects if isinstance(effect, SetTimer)]


def test_another_timer_is_not_the_balances(scene: Scene) -> None:
    """Each timer has its name."""
    scene.live(1, 2)
    astray(scene)

    assert scene.handle(TimerRang(0, "another")).steps == []
