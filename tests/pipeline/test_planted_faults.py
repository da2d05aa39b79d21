"""A fault of each kind, planted in the clean journal of a simulated cluster, is found (Q4).

Each fault is as small as it can be, so that it breaks its own rule and, if at all possible, no
other. All copies of the journal are clusters of one table, so that the audit runs once.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace
from pyspark.sql import Row, SparkSession

from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.states import PartitionState, ReplicaState
from regent.pipeline.audit import violations
from regent.pipeline.audit.rules import RULES
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.deletions import deletions
from regent.pipeline.outages import outages
from regent.pipeline.reassignments import reassignments
from regent.pipeline.settings import DEFAULTS
from regent.pipeline.sources.journal import read_journal
from regent.pipeline.timelines import timelines
from tests.pipeline import oracle
from tests.pipeline.comparing import differences
from tests.pipeline.oracle.history import read_history
from tests.pipeline.planting import Draft, clean_records
from tests.pipeline.rows import brokers

pytestmark = pytest.mark.requirement("Q4")

CLEAN: Final = "clean"
HOUR_MS: Final = 3_600_000

NEW, ONLINE, OFFLINE = PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE


# --- the faults, each with the name of the rule that it breaks ----------------------------------


def illegal_partition_move(draft: Draft) -> None:
    draft.change(draft.find(facts.PartitionMoved, after=NEW), after=OFFLINE)
    draft.change(draft.find(facts.LeaderElected), before=OFFLINE)


def illegal_replica_move(draft: Draft) -> None:
    index = draft.find(facts.ReplicaMoved)
    first = draft.records[index].fact
    assert isinstance(first, facts.ReplicaMoved)
    draft.change(index, replica_after=ReplicaState.ONLINE)
    draft.change(
        draft.find(
            facts.ReplicaMoved, nth=1, topic=first.topic, partition=0, broker_id=first.broker_id
        ),
        replica_before=ReplicaState.ONLINE,
    )


def leader_outside_isr(draft: Draft) -> None:
    draft.change(draft.find(facts.LeadershipLearned, nth=-1), isr=brokers(3))


def empty_isr(draft: Draft) -> None:
    draft.change(draft.find(facts.LeadershipLearned, nth=-1), isr=(), leader=BrokerId(-1))


def unclean_election(draft: Draft) -> None:
    draft.change(draft.find(facts.LeaderElected, before=OFFLINE), unclean=True)


def partition_chain_broken(draft: Draft) -> None:
    draft.change(draft.find(facts.LeaderElected, before=OFFLINE), before=NEW)


def replica_chain_broken(draft: Draft) -> None:
    joined = draft.find(facts.ReplicaMoved, replica_before=ReplicaState.NEW)
    draft.change(joined, replica_before=ReplicaState.OFFLINE)


def last_preferred(draft: Draft) -> int:
    """The last change to a partition that had many."""
    return draft.find(
        facts.LeaderElected,
        topic="topic0",
        partition=1,
        strategy="PreferredReplicaPartitionLeaderElectionStrategy",
    )


def leader_epoch_went_back(draft: Draft) -> None:
    draft.change(last_preferred(draft), leader_epoch=LeaderEpoch(4))


def two_leaders_in_one_epoch(draft: Draft) -> None:
    draft.change(last_preferred(draft), leader_epoch=LeaderEpoch(5))


def zk_version_went_back(draft: Draft) -> None:
    draft.change(last_preferred(draft), zk_version=ZkVersion(9))


def acted_after_deposed(draft: Draft) -> None:
    """The third controller writes once more what the fourth has read already."""
    draft.insert(
        draft.find(facts.ControllerResigned, nth=-1) - 1,
        facts.LeaderEpochRaised(
            "topic1", 0, BrokerId(1), LeaderEpoch(1), brokers(1, 2), ZkVersion(1)
        ),
    )


def overruled_by_deposed(draft: Draft) -> None:
    """The fourth controller learns of an election that the third held meanwhile."""
    draft.change(
        draft.find(facts.LeadershipLearned, topic="topic0", partition=1, nth=-1),
        controller_epoch=ControllerEpoch(3),
        leader_epoch=LeaderEpoch(6),
    )
    draft.change(last_preferred(draft), leader_epoch=LeaderEpoch(7))


def out_of_sync_replica_trusted(draft: Draft) -> None:
    elected = draft.find(facts.LeaderElected, topic="topic2", partition=1, before=OFFLINE)
    draft.change(elected, isr=brokers(1, 4))


def leader_not_assigned(draft: Draft) -> None:
    draft.change(
        draft.find(
            facts.LeaderElected, strategy="ReassignPartitionLeaderElectionStrategy", partition=2
        ),
        leader=BrokerId(2),
    )


def isr_outside_assignment(draft: Draft) -> None:
    draft.change(draft.find(facts.LeadershipLearned, nth=-1), isr=brokers(2, 3, 4))


def two_controllers_in_one_epoch(draft: Draft) -> None:
    elected = draft.records[draft.find(facts.ControllerElected, nth=2)]
    draft.records.append(replace(elected, controller_id=BrokerId(2), seq=1))


def epoch_won_twice(draft: Draft) -> None:
    draft.insert(draft.find(facts.ControllerElected), facts.ControllerElected())


def beginning_lost(draft: Draft) -> None:
    draft.drop(draft.find(facts.ControllerElected, nth=1))


def epoch_unknown(draft: Draft) -> None:
    fifth = ControllerEpoch(5)
    draft.records = [
        replace(each, controller_epoch=fifth) if each.controller_epoch == 4 else each
        for each in draft.records
    ]
    for index, each in enumerate(draft.records):
        if isinstance(each.fact, facts.LeadershipLearned) and each.fact.controller_epoch == 4:
            draft.change(index, controller_epoch=fifth)


def controller_epoch_went_back(draft: Draft) -> None:
    answer = facts.RequestAnswered(BrokerId(2), "UpdateMetadata", ErrorCode.NONE)
    draft.insert(draft.find(facts.ControllerElected, nth=-1), answer, epoch=1)


def acted_before_elected(draft: Draft) -> None:
    elected = draft.find(facts.ControllerElected, nth=1)
    draft.insert(elected, facts.ControllerElected())
    first = draft.records[elected]
    change = facts.AssignmentChanged("topic0", 0, brokers(3))
    draft.records[elected] = replace(first, fact=change)


def acted_after_resigning(draft: Draft) -> None:
    change = facts.AssignmentChanged("topic0", 0, brokers(3))
    draft.insert(draft.find(facts.ControllerResigned, nth=-1), change)


def records_lost(draft: Draft) -> None:
    draft.drop(draft.find(facts.RequestAnswered, nth=-5))


def leader_on_dead_broker(draft: Draft) -> None:
    elected = draft.find(facts.LeaderElected, topic="topic1", partition=1)
    draft.insert(elected, facts.BrokerUp(BrokerId(2), BrokerEpoch(999)))
    draft.insert(elected - 1, facts.BrokerDown(BrokerId(2), BrokerEpoch(78)))


def flapping_broker(draft: Draft) -> None:
    lives: list[facts.Fact] = [
        facts.BrokerDown(BrokerId(2), BrokerEpoch(78)),
        facts.BrokerUp(BrokerId(2), BrokerEpoch(997)),
        facts.BrokerDown(BrokerId(2), BrokerEpoch(997)),
        facts.BrokerUp(BrokerId(2), BrokerEpoch(998)),
        facts.BrokerDown(BrokerId(2), BrokerEpoch(998)),
        facts.BrokerUp(BrokerId(2), BrokerEpoch(999)),
    ]
    draft.insert(len(draft.records) - 1, *lives)


def leaderless_too_long(draft: Draft) -> None:
    draft.delay(draft.find(facts.LeaderElected, before=OFFLINE), HOUR_MS)


def reassignment_stuck(draft: Draft) -> None:
    draft.delay(draft.find(facts.LeadershipLearned, topic="topic0", partition=2), HOUR_MS)


def deletion_stuck(draft: Draft) -> None:
    successful = ReplicaState.DELETION_SUCCESSFUL
    moved = draft.find(facts.ReplicaMoved, topic="topic2", replica_after=successful)
    draft.delay(moved, HOUR_MS)


def deleted_while_reassigning(draft: Draft) -> None:
    move = facts.AssignmentChanged("topic2", 0, brokers(1, 3, 4, 2), adding=brokers(2))
    draft.insert(draft.find(facts.DeletionAdvanced, phase="queued") - 1, move)


def assigned_replica_deleted(draft: Draft) -> None:
    changed = draft.find(facts.AssignmentChanged, topic="topic0", partition=1, nth=1)
    draft.change(changed, replicas=brokers(2, 1, 4))


FAULTS: Final[dict[str, Callable[[Draft], None]]] = {
    fault.__name__: fault
    for fault in (
        illegal_partition_move,
        illegal_replica_move,
        leader_outside_isr,
        empty_isr,
        unclean_election,
        partition_chain_broken,
        replica_chain_broken,
        leader_epoch_went_back,
        two_leaders_in_one_epoch,
        zk_version_went_back,
        acted_after_deposed,
        overruled_by_deposed,
        out_of_sync_replica_trusted,
        leader_not_assigned,
        isr_outside_assignment,
        two_controllers_in_one_epoch,
        epoch_won_twice,
        beginning_lost,
        epoch_unknown,
        controller_epoch_went_back,
        acted_before_elected,
        acted_after_resigning,
        records_lost,
        leader_on_dead_broker,
        flapping_broker,
        leaderless_too_long,
        reassignment_stuck,
        deletion_stuck,
        deleted_while_reassigning,
        assigned_replica_deleted,
    )
}


def partition_not_as_started(draft: Draft) -> None:
    """It leaves OfflinePartition, though the new controller had started it as OnlinePartition."""
    draft.change(draft.find(facts.PartitionMoved, before=ONLINE), before=OFFLINE)


def replica_not_as_started(draft: Draft) -> None:
    """It leaves OnlineReplica, though the new controller had started it as ineligible."""
    ineligible = ReplicaState.DELETION_INELIGIBLE
    moved = draft.find(facts.ReplicaMoved, replica_before=ineligible)
    draft.change(moved, replica_before=ReplicaState.ONLINE)


#: Each with the rule that finds it.
NOT_AS_STARTED: Final[dict[str, tuple[Callable[[Draft], None], str]]] = {
    "partition_not_as_started": (partition_not_as_started, "partition_chain_broken"),
    "replica_not_as_started": (replica_not_as_started, "replica_chain_broken"),
}


# --- the audit of all of them -------------------------------------------------------------------


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("planted")
    records = clean_records()
    Draft(records).write(root / CLEAN)
    planted = FAULTS | {name: fault for name, (fault, _) in NOT_AS_STARTED.items()}
    for name, fault in planted.items():
        draft = Draft(records)
        fault(draft)
        draft.write(root / name)
    return root


@pytest.fixture(scope="module")
def found(spark: SparkSession, journals: Path) -> list[Row]:
    return audited(spark, journals)


def audited(spark: SparkSession, journals: Path) -> list[Row]:
    """All findings in these journals, one cluster for each directory."""
    table = str(journals.parent / f"{journals.name}-transitions")
    read_journal(spark, str(journals)).write.parquet(table)
    transitions = spark.read.parquet(table)
    return violations(
        transitions,
        outages(timelines(transitions), transitions),
        reassignments(transitions),
        deletions(transitions),
        broker_flapping(broker_lives(transitions)),
    ).collect()


def test_every_rule_has_its_fault() -> None:
    assert sorted(FAULTS) == sorted(rule.name for rule in RULES)


def test_nothing_is_found_in_a_clean_journal(found: list[Row]) -> None:
    assert not [row for row in found if row.cluster == CLEAN]


@pytest.mark.parametrize("rule", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(rule: str, found: list[Row]) -> None:
    assert [row.rule for row in found if row.cluster == rule] == [rule]


@pytest.mark.parametrize("name", NOT_AS_STARTED)
def test_a_move_from_another_state_than_it_was_started_in_is_found(
    name: str, found: list[Row]
) -> None:
    assert [row.rule for row in found if row.cluster == name] == [NOT_AS_STARTED[name][1]]


def test_the_oracle_finds_the_planted_faults_in_the_same_places(
    found: list[Row], journals: Path
) -> None:
    judged = {*oracle.findings.RULES, oracle.findings.TOO_LONG}
    expected = []
    for directory in journals.iterdir():
        history = read_history(directory)
        intervals = oracle.timelines.timelines(history)
        expected += oracle.findings.findings(history, intervals, DEFAULTS)

    assert not differences(
        [
            (r.rule, r.cluster, r.topic, r.partition, r.controller_epoch, r.sequence)
            for r in found
            if r.rule in judged
        ],
        expected,
    )
