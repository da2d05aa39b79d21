"""Planted faults, and what looks like one and is none: each case a cluster with a short history.

Every case is judged by every rule, so what a case expects is all that is found in it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from regent.journal.record import Record
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState, ReplicaState
from tests.pipeline.rows import brokers, record

NON_EXISTENT, NEW = PartitionState.NON_EXISTENT, PartitionState.NEW
ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE


class Expected(NamedTuple):
    """A finding: the rule, the offending record, and the sequence numbers of the evidence."""

    rule: str
    epoch: int
    sequence: int
    evidence: tuple[int, ...]


class Case(NamedTuple):
    """A history, and all that is wrong with it."""

    records: tuple[Record, ...]
    expected: tuple[Expected, ...] = ()


# --- histories --------------------------------------------------------------------------------


def told(
    *said: facts.Fact, epoch: int = 1, controller: int | None = None, first: int = 1
) -> tuple[Record, ...]:
    """Facts of one controller, numbered from `first`; each epoch has its own unless named."""
    by = epoch if controller is None else controller
    return tuple(
        record(first + index, fact, at_ms=index, epoch=epoch, controller=by)
        for index, fact in enumerate(said)
    )


def reign(
    *said: facts.Fact, epoch: int = 1, controller: int | None = None, first: int = 1
) -> tuple[Record, ...]:
    """The same, with the election before it: what is said begins at 2."""
    return told(facts.ControllerElected(), *said, epoch=epoch, controller=controller, first=first)


def case(records: Sequence[Record], *expected: Expected) -> Case:
    return Case(tuple(records), expected)


def finding(rule: str, sequence: int, *against: int, epoch: int = 1) -> Expected:
    """A finding whose evidence begins with the offending record itself."""
    return Expected(rule, epoch, sequence, (sequence, *against))


# --- facts ------------------------------------------------------------------------------------


def loaded(  # noqa: PLR0913 - a partition has many parts, and most cases name one
    leader_epoch: int = 0,
    zk_version: int = 0,
    *,
    replicas: Sequence[int] = (1, 2, 3),
    adding: Sequence[int] = (),
    isr: Sequence[int] = (1, 2),
    topic_id: str | None = "id",
) -> facts.TopicLoaded:
    partition = facts.LoadedPartition(
        0,
        brokers(*replicas),
        adding=brokers(*adding),
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(leader_epoch),
        isr=brokers(*isr),
        controller_epoch=ControllerEpoch(1),
        zk_version=ZkVersion(zk_version),
    )
    return facts.TopicLoaded("t", (partition,), topic_id)


def moved(before: PartitionState, after: PartitionState) -> facts.PartitionMoved:
    return facts.PartitionMoved("t", 0, before, after)


def replica_moved(before: ReplicaState, after: ReplicaState) -> facts.ReplicaMoved:
    return facts.ReplicaMoved("t", 0, BrokerId(2), before, after)


def elected(  # noqa: PLR0913 - an election has many parts, and most cases name two
    leader: int,
    isr: Sequence[int],
    leader_epoch: int = 1,
    zk_version: int = 1,
    *,
    before: PartitionState = OFFLINE,
    unclean: bool = False,
) -> facts.LeaderElected:
    return facts.LeaderElected(
        "t",
        0,
        "strategy",
        before,
        BrokerId(1),
        BrokerId(leader),
        LeaderEpoch(leader_epoch),
        brokers(*isr),
        ZkVersion(zk_version),
        unclean,
    )


def altered(
    isr: Sequence[int], leader_epoch: int = 0, zk_version: int = 1, leader: int = 1
) -> facts.IsrAltered:
    return facts.IsrAltered(
        "t",
        0,
        BrokerId(leader),
        BrokerId(leader),
        LeaderEpoch(leader_epoch),
        brokers(*isr),
        ZkVersion(zk_version),
    )


def shrunk(
    isr: Sequence[int], leader_epoch: int = 1, zk_version: int = 1, leader: int = -1
) -> facts.IsrShrunk:
    return facts.IsrShrunk(
        "t",
        0,
        BrokerId(3),
        BrokerId(leader),
        LeaderEpoch(leader_epoch),
        brokers(*isr),
        ZkVersion(zk_version),
    )


def raised(isr: Sequence[int], leader_epoch: int, zk_version: int) -> facts.LeaderEpochRaised:
    return facts.LeaderEpochRaised(
        "t", 0, BrokerId(1), LeaderEpoch(leader_epoch), brokers(*isr), ZkVersion(zk_version)
    )


def learned(
    leader: int, leader_epoch: int, zk_version: int, *, written_epoch: int = 1
) -> facts.LeadershipLearned:
    return facts.LeadershipLearned(
        "t",
        0,
        BrokerId(leader),
        LeaderEpoch(leader_epoch),
        brokers(1, 2),
        ControllerEpoch(written_epoch),
        ZkVersion(zk_version),
    )


def assigned(*replicas: int) -> facts.AssignmentChanged:
    return facts.AssignmentChanged("t", 0, brokers(*replicas))


def up(broker_id: int, *, found: bool = True) -> facts.BrokerUp:
    return facts.BrokerUp(BrokerId(broker_id), BrokerEpoch(1), loaded=found)


def down(broker_id: int) -> facts.BrokerDown:
    return facts.BrokerDown(BrokerId(broker_id), BrokerEpoch(1))


BORN = moved(NON_EXISTENT, NEW)
RESIGNED = facts.ControllerResigned("asked to")
DELETION_STARTED = facts.DeletionAdvanced("t", "started")
STARTED = (facts.ReplicasStarted("t"), facts.PartitionsStarted("t"))
REPLICA_LEAVES = replica_moved(ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)

# --- moves ------------------------------------------------------------------------------------

MOVES = {
    "an illegal move of a partition": case(
        reign(moved(ONLINE, NEW)), finding("illegal_partition_move", 2)
    ),
    "an election of what does not exist": case(
        reign(elected(1, [1], before=NON_EXISTENT)), finding("illegal_partition_move", 2)
    ),
    "an illegal move of a replica": case(
        reign(replica_moved(ReplicaState.ONLINE, ReplicaState.NON_EXISTENT)),
        finding("illegal_replica_move", 2),
    ),
    "a life without fault": case(
        reign(
            BORN,
            elected(1, [1, 2], 0, 0, before=NEW),
            moved(ONLINE, OFFLINE),
            elected(2, [2], 1, 1),
            elected(2, [2], 2, 2, before=ONLINE),
            moved(ONLINE, OFFLINE),
            moved(OFFLINE, NON_EXISTENT),
        )
    ),
    "a leader that is not in sync": case(
        reign(elected(1, [2, 3])), finding("leader_outside_isr", 2)
    ),
    "nobody leads": case(reign(shrunk([2]))),
    "an empty ISR": case(reign(shrunk([])), finding("empty_isr", 2)),
    "an unclean election": case(
        reign(loaded(isr=[1, 2]), elected(3, [3], unclean=True)), finding("unclean_election", 3)
    ),
    "a partition leaves where it is not": case(
        reign(BORN, moved(ONLINE, OFFLINE)), finding("partition_chain_broken", 3, 2)
    ),
    "a topic is forgotten and comes again": case(reign(BORN, facts.TopicForgotten("t"), BORN)),
    "a new controller starts from what it finds": case(
        (*reign(moved(ONLINE, OFFLINE)), *reign(moved(ONLINE, OFFLINE), epoch=2))
    ),
    "a replica leaves where it is not": case(
        reign(
            replica_moved(ReplicaState.NEW, ReplicaState.ONLINE),
            replica_moved(ReplicaState.NEW, ReplicaState.OFFLINE),
        ),
        finding("replica_chain_broken", 3, 2),
    ),
    "a partition leaves where it was not started": case(
        reign(up(1), up(2), loaded(), *STARTED, moved(OFFLINE, OFFLINE)),
        finding("partition_chain_broken", 7, 6),
    ),
    "a replica leaves where it was not started": case(
        reign(
            up(1),
            up(2),
            loaded(),
            *STARTED,
            replica_moved(ReplicaState.OFFLINE, ReplicaState.OFFLINE),
        ),
        finding("replica_chain_broken", 7, 5),
    ),
    "everything leaves where it was started": case(
        reign(
            up(1),
            up(2),
            loaded(),
            facts.ReplicasStarted("t", brokers(2)),
            facts.PartitionsStarted("t", offline=(0,)),
            replica_moved(ReplicaState.DELETION_INELIGIBLE, ReplicaState.OFFLINE),
            elected(1, [1]),
        )
    ),
    "another topic is started": case(
        reign(
            up(1),
            up(2),
            loaded(),
            facts.ReplicasStarted("other"),
            facts.PartitionsStarted("other"),
            moved(OFFLINE, OFFLINE),
        )
    ),
    "a partition leaves where it is not, but records are lost": case(
        (*reign(BORN), *told(moved(ONLINE, OFFLINE), first=4)), finding("records_lost", 4)
    ),
    "log: a partition leaves where it is not": case(reign(BORN, moved(ONLINE, OFFLINE))),
    "log: an illegal move of a partition": case(
        reign(moved(ONLINE, NEW)), finding("illegal_partition_move", 2)
    ),
}

# --- leaderships ------------------------------------------------------------------------------

LEADERSHIPS = {
    "a leader epoch goes back": case(
        reign(loaded(), raised([1, 2], 5, 5), altered([1], 4, 6)),
        finding("leader_epoch_went_back", 4, 3),
    ),
    "two leaders in one epoch": case(
        reign(loaded(), raised([1, 2], 5, 5), learned(2, 5, 6)),
        finding("two_leaders_in_one_epoch", 4, 3),
    ),
    "a leader is lost under the same epoch": case(
        reign(loaded(), raised([1, 2], 5, 5), learned(-1, 5, 6))
    ),
    "a leader is found under the same epoch": case(
        reign(loaded(), learned(-1, 5, 5), learned(1, 5, 6))
    ),
    "a version is written twice": case(
        reign(loaded(), raised([1, 2], 5, 5), altered([1], 5, 5)),
        finding("zk_version_went_back", 4, 3),
    ),
    "what was written is learned again": case(
        reign(loaded(), raised([1, 2], 5, 5), learned(1, 5, 5))
    ),
    "a topic is created again under the same controller": case(
        reign(loaded(5, 5), moved(OFFLINE, NON_EXISTENT), BORN, elected(2, [2], 0, 0, before=NEW))
    ),
    "a deposed controller writes": case(
        (*reign(loaded(), raised([1, 2], 1, 1)), *reign(loaded(), epoch=2)),
        Expected("acted_after_deposed", 1, 3, (3, 2)),
    ),
    "a deposed controller reads": case((*reign(loaded(3, 3)), *reign(loaded(1, 1), epoch=2))),
    "a successor finds what was written": case(
        (*reign(loaded(), raised([1, 2], 1, 1)), *reign(loaded(1, 1), epoch=2))
    ),
    "a successor finds another topic of that name": case(
        (*reign(loaded(), raised([1, 2], 1, 1)), *reign(loaded(topic_id="other"), epoch=2))
    ),
    "a successor finds a topic without an id": case(
        (
            *reign(loaded(topic_id=None), raised([1, 2], 1, 1)),
            *reign(loaded(topic_id=None), epoch=2),
        )
    ),
    "log: a deposed controller writes": case(
        (
            *reign(elected(1, [1, 2], 3)),
            *reign(elected(2, [2], 2), epoch=2),
        ),
        Expected("acted_after_deposed", 1, 2, (2, 2)),
    ),
    "an election of a deposed controller is found": case(
        (*reign(), *reign(loaded(), learned(2, 1, 1), epoch=2)),
        finding("overruled_by_deposed", 3, 2, epoch=2),
    ),
    "an ISR that a leader wrote under an old controller is found": case(
        (*reign(), *reign(loaded(), learned(1, 0, 1), epoch=2))
    ),
    "an ISR that a deposed controller wrote is found": case(
        (*reign(), *reign(loaded(), raised([1, 2], 1, 1), learned(1, 1, 2), epoch=2)),
        finding("overruled_by_deposed", 4, 3, epoch=2),
    ),
    "an ISR that a leader wrote after it was told is found": case(
        (
            *reign(),
            *reign(loaded(), raised([1, 2], 1, 1), learned(1, 1, 2, written_epoch=2), epoch=2),
        )
    ),
    "a replica that is not in sync is elected": case(
        reign(loaded(isr=[1, 2]), elected(3, [3])),
        finding("out_of_sync_replica_trusted", 3, 2),
    ),
    "a replica that is in sync is elected": case(reign(loaded(isr=[1, 2]), elected(2, [2]))),
    "the controller lets a replica into the ISR": case(
        reign(loaded(isr=[1, 2]), raised([1, 2, 3], 1, 1)),
        finding("out_of_sync_replica_trusted", 3, 2),
    ),
    "a leader lets a replica into the ISR": case(reign(loaded(isr=[1, 2]), altered([1, 2, 3]))),
    "log: a replica that is not in sync is elected": case(
        reign(elected(1, [1, 2]), elected(3, [3], 2))
    ),
    "a broker without a replica is elected": case(
        reign(loaded(isr=[1, 2, 3]), assigned(1, 2), elected(3, [3])),
        finding("leader_not_assigned", 4, 3),
    ),
    "an ISR has a stranger": case(
        reign(loaded(replicas=[1, 2]), altered([1, 2, 3])),
        finding("isr_outside_assignment", 3, 2),
    ),
    "an ISR still has those of the assignment before": case(
        reign(loaded(isr=[1, 2, 3]), assigned(1, 2), raised([1, 2, 3], 1, 1))
    ),
    "an ISR has those of the assignment before the last": case(
        reign(loaded(isr=[1, 2, 3]), assigned(1, 2), assigned(1), raised([1, 2, 3], 1, 1)),
        finding("isr_outside_assignment", 5, 4),
    ),
}

# --- reigns -----------------------------------------------------------------------------------

REIGNS = {
    "two controllers in one epoch": case(
        (*reign(controller=1), *reign(controller=2)),
        finding("two_controllers_in_one_epoch", 1, 1),
    ),
    "log: two controllers in one epoch": case(
        (*reign(controller=1), *reign(controller=2)),
        finding("two_controllers_in_one_epoch", 1, 1),
    ),
    "log: brokers say that there were two controllers": case(
        (*reign(controller=1), *reign(controller=2))
    ),
    "an epoch is won twice": case(
        reign(facts.ControllerElected()), finding("epoch_won_twice", 1, 2)
    ),
    "the beginning is lost": case(told(up(1), first=5), finding("beginning_lost", 5)),
    "an epoch is unknown": case((*reign(), *reign(epoch=3)), finding("epoch_unknown", 1, epoch=3)),
    "a controller is elected again": case(
        (*reign(up(1)), *reign(epoch=2, controller=2), *reign(epoch=3, controller=1, first=3))
    ),
    "a controller goes back to an epoch": case(
        (*reign(), *reign(epoch=2, controller=1, first=2), *told(up(1), first=3)),
        finding("controller_epoch_went_back", 3, 2),
    ),
    "a controller goes back to an epoch, and records are lost": case(
        (*reign(), *reign(epoch=2, controller=1, first=2), *told(up(1), first=5)),
        finding("controller_epoch_went_back", 5, 2),
        finding("records_lost", 5),
    ),
    "a controller acts before it is elected": case(
        told(BORN, facts.ControllerElected()),
        finding("acted_before_elected", 1, 2),
    ),
    "a controller acts after it resigned": case(
        reign(RESIGNED, BORN), finding("acted_after_resigning", 3, 2)
    ),
    "a controller resigns and says something": case(reign(BORN, RESIGNED, down(1))),
    "records are lost": case((*reign(), *told(up(1), first=5)), finding("records_lost", 5)),
    "many records are lost": case(
        (*reign(), *told(up(1), first=90_000)), finding("records_lost", 90_000)
    ),
    "a long history has all records": case(reign(up(1), up(2), first=32_767)),
}

# --- brokers ----------------------------------------------------------------------------------

BROKERS = {
    "a dead broker is elected": case(
        reign(up(1), up(2), down(1), elected(1, [1])), finding("leader_on_dead_broker", 5, 4)
    ),
    "a broker that was never there is elected": case(
        reign(up(1), elected(3, [3])), finding("leader_on_dead_broker", 3)
    ),
    "a broker that came back is elected": case(
        reign(up(1), down(1), up(1, found=False), elected(1, [1]))
    ),
    "a broker dies after it was elected": case(reign(up(1), elected(1, [1]), down(1))),
    "nobody knows which brokers live": case(reign(up(1, found=False), elected(2, [2]))),
    "a dead broker of another reign is elected": case(
        (*reign(up(1), down(1)), *reign(up(1), elected(1, [1]), epoch=2))
    ),
    "a broker flaps": case(
        reign(down(1), down(2), down(1), down(1), up(1), down(1)),
        finding("flapping_broker", 2, 4, 5),
    ),
    "a broker flaps while nobody looks": case(
        (*reign(up(1), up(2)), *reign(up(1), epoch=2)),
        Expected("flapping_broker", 1, 2, (2, 2)),
    ),
}

# --- long work --------------------------------------------------------------------------------

LONG_WORK = {
    "a deletion meets a reassignment": case(
        reign(loaded(adding=[3]), DELETION_STARTED, assigned(1, 2, 3)),
        finding("deleted_while_reassigning", 3, 2),
    ),
    "a deletion waits for a reassignment": case(
        reign(loaded(adding=[3]), assigned(1, 2, 3), DELETION_STARTED)
    ),
    "an assigned replica is deleted": case(
        reign(loaded(), REPLICA_LEAVES), finding("assigned_replica_deleted", 3, 2)
    ),
    "a replica is deleted that is no longer assigned": case(
        reign(loaded(), assigned(1, 3), REPLICA_LEAVES)
    ),
    "a replica is deleted with its topic": case(reign(loaded(), DELETION_STARTED, REPLICA_LEAVES)),
    "nobody leads for too long": case(reign(), finding("leaderless_too_long", 7)),
    "a reassignment is stuck": case(reign(up(1)), finding("reassignment_stuck", 2)),
    "a deletion is stuck": case(reign(up(1)), finding("deletion_stuck", 2)),
}

CASES = {**MOVES, **LEADERSHIPS, **REIGNS, **BROKERS, **LONG_WORK}
