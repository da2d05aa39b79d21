"""Elections against the shared memory: races, what cannot be read, unclean leaders (P3, P4)."""

from typing import Any

import pytest

from regent.core.asks import Ask, Malformed, WriteLeaderships
from regent.core.election import Strategy
from regent.core.leader_elections import CONFLICTS_MAX, UNCLEAN_CONFIG
from regent.core.partition_machine import move_partitions
from regent.core.state import Partition
from regent.errors import ControllerMoved
from regent.model.control_requests import LeaderAndIsr
from regent.model.facts import LeaderElected
from regent.model.ids import BrokerId, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState
from tests.support.builders import assignment, ids, leadership
from tests.support.drive import Run
from tests.support.scene import Scene

NON_EXISTENT, NEW, ONLINE, OFFLINE = PartitionState


def go_online(
    scene: Scene, *partitions: Partition, strategy: Strategy = Strategy.OFFLINE
) -> Run[Any]:
    """Try these partitions."""
    return scene.run(move_partitions(scene.state, partitions, ONLINE, strategy))


# --- the first leader -------------------------------------------------------------------------


@pytest.mark.requirement("P3")
def test_the_first_live_replica_leads_and_all_live_ones_are_in_sync(scene: Scene) -> None:
    """There is nothing yet that any of them could be missing; the dead are not waited for."""
    scene.live(2, 3)
    new = scene.partition(replicas=(1, 3, 2), state=NEW)

    run = go_online(scene, new)

    assert scene.stored(new) == leadership(3, (3, 2))
    led = "leader=3 isr=3,2 epoch=0 v0"
    assert run.told == [
        f"2 <- LeaderAndIsr t-0 {led} new",
        f"3 <- LeaderAndIsr t-0 {led} new",
        f"2 <- UpdateMetadata live=2,3; t-0 {led} replicas=1,3,2 offline=1",
        f"3 <- UpdateMetadata live=2,3; t-0 {led} replicas=1,3,2 offline=1",
    ]


@pytest.mark.requirement("P3")
def test_a_new_partition_without_a_live_replica_stays_new(scene: Scene) -> None:
    """It is tried again when a broker comes; nothing is written until then."""
    scene.live(2)
    new = scene.partition(replicas=(1,), state=NEW)

    run = go_online(scene, new)

    assert run.lines == ["t-0 stays NewPartition: no assigned replica is alive"]
    assert run.result == {new: "no assigned replica is alive"}


@pytest.mark.requirement("P3")
def test_a_state_that_exists_already_is_learned_and_elected_on(scene: Scene) -> None:
    """A controller that died between create and send must not leave the partition stuck."""
    scene.live(1, 2)
    new = scene.partition(replicas=(1, 2), state=NEW)
    scene.memory.leaderships[new.name] = leadership(2, (2,), leader_epoch=4, zk_version=7)

    run = go_online(scene, new)

    assert run.story == [
        "t-0 stays NewPartition: its state znode was not created: EXISTS",
        "t-0 learned leader=2 isr=2 epoch=4 v7",
        "t-0 NewPartition -> OnlinePartition leader=2 isr=2 epoch=5 v8",
    ]
    assert [told for told in run.told if "LeaderAndIsr" in told]


def test_a_state_that_exists_and_cannot_be_read_leaves_the_partition_new(scene: Scene) -> None:
    """There is nothing to learn from it."""
    scene.live(1)
    new = scene.partition(replicas=(1,), state=NEW)
    scene.memory.leaderships[new.name] = Malformed("/state", "not JSON")

    run = go_online(scene, new)

    assert run.story == [
        "ZnodeIsolated(path='/state', reason='not JSON')",
        "t-0 stays NewPartition: its state znode was not created: EXISTS",
    ]
    assert (new.state, new.leadership) == (NEW, None)
    assert new in scene.state.unreadable


# --- another leader: races --------------------------------------------------------------------


@pytest.mark.requirement("P4")
def test_a_lost_race_is_decided_afresh(scene: Scene) -> None:
    """The leader shrank the ISR before our write: what was chosen no longer holds."""
    scene.live(2, 3)
    gone = scene.partition(leadership=leadership(1, (1, 2, 3), zk_version=4), state=OFFLINE)

    def shrink_once(_: Ask[Any]) -> None:
        scene.overwrite(gone, isr=ids(1, 3))
        scene.memory.before_write = lambda _: None

    scene.memory.before_write = shrink_once

    run = go_online(scene, gone)

    assert run.lines[:5] == [
        "WriteLeaderships t-0 leader=2 isr=2,3 epoch=1 v4",
        "ReadLeaderships t-0",
        "t-0 learned leader=1 isr=1,3 epoch=0 v5",
        "WriteLeaderships t-0 leader=3 isr=3 epoch=1 v5",
        "t-0 OfflinePartition -> OnlinePartition leader=3 isr=3 epoch=1 v6",
    ]
    assert gone.leadership == scene.stored(gone)


@pytest.mark.requirement("P4")
def test_only_the_loser_of_a_race_is_tried_again(scene: Scene) -> None:
    """What was written is written; all of them are told in one batch at the end."""
    scene.live(2)
    led = leadership(1, (1, 2))
    raced = scene.partition("t", 0, (1, 2), leadership=led, state=OFFLINE)
    calm = scene.partition("t", 1, (1, 2), leadership=led, state=OFFLINE)

    def race_once(_: Ask[Any]) -> None:
        scene.overwrite(raced)
        scene.memory.before_write = lambda _: None

    scene.memory.before_write = race_once

    run = go_online(scene, raced, calm)

    assert run.asked == [
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v0; t-1 leader=2 isr=2 epoch=1 v0",
        "ReadLeaderships t-0",
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v1",
    ]
    assert run.told[0] == (
        "2 <- LeaderAndIsr t-1 leader=2 isr=2 epoch=1 v1; t-0 leader=2 isr=2 epoch=1 v2"
    )


@pytest.mark.requirement("P4")
def test_races_are_not_run_for_ever(scene: Scene) -> None:
    """Somebody who writes all the time must not hold every other event up."""
    scene.live(2)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)), state=OFFLINE)
    scene.memory.before_write = lambda _: scene.overwrite(gone)

    run = go_online(scene, gone)

    assert sum(isinstance(ask, WriteLeaderships) for ask in run.asks) == CONFLICTS_MAX
    assert run.story[-1] == "t-0 stays OfflinePartition: lost 10 races in a row"
    assert (run.told, gone.state) == ([], OFFLINE)


@pytest.mark.requirement("P4")
def test_a_state_written_by_a_newer_controller_deposes_us(scene: Scene) -> None:
    """Whoever wrote it is in office; nothing is written over it."""
    scene.live(2)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)), state=OFFLINE)
    theirs = leadership(2, (2,), controller_epoch=2, zk_version=1)
    scene.memory.leaderships[gone.name] = theirs

    with pytest.raises(ControllerMoved, match="epoch 2"):
        go_online(scene, gone)

    assert scene.stored(gone) == theirs
    assert gone.state is OFFLINE


def test_a_state_that_vanishes_before_the_write_is_a_refusal(scene: Scene) -> None:
    """The topic is being deleted by somebody; a leader is not written into the void."""
    scene.live(1)
    gone = scene.partition(replicas=(1,), leadership=leadership(-1, (1,)), state=OFFLINE)
    scene.memory.before_write = lambda _: scene.memory.leaderships.clear()

    run = go_online(scene, gone)

    assert run.story == ["t-0 stays OfflinePartition: its state znode is missing"]


@pytest.mark.requirement("X3")
def test_a_state_that_cannot_be_read_fails_alone(scene: Scene) -> None:
    """What is wrong with it is the reason given; its neighbour is elected."""
    scene.live(1)
    led = leadership(-1, (1,))
    broken = scene.partition("t", 0, (1,), leadership=led, state=OFFLINE)
    scene.partition("t", 1, (1,), leadership=led, state=OFFLINE)
    scene.memory.leaderships[broken.name] = Malformed("/state", "not JSON")

    run = go_online(scene, *scene.state.all_partitions())

    assert run.story == [
        "t-1 OfflinePartition -> OnlinePartition leader=1 isr=1 epoch=1 v1",
        "t-0 stays OfflinePartition: /state: not JSON",
    ]


# --- strategies -------------------------------------------------------------------------------


@pytest.mark.requirement("S2", "A4")
def test_a_stranger_leaves_the_isr_with_any_election(scene: Scene) -> None:
    """The old leader had not heard that 5 has moved away; 1 is on its way out and stays for now."""
    scene.live(1, 2, 5)
    moving = scene.partition(
        "t", 0, assignment(2, 1, removing=(1,)), leadership=leadership(1, (1, 2))
    )
    scene.overwrite(moving, isr=ids(1, 2, 5))

    go_online(scene, moving, strategy=Strategy.REASSIGN)

    assert scene.stored(moving).isr == ids(1, 2)


@pytest.mark.requirement("S2")
def test_a_reassignment_elects_from_the_target(scene: Scene) -> None:
    """The target comes from the assignment; a broker that goes is not considered."""
    scene.live(1, 4)
    assignment = scene.partition(replicas=(1,)).assignment.reassign_to(ids(4))
    moving = scene.partition(
        "u", 0, assignment, leadership=leadership(1, (1, 4), leader_epoch=3, zk_version=3)
    )

    run = go_online(scene, moving, strategy=Strategy.REASSIGN)

    assert run.told[0] == "4 <- LeaderAndIsr u-0 leader=4 isr=1,4 epoch=4 v4"
    assert scene.stored(moving).leader == 4


@pytest.mark.requirement("S3")
def test_a_failed_preferred_election_leaves_no_trace_in_the_store(scene: Scene) -> None:
    """No epoch is raised for nothing, and no config is looked up."""
    scene.live(1, 2)
    led = leadership(2, (2,))
    skewed = scene.partition(replicas=(1, 2), leadership=led)

    run = go_online(scene, skewed, strategy=Strategy.PREFERRED)

    assert run.lines == [
        "ReadLeaderships t-0",
        f"t-0 stays OnlinePartition: no replica is eligible under {Strategy.PREFERRED}",
    ]
    assert scene.stored(skewed) == led


@pytest.mark.requirement("S4")
def test_a_broker_that_shuts_down_is_told_that_it_no_longer_leads(scene: Scene) -> None:
    """It is alive enough to be told, and not to be elected or in sync."""
    scene.live(1, 2)
    led = scene.partition(replicas=(1, 2), leadership=leadership(1, (1, 2)))
    scene.state.mark_shutting_down(BrokerId(1))

    run = go_online(scene, led, strategy=Strategy.CONTROLLED_SHUTDOWN)

    assert run.told[:2] == [
        "1 <- LeaderAndIsr t-0 leader=2 isr=2 epoch=1 v1",
        "2 <- LeaderAndIsr t-0 leader=2 isr=2 epoch=1 v1",
    ]


@pytest.mark.behaviour("elc-014", "elc-015")
@pytest.mark.requirement("S4")
def test_two_shutdowns_in_a_row_cost_one_leader_epoch_each(scene: Scene) -> None:
    """5 dies between them: it is left out, while those that shut down are still told."""
    scene.live(4, 5, 6, 7, 8, 9)
    led = leadership(4, (4, 6, 9), leader_epoch=0, zk_version=0)
    moved = scene.partition(replicas=(9, 8, 7, 6, 5, 4), leadership=led)
    for going in ids(5, 6):
        scene.state.mark_shutting_down(going)

    first = go_online(scene, moved, strategy=Strategy.CONTROLLED_SHUTDOWN)
    after_first = scene.stored(moved)
    scene.state.remove_broker(BrokerId(5))
    scene.state.mark_shutting_down(BrokerId(9))
    second = go_online(scene, moved, strategy=Strategy.CONTROLLED_SHUTDOWN)

    assert after_first == leadership(9, (4, 9), leader_epoch=1, zk_version=1)
    assert scene.stored(moved) == leadership(4, (4,), leader_epoch=2, zk_version=2)
    assert leader_and_isr_recipients(first) == [4, 5, 6, 7, 8, 9]
    assert leader_and_isr_recipients(second) == [4, 6, 7, 8, 9]


def leader_and_isr_recipients(run: Run[Any]) -> list[int]:
    """The brokers that were told a leadership."""
    return [s.broker_id for s in run.sends if isinstance(s.request, LeaderAndIsr)]


def test_a_replica_in_a_failed_directory_is_not_elected(scene: Scene) -> None:
    """Its broker lives; the data does not."""
    scene.live(1, 2)
    led = leadership(-1, (1, 2))
    hurt = scene.partition("t", 0, (1, 2), leadership=led, state=OFFLINE)
    fine = scene.partition("t", 1, (1, 2), leadership=led, state=OFFLINE)
    scene.state.offline_dirs[BrokerId(1)] = {hurt: None}

    run = go_online(scene, hurt, fine)

    assert run.story == [
        "t-0 OfflinePartition -> OnlinePartition leader=2 isr=2 epoch=1 v1",
        "t-1 OfflinePartition -> OnlinePartition leader=1 isr=1,2 epoch=1 v1",
    ]


# --- unclean ----------------------------------------------------------------------------------


@pytest.mark.behaviour("elc-002")
@pytest.mark.requirement("S1")
def test_without_leave_nobody_outside_the_isr_leads(scene: Scene) -> None:
    """Being offline is better than losing what was acknowledged."""
    scene.live(25)
    led = leadership(21, (21,))
    gone = scene.partition(replicas=(21, 25), leadership=led, state=OFFLINE)

    run = go_online(scene, gone)

    assert run.lines == [
        "ReadLeaderships t-0",
        "ReadTopicConfigs t",
        "t-0 stays OfflinePartition: no in-sync replica is alive",
    ]
    assert scene.state.unclean_election_count == 0


@pytest.mark.requirement("S1")
@pytest.mark.parametrize(
    ("default", "config", "allowed"),
    [
        (False, {}, False),
        (True, {}, True),
        (False, {UNCLEAN_CONFIG: "true"}, True),
        (False, {UNCLEAN_CONFIG: "TRUE"}, True),
        (True, {UNCLEAN_CONFIG: "false"}, False),
    ],
)
def test_the_topic_decides_and_else_the_default(
    scene: Scene, *, default: bool, config: dict[str, str], allowed: bool
) -> None:
    """One topic may prefer being available to being complete."""
    scene.configure(unclean=default)
    scene.live(2)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)), state=OFFLINE)
    scene.memory.configs["t"] = dict(config)

    go_online(scene, gone)

    assert (gone.state is ONLINE) is allowed
    assert scene.state.unclean_election_count == int(allowed)


@pytest.mark.requirement("S1")
def test_an_unclean_leader_is_recorded_and_marked_as_recovering(scene: Scene) -> None:
    """It is alone in the ISR, and says itself when it has recovered."""
    scene.configure(unclean=True)
    scene.live(2, 3)
    gone = scene.partition(leadership=leadership(1, (1,)), state=OFFLINE)

    run = go_online(scene, gone)

    elected = LeaderElected(
        topic="t",
        partition=0,
        strategy=Strategy.OFFLINE,
        before=OFFLINE,
        leader_before=BrokerId(1),
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(1),
        isr=ids(2),
        zk_version=ZkVersion(1),
        unclean=True,
        recovering=True,
    )
    assert run.facts[0] == elected
    assert scene.stored(gone) == leadership(2, (2,), leader_epoch=1, zk_version=1, recovering=True)


@pytest.mark.parametrize(("protocol", "marked"), [("3.1", False), ("3.2", True)])
def test_brokers_that_do_not_know_recovery_are_not_told_of_it(
    scene: Scene, *, protocol: str, marked: bool
) -> None:
    """The mark came with 3.2."""
    scene.configure(unclean=True, protocol=protocol)
    scene.live(2)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)), state=OFFLINE)

    go_online(scene, gone)

    assert scene.stored(gone).recovering is marked


def test_a_clean_election_does_not_end_the_recovery(scene: Scene) -> None:
    """Only the leader knows when it has recovered."""
    scene.live(2)
    led = leadership(-1, (2,), recovering=True)
    gone = scene.partition(replicas=(1, 2), leadership=led, state=OFFLINE)

    go_online(scene, gone)

    assert scene.stored(gone).recovering


def test_a_config_that_cannot_be_read_forbids_the_election(scene: Scene) -> None:
    """Nobody can tell whether data may be lost here; other topics are not affected."""
    scene.configure(unclean=True)
    scene.live(2)
    led = leadership(1, (1,))
    for topic in ("a", "b"):
        scene.partition(topic, 0, (1, 2), leadership=led, state=OFFLINE)
    scene.memory.configs["a"] = Malformed("/config/topics/a", "not JSON")

    run = go_online(scene, *scene.state.all_partitions())

    assert run.story == [
        "a-0 stays OfflinePartition: /config/topics/a: not JSON",
        "b-0 OfflinePartition -> OnlinePartition leader=2 isr=2 epoch=1 v1 recovering unclean",
    ]


def test_an_operator_who_asks_for_an_unclean_leader_gets_one(scene: Scene) -> None:
    """Whatever the config says; it is not even looked at."""
    scene.live(2)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)), state=OFFLINE)

    run = go_online(scene, gone, strategy=Strategy.OFFLINE_UNCLEAN)

    assert gone.state is ONLINE
    assert run.asked == [
        "ReadLeaderships t-0",
        "WriteLeaderships t-0 leader=2 isr=2 epoch=1 v0 recovering",
    ]


def test_unclean_election_needs_somebody_alive_too(scene: Scene) -> None:
    """With every replica dead there is nothing to choose."""
    scene.configure(unclean=True)
    gone = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,)), state=OFFLINE)

    run = go_online(scene, gone)

    assert run.story == ["t-0 stays OfflinePartition: no assigned replica is alive"]
