"""Bounces, stale requests, ISRs and moves: faults of Kafka's history on simulated clusters."""

from itertools import pairwise

import pytest

from regent.broker.broker_config import IsrMode
from regent.model.control_requests import StopReplica, UpdateMetadata
from regent.model.facts import BrokerDown, ControllerElected, IsrAltered
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from tests.museum.stage import EVERYWHERE, QUIET_MS, TOPIC, Stage

ORDERS = [TopicPartition(TOPIC, index) for index in range(3)]

# --- bounced brokers and stale requests -------------------------------------------------------


@pytest.mark.fault("F32")
def test_a_broker_that_bounces_while_the_controller_is_blocked_hosts_all_it_hosted() -> None:
    """Two looks see the same id; only the epoch tells that everything was forgotten."""
    stage = Stage()
    before = stage.controller
    bounced = stage.another_than(before.broker_id)

    stage.do("pause", before.broker_id, ms=1_000)
    stage.do("bounce", bounced, ms=20)
    stage.run_for(900)
    hosted_meanwhile = stage.serves(bounced)
    stage.run_for(1_000)

    assert stage.controller is before
    assert (hosted_meanwhile, stage.serves(bounced)) == ([], ORDERS)
    assert [d.bounced for d in stage.facts(BrokerDown) if isinstance(d, BrokerDown)] == [True]
    stage.settle()


@pytest.mark.fault("F37")
def test_a_broker_that_could_not_be_reached_hears_everything_afterwards() -> None:
    """It lives, so that what it has to hear waits for it, however often connecting fails."""
    stage = Stage()
    deaf = stage.another_than(stage.controller.broker_id)
    stage.do("cut_two_way", stage.controller.broker_id, deaf, ms=6_000)

    stage.do("create_topic", topic="late")
    stage.run_for(5_500)
    heard_meanwhile = stage.serves(deaf)
    stage.run_for(3_000)

    late = TopicPartition("late", 0)
    assert (heard_meanwhile, stage.serves(deaf)) == (ORDERS, sorted([late, *ORDERS]))
    stage.settle()


@pytest.mark.fault("F40")
def test_the_role_goes_round_fifty_times_over_slow_connections() -> None:
    """Each move succeeds, and whoever resigned has nothing left to send and can be elected."""
    stage = Stage(latency_us=5_000)
    for one in (1, 2, 3):
        stage.do("slow_link", one, 1 + one % 3, ms=60)
    epochs = [int(stage.controller.controller.state.controller_epoch)]

    for _ in range(50):
        stage.do("depose")
        stage.run_for(1_000)
        epochs.append(int(stage.controller.controller.state.controller_epoch))
        retired = [p for p in stage.world.processes.values() if p is not stage.controller]
        assert all(p.is_idle and not p._timers for p in retired)
        assert not any(p.channels._channels for p in retired)

    assert all(after == before + 1 for before, after in pairwise(epochs))
    elected = [r for r in stage.world.records if isinstance(r.fact, ControllerElected)]
    assert {int(record.controller_id) for record in elected} == {1, 2, 3}
    stage.settle()


@pytest.mark.fault("F43")
@pytest.mark.parametrize("after_ms", [0, 1, 2, 4, 8, 16, 32])
def test_a_controller_that_is_shut_down_in_the_middle_of_a_move_leaves_it_to_the_next(
    after_ms: int,
) -> None:
    """Whatever it was just sending, the next one starts from what is stored."""
    stage = Stage((1, 2), brokers=4)
    leaving = stage.controller.broker_id

    stage.do("reassign", 3, 4, ms=0)
    stage.run_for(after_ms)
    stage.do("shut_down", leaving, ms=2_000)
    stage.run_for(6_000)

    assert stage.controller.broker_id != leaving
    stage.settle()
    assert sorted(stage.leadership().isr) == [3, 4]


# --- the ISR ----------------------------------------------------------------------------------


@pytest.mark.fault("F46")
@pytest.mark.parametrize("isr_mode", list(IsrMode))
@pytest.mark.parametrize(("how", "ms"), [("expire_session", 0), ("cut_from_zookeeper", 4_000)])
def test_after_the_sessions_of_controller_and_leader_expired_every_isr_can_shrink(
    how: str, ms: int, isr_mode: IsrMode
) -> None:
    """Each leader knows the version that its state znode has now, whoever wrote it last."""
    stage = Stage(isr_mode=isr_mode)
    old = stage.controller.broker_id
    epoch = stage.controller.controller.state.controller_epoch
    stage.do(how, old, ms=ms)
    stage.do(how, stage.another_than(old), ms=ms)
    stage.run_for(12_000)
    assert stage.controller.controller.state.controller_epoch > epoch
    assert [sorted(stage.leadership(i).isr) for i in range(3)] == [[1, 2, 3]] * 3

    shrunk = set()
    for lagging in (1, 2, 3):
        stage.do("stall_replication", lagging, ms=8_000)
        stage.run_for(7_000)
        shrunk |= {i for i in range(3) if BrokerId(lagging) not in stage.leadership(i).isr}
        stage.run_for(5_000)

    assert shrunk == {0, 1, 2}
    stage.settle()


@pytest.mark.fault("F50")
def test_an_isr_that_a_leader_wrote_is_soon_known_everywhere_at_its_own_cost() -> None:
    """The one partition that changed is told, the others are not, and no notification is left."""
    stage = Stage((1, 2, 3), (1,), (2,), isr_mode=IsrMode.DIRECT)
    told = len(stage.sent.requests)

    stage.do("stall_replication", 3, ms=20_000)
    stage.run_for(8_000)

    assert stage.leadership().isr == (1, 2)
    for process in stage.world.processes.values():
        assert process.broker.metadata.partitions[ORDERS[0]].isr == (1, 2)
    named = [
        (broker_id, [(p.topic, p.partition) for p in request.partitions])
        for broker_id, request in stage.sent.requests[told:]
        if isinstance(request, UpdateMetadata)
    ]
    assert sorted(named) == [(broker_id, [ORDERS[0]]) for broker_id in (1, 2, 3)]
    below = f"{paths.ISR_NOTIFICATIONS}/"
    assert not [p for p in stage.world.zookeeper.server.dump() if p.startswith(below)]


@pytest.mark.fault("F47")
def test_an_isr_request_whose_answers_are_lost_is_repeated_with_success() -> None:
    """It is written once; as soon as an answer gets through, the leader can ask for the next."""
    stage = Stage((1, 2, 3), (2, 3, 1))
    controller = int(stage.controller.broker_id)
    index = next(i for i in (0, 1) if stage.leadership(i).leader != controller)
    leader = int(stage.leadership(index).leader)
    altered = len(stage.world.records)

    # The leader gets through to the controller, which does not get through to the leader.
    stage.do("cut_one_way", controller, leader, ms=9_000)
    stage.do("stall_replication", stage.another_than(controller, leader), ms=20_000)
    stage.run_for(8_000)
    hosted = stage.world.processes[BrokerId(leader)].broker.hosted[ORDERS[index]]
    waits_for = hosted.pending_isr
    stage.run_for(5_000)

    changes = [f for f in stage.facts(IsrAltered, altered) if isinstance(f, IsrAltered)]
    isrs = [change.isr for change in changes if change.partition == index]
    assert waits_for == isrs[0] == (leader,)
    assert isrs[1:] == [(leader, controller)]
    assert hosted.isr == stage.leadership(index).isr == isrs[1]


# --- moves ------------------------------------------------------------------------------------


@pytest.mark.fault("F55")
@pytest.mark.parametrize("frozen", ["leader", "controller", "target"])
@pytest.mark.parametrize("after_ms", [0, 1, 2, 3, 5, 8, 13])
def test_a_quiet_partition_ends_with_its_target_in_sync_whoever_freezes_when(
    frozen: str, after_ms: int
) -> None:
    """Without records nobody falls behind, so an old replica that came back would stay."""
    stage = Stage((1, 2), brokers=4, append_interval_ms=QUIET_MS)
    who = {"leader": 1, "controller": stage.controller.broker_id, "target": 3}[frozen]

    stage.do("reassign", 1, 3, ms=0)
    stage.run_for(after_ms)
    stage.do("pause", who, ms=1_200)
    stage.run_for(4_000)

    assert sorted(stage.leadership().isr) == [1, 3]
    stage.settle()


@pytest.mark.fault("F56")
@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_broker_that_a_partition_moved_away_from_has_none_of_it(*, is_cancelled: bool) -> None:
    """Not after the end of the move, nor where it was going before it was cancelled."""
    stage = Stage((1, 2), brokers=4)
    held = []
    if is_cancelled:
        for target in (3, 4):
            stage.do("stall_replication", target, ms=9_000)

    stage.do("reassign", 3, 4, ms=0)
    stage.run_for(1_000)
    if is_cancelled:
        held = [b for b in (3, 4) if stage.world.disks[BrokerId(b)].has(ORDERS[0])]
        stage.do("reassign", ms=0)
    stage.run_for(3_000)

    on_disk = [int(b) for b, disk in stage.world.disks.items() if disk.has(ORDERS[0])]
    assert (held, on_disk) == (([3, 4], [1, 2]) if is_cancelled else ([], [3, 4]))
    deletions = [
        int(broker_id)
        for broker_id, request in stage.sent.requests
        if isinstance(request, StopReplica) and any(p.delete for p in request.partitions)
    ]
    assert sorted(set(deletions)) == ([3, 4] if is_cancelled else [1, 2])
    stage.settle()


@pytest.mark.fault("F59")
@pytest.mark.parametrize("kind", ["depose", "crash_controller"])
def test_a_move_replaced_again_and_again_goes_back_to_where_it_began(kind: str) -> None:
    """With a failover between each two; the stored assignment alone knows the origin."""
    stage = Stage((1, 2), brokers=5)
    for target in (3, 4, 5):
        stage.do("stall_replication", target, ms=60_000)

    for replicas in ((3, 4), (4, 5), (5, 3)):
        stage.do("reassign", *replicas, ms=0)
        stage.run_for(500)
        stage.do(kind, ms=3_000)
        stage.run_for(6_000)
    stage.do("reassign", ms=0)
    stage.run_for(3_000)

    assert sorted(stage.leadership().isr) == [1, 2]
    assert [int(b) for b, disk in stage.world.disks.items() if disk.has(ORDERS[0])] == [1, 2]
    stage.settle()


def test_the_stage_is_set() -> None:
    """Otherwise these tests would show nothing."""
    stage = Stage()

    assert [sorted(stage.leadership(i).isr) for i in range(3)] == [[1, 2, 3]] * len(EVERYWHERE)
    assert [stage.serves(b) for b in (1, 2, 3)] == [ORDERS] * 3
