"""Rebuilding the state from facts alone."""

import pytest

from regent.journal.replay import APPLIERS, ReplayedPartition, ReplayedState, ReplayedTopic, replay
from regent.model.assignment import Assignment
from regent.model.facts import (
    AssignmentChanged,
    BrokerDown,
    BrokerUp,
    ControllerElected,
    ControllerResigned,
    Fact,
    IsrAltered,
    IsrShrunk,
    LeaderElected,
    LeadershipLearned,
    LoadedPartition,
    PartitionMoved,
    PartitionsStarted,
    ReplicaMoved,
    ReplicasStarted,
    RequestSent,
    TopicForgotten,
    TopicIdGiven,
    TopicLoaded,
)
from regent.model.ids import (
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership
from regent.model.states import PartitionState, ReplicaState
from tests.unit.journal.builders import B1, B2, B3, FACT_CLASSES, history, record


def leadership(
    leader: BrokerId, leader_epoch: int, isr: tuple[BrokerId, ...], *, by: int, version: int
) -> Leadership:
    return Leadership(
        leader, LeaderEpoch(leader_epoch), isr, ControllerEpoch(by), ZkVersion(version)
    )


def up(broker_id: BrokerId, broker_epoch: int = 10) -> BrokerUp:
    return BrokerUp(broker_id=broker_id, broker_epoch=BrokerEpoch(broker_epoch))


def replica_moved(broker_id: BrokerId, before: ReplicaState, after: ReplicaState) -> ReplicaMoved:
    return ReplicaMoved(
        topic="t", partition=0, broker_id=broker_id, replica_before=before, replica_after=after
    )


#: t-0 has a leader, t-1 has none yet; broker 3 is dead.
LOADED: tuple[Fact, ...] = (
    ControllerElected(),
    up(B1),
    up(B2),
    TopicLoaded(
        topic="t",
        topic_id="id-of-t",
        partitions=(
            LoadedPartition(
                partition=0,
                replicas=(B1, B2),
                leader=B1,
                leader_epoch=LeaderEpoch(4),
                isr=(B1, B2),
                controller_epoch=ControllerEpoch(3),
                zk_version=ZkVersion(6),
            ),
            LoadedPartition(partition=1, replicas=(B2, B3), adding=(B3,)),
        ),
    ),
    ReplicasStarted(topic="t", offline_brokers=(B3,)),
    PartitionsStarted(topic="t", new=(1,)),
)


def partition_after(*facts: Fact, epoch: int = 5) -> ReplayedPartition:
    """t-0 after these facts on top of what was loaded."""
    partition = replay(history(*LOADED, *facts, epoch=epoch)).partition("t", 0)
    assert partition is not None
    return partition


def test_a_loaded_cluster_is_known_from_a_few_records() -> None:
    """Start-up is compact: one record per topic and machine, not one per replica."""
    state = replay(history(*LOADED, epoch=5))

    assert state == ReplayedState(
        controller_id=B1,
        controller_epoch=ControllerEpoch(5),
        brokers={B1: BrokerEpoch(10), B2: BrokerEpoch(10)},
        topics={
            "t": ReplayedTopic(
                topic_id="id-of-t",
                partitions={
                    0: ReplayedPartition(
                        assignment=Assignment((B1, B2)),
                        state=PartitionState.ONLINE,
                        leadership=leadership(B1, 4, (B1, B2), by=3, version=6),
                        replicas={B1: ReplicaState.ONLINE, B2: ReplicaState.ONLINE},
                    ),
                    1: ReplayedPartition(
                        assignment=Assignment((B2, B3), adding=(B3,)),
                        state=PartitionState.NEW,
                        replicas={
                            B2: ReplicaState.ONLINE,
                            B3: ReplicaState.DELETION_INELIGIBLE,
                        },
                    ),
                },
            )
        },
        last_seq=6,
    )
    assert [name for name, _ in state.partitions()] == [
        TopicPartition("t", 0),
        TopicPartition("t", 1),
    ]


def test_nothing_exists_for_the_machines_before_they_have_started() -> None:
    """A loaded partition is known and nothing more."""
    state = replay(history(*LOADED[:4]))

    partition = state.partition("t", 0)
    assert partition is not None
    assert partition.state is PartitionState.NON_EXISTENT
    assert partition.replicas == {}


def test_the_death_of_a_broker_can_be_followed_to_the_next_leader() -> None:
    """The whole story of one failure: shrink, move, elect."""
    state = replay(
        history(
            *LOADED,
            BrokerDown(broker_id=B1, broker_epoch=BrokerEpoch(10)),
            PartitionMoved(
                topic="t", partition=0, before=PartitionState.ONLINE, after=PartitionState.OFFLINE
            ),
            LeaderElected(
                topic="t",
                partition=0,
                strategy="offline",
                before=PartitionState.OFFLINE,
                leader_before=B1,
                leader=B2,
                leader_epoch=LeaderEpoch(5),
                isr=(B2,),
                zk_version=ZkVersion(7),
            ),
            replica_moved(B1, ReplicaState.ONLINE, ReplicaState.OFFLINE),
            RequestSent(
                broker_id=B2, broker_epoch=BrokerEpoch(10), api="LeaderAndIsr", partition_count=1
            ),
            epoch=5,
        )
    )

    assert state.brokers == {B2: BrokerEpoch(10)}
    assert state.partition("t", 0) == ReplayedPartition(
        assignment=Assignment((B1, B2)),
        state=PartitionState.ONLINE,
        leadership=leadership(B2, 5, (B2,), by=5, version=7),
        replicas={B1: ReplicaState.OFFLINE, B2: ReplicaState.ONLINE},
    )


def test_an_offline_partition_is_offline_after_the_start() -> None:
    """The start names the exceptions; all others are online."""
    partition = partition_after(PartitionsStarted(topic="t", offline=(0,)))

    assert partition.state is PartitionState.OFFLINE


def test_a_moved_partition_keeps_its_leadership() -> None:
    """Going offline says nothing about who led last, which the next election needs."""
    partition = partition_after(
        PartitionMoved(
            topic="t", partition=0, before=PartitionState.ONLINE, after=PartitionState.OFFLINE
        )
    )

    assert partition.state is PartitionState.OFFLINE
    assert partition.leadership == leadership(B1, 4, (B1, B2), by=3, version=6)


def test_the_mark_of_an_unclean_election_is_kept() -> None:
    """A leader that has not recovered yet must not look as if it had, loaded or elected."""
    loaded = LoadedPartition(
        partition=0,
        replicas=(B1,),
        leader=B1,
        leader_epoch=LeaderEpoch(4),
        isr=(B1,),
        controller_epoch=ControllerEpoch(3),
        zk_version=ZkVersion(6),
        recovering=True,
    )
    elected = LeaderElected(
        topic="t",
        partition=0,
        strategy="offline",
        before=PartitionState.OFFLINE,
        leader_before=NO_LEADER,
        leader=B1,
        leader_epoch=LeaderEpoch(5),
        isr=(B1,),
        zk_version=ZkVersion(7),
        unclean=True,
        recovering=True,
    )

    for partition in (
        replay(history(TopicLoaded(topic="t", partitions=(loaded,)))).partition("t", 0),
        partition_after(elected),
    ):
        assert partition is not None
        assert partition.leadership is not None
        assert partition.leadership.recovering


def test_a_shrunk_isr_is_the_work_of_this_controller() -> None:
    """Taking the leadership off a dead broker leaves the partition's state alone."""
    partition = partition_after(
        IsrShrunk(
            topic="t",
            partition=0,
            broker_id=B1,
            leader=NO_LEADER,
            leader_epoch=LeaderEpoch(5),
            isr=(B2,),
            zk_version=ZkVersion(7),
        )
    )

    assert partition.leadership == leadership(NO_LEADER, 5, (B2,), by=5, version=7)
    assert partition.state is PartitionState.ONLINE


def test_an_altered_isr_is_written_under_this_controller() -> None:
    """The leader asked, but the controller wrote."""
    partition = partition_after(
        IsrAltered(
            topic="t",
            partition=0,
            broker_id=B1,
            leader=B1,
            leader_epoch=LeaderEpoch(4),
            isr=(B1,),
            zk_version=ZkVersion(7),
        )
    )

    assert partition.leadership == leadership(B1, 4, (B1,), by=5, version=7)


def test_a_learned_leadership_says_itself_who_wrote_it() -> None:
    """It was found in ZooKeeper, so the epoch of the record has nothing to do with it."""
    partition = partition_after(
        LeadershipLearned(
            topic="t",
            partition=0,
            leader=B2,
            leader_epoch=LeaderEpoch(4),
            isr=(B2,),
            controller_epoch=ControllerEpoch(2),
            zk_version=ZkVersion(8),
        )
    )

    assert partition.leadership == leadership(B2, 4, (B2,), by=2, version=8)


def test_a_replica_that_no_longer_exists_leaves_no_trace() -> None:
    """Its entry goes, as it does in the controller."""
    partition = partition_after(
        AssignmentChanged(topic="t", partition=0, replicas=(B2,)),
        replica_moved(B1, ReplicaState.DELETION_SUCCESSFUL, ReplicaState.NON_EXISTENT),
    )

    assert partition.assignment == Assignment((B2,))
    assert partition.replicas == {B2: ReplicaState.ONLINE}


def test_more_partitions_join_a_known_topic() -> None:
    """What was known of the topic stays, its id included."""
    more = TopicLoaded(topic="t", partitions=(LoadedPartition(partition=2, replicas=(B1,)),))

    topic = replay(history(*LOADED, more)).topics["t"]

    assert list(topic.partitions) == [0, 1, 2]
    assert topic.topic_id == "id-of-t"


def test_a_topic_gets_an_id_and_is_forgotten_whole() -> None:
    """Both ends of a topic's life."""
    named = history(*LOADED, TopicIdGiven(topic="t", topic_id="another"))
    assert replay(named).topics["t"].topic_id == "another"

    assert replay(history(*LOADED, TopicForgotten(topic="t"))).topics == {}


def test_a_new_controller_starts_with_nothing() -> None:
    """It loads afresh, so what its predecessor knew must not shine through."""
    state = replay([*history(*LOADED), record(1, ControllerElected(), epoch=2, controller_id=B2)])

    assert state == ReplayedState(controller_id=B2, controller_epoch=ControllerEpoch(2), last_seq=1)


def test_a_reign_whose_beginning_is_lost_does_not_inherit_either() -> None:
    """A higher epoch is another controller, whether we saw the election or not."""
    state = replay([*history(*LOADED), record(40, up(B3), epoch=2, controller_id=B2)])

    assert (state.controller_id, state.brokers, state.topics) == (B2, {B3: BrokerEpoch(10)}, {})


def test_a_deposed_controller_changes_nothing() -> None:
    """Its records may come late; its successor is in office."""
    reign = history(*LOADED, epoch=2)

    assert replay([*reign, *history(up(B3), TopicForgotten(topic="t"))]) == replay(reign)


def test_after_a_resignation_nobody_knows_anything() -> None:
    """The epoch stays, because it still tells who is deposed."""
    state = replay(history(*LOADED, ControllerResigned(reason="asked to")))

    assert state == ReplayedState(controller_epoch=ControllerEpoch(1), last_seq=7)


def test_lost_records_are_counted_by_the_jump_in_the_sequence() -> None:
    """A reader can tell a complete history from one with a gap."""
    state = replay([record(4, ControllerElected()), record(5, up(B1)), record(9, up(B2))])

    assert state.missing_count == 3


@pytest.mark.parametrize(
    "fact",
    [
        BrokerDown(broker_id=B3, broker_epoch=BrokerEpoch(1)),
        TopicForgotten(topic="u"),
        TopicIdGiven(topic="u", topic_id="id"),
        ReplicasStarted(topic="u"),
        PartitionsStarted(topic="u"),
        AssignmentChanged(topic="t", partition=9, replicas=(B1,)),
        PartitionMoved(
            topic="t", partition=9, before=PartitionState.NEW, after=PartitionState.OFFLINE
        ),
        ReplicaMoved(
            topic="u",
            partition=0,
            broker_id=B1,
            replica_before=ReplicaState.NEW,
            replica_after=ReplicaState.ONLINE,
        ),
        LeaderElected(
            topic="u",
            partition=0,
            strategy="offline",
            before=PartitionState.NEW,
            leader_before=NO_LEADER,
            leader=B1,
            leader_epoch=LeaderEpoch(0),
            isr=(B1,),
            zk_version=ZkVersion(0),
        ),
    ],
    ids=lambda fact: type(fact).__name__,
)
def test_a_fact_about_the_unknown_is_counted_and_invents_nothing(fact: Fact) -> None:
    """After a gap the rest can still be read, and says that it is incomplete."""
    before = replay(history(*LOADED))

    after = replay(history(*LOADED, fact))

    assert after.unplaced_count == 1
    assert (after.brokers, after.topics) == (before.brokers, before.topics)


def test_every_kind_of_fact_has_its_row_in_the_table() -> None:
    """A kind added to the vocabulary must say what it does to the state."""
    assert set(APPLIERS) == set(FACT_CLASSES)
