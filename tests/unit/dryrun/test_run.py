"""What would happen: each kind of question, asked of a cluster small enough to answer by hand."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from regent.dryrun.difference import PartitionChange, Shift
from regent.dryrun.questions import (
    BrokersDie,
    BrokersReturn,
    BrokersShutDown,
    PartitionsMove,
    Question,
    TopicsAreDeleted,
    describe,
)
from regent.dryrun.reassignment_file import ReassignmentPlan, parse_reassignment
from regent.dryrun.run import DryRunAnswer, RequestTally, ask_what_if
from regent.dryrun.snapshot import Snapshot, SnapshotPartition
from regent.errors import BadInput
from regent.model.ids import BrokerId
from regent.model.states import PartitionState
from tests.support.builders import ids
from tests.unit.dryrun.builders import cluster, partition, topic

ONLINE, OFFLINE = PartitionState.ONLINE, PartitionState.OFFLINE
NOTHING = Shift(0, 0, (), ())


def change(
    topic_name: str,
    leaders: tuple[int | None, int | None],
    isrs: tuple[tuple[int, ...], tuple[int, ...]],
    replicas: tuple[int, ...],
    after: PartitionState = ONLINE,
) -> PartitionChange:
    """How partition 0 of a topic changed while its replicas stayed and it was online before."""
    led = [None if each is None else BrokerId(each) for each in leaders]
    held = ids(*replicas)
    return PartitionChange(
        topic_name, 0, led[0], led[1], ids(*isrs[0]), ids(*isrs[1]), held, held, ONLINE, after
    )


def plan(text: str) -> PartitionsMove:
    """A reassignment as in a file."""
    return PartitionsMove(ReassignmentPlan("plan.json", parse_reassignment(text, "plan.json")))


def moved(name: str, *replicas: int) -> PartitionsMove:
    """Partition 0 of a topic shall have these replicas."""
    entry = f'{{"topic": "{name}", "partition": 0, "replicas": {list(replicas)}}}'
    return plan(f'{{"version": 1, "partitions": [{entry}]}}')


# --- brokers ----------------------------------------------------------------------------------


def test_a_dead_broker_costs_its_leaderships_its_places_and_its_only_copies() -> None:
    """The whole answer, for one partition of each fate."""
    snapshot = cluster(
        topic("followed", partition(0, 1, 3)),
        topic("led", partition(0, 3, 2)),
        topic("needy", partition(0, 1, 3), min_insync_replicas="2"),
        topic("only", partition(0, 3)),
        topic("untouched", partition(0, 1, 2)),
    )

    answer = ask_what_if(snapshot, [BrokersDie(ids(3))])

    assert answer == DryRunAnswer(
        asked=("broker 3 dies",),
        broker_count=3,
        topic_count=5,
        partition_count=5,
        notes=(),
        offline=Shift(0, 1, ("only-0",), ()),
        under_replicated=Shift(0, 4, ("followed-0", "led-0", "needy-0", "only-0"), ()),
        below_min_isr=Shift(0, 2, ("needy-0", "only-0"), ()),
        leaders_moved=1,
        isrs_changed=3,
        unclean_elections=(),
        still_moving=(),
        still_deleting=(),
        changes=(
            change("followed", (1, 1), ((1, 3), (1,)), (1, 3)),
            change("led", (3, 2), ((3, 2), (2,)), (3, 2)),
            change("needy", (1, 1), ((1, 3), (1,)), (1, 3)),
            change("only", (3, None), ((3,), (3,)), (3,), OFFLINE),
        ),
        requests=(
            RequestTally(BrokerId(1), "LeaderAndIsr", 1, 2),
            RequestTally(BrokerId(1), "UpdateMetadata", 2, 5),
            RequestTally(BrokerId(2), "LeaderAndIsr", 2, 2),
            RequestTally(BrokerId(2), "UpdateMetadata", 2, 5),
        ),
    )


def test_a_rack_dies_at_once_with_the_brokers_named_beside_it() -> None:
    """One after the other they would leave other leaders on the way."""
    snapshot = cluster(topic("t", partition(0, 1, 3, 2, 4)), brokers=(1, 2, 3, 4))

    answer = ask_what_if(snapshot, [BrokersDie(ids(2), ("odd",))])

    assert answer.changes == (change("t", (1, 4), ((1, 3, 2, 4), (4,)), (1, 3, 2, 4)),)
    assert answer.asked == ("broker 2 and rack odd die",)


def test_an_unclean_election_is_named() -> None:
    """It is where data is lost."""
    unclean = {"unclean.leader.election.enable": "true"}
    allowed = replace(topic("t", partition(0, 3, 1, isr=(3,))), configs=unclean)

    answer = ask_what_if(cluster(allowed), [BrokersDie(ids(3))])

    assert answer.unclean_elections == ("t-0",)
    assert answer.changes == (change("t", (3, 1), ((3,), (1,)), (3, 1)),)


def test_a_broker_that_comes_back_ends_what_waited_for_it() -> None:
    """It leads what only it has; it is not in sync elsewhere until it has caught up."""
    snapshot = cluster(
        topic("only", partition(0, 3, leader=-1, isr=(3,))),
        topic("both", partition(0, 1, 3, isr=(1,))),
        brokers=(1, 2),
    )

    answer = ask_what_if(snapshot, [BrokersReturn(ids(3))])

    assert answer.offline == Shift(1, 0, (), ("only-0",))
    assert answer.under_replicated == Shift(2, 1, (), ("only-0",))
    assert [(c.topic, c.leader_before, c.leader_after) for c in answer.changes] == [
        ("only", None, 3)
    ]
    assert answer.notes == ()


def test_a_broker_can_die_and_come_back() -> None:
    """It is a new life: it lost its leadership and its place in the ISR meanwhile."""
    snapshot = cluster(topic("t", partition(0, 3, 1)))

    answer = ask_what_if(snapshot, [BrokersDie(ids(3)), BrokersReturn(ids(3))])

    assert answer.changes == (change("t", (3, 1), ((3, 1), (1,)), (3, 1)),)


def test_a_broker_that_shuts_down_hands_over_first() -> None:
    """What only it has goes with it, and it is told so before."""
    snapshot = cluster(
        topic("followed", partition(0, 1, 3)),
        topic("only", partition(0, 3)),
        topic("t", partition(0, 3, 2)),
    )

    answer = ask_what_if(snapshot, [BrokersShutDown(ids(3))])

    assert answer.changes == (
        change("followed", (1, 1), ((1, 3), (1,)), (1, 3)),
        change("only", (3, None), ((3,), (3,)), (3,), OFFLINE),
        change("t", (3, 2), ((3, 2), (2,)), (3, 2)),
    )
    stopped = [each for each in answer.requests if each.api == "StopReplica"]
    assert [each.broker_id for each in stopped] == [3]


def test_leaderships_that_cannot_be_moved_are_noted() -> None:
    """The broker would ask again and again, and then go all the same."""
    snapshot = cluster(topic("t", partition(0, 3, 2, isr=(3,))))

    answer = ask_what_if(snapshot, [BrokersShutDown(ids(3))])

    assert answer.notes == ("1 leaderships cannot be moved before the broker goes: t-0",)
    assert answer.offline.new == ("t-0",)


# --- partitions and topics --------------------------------------------------------------------


def test_a_reassignment_is_followed_to_its_end() -> None:
    """The new replica catches up, the leader moves, the old ones are deleted."""
    snapshot = cluster(topic("t", partition(0, 1, 2)), brokers=(1, 2, 3, 4))

    answer = ask_what_if(snapshot, [moved("t", 3, 4)])

    (only,) = answer.changes
    assert (only.leader_before, only.leader_after) == (1, 3)
    assert (only.replicas_before, only.replicas_after) == (ids(1, 2), ids(3, 4))
    assert sorted(only.isr_after) == [3, 4]
    assert (answer.still_moving, answer.offline, answer.under_replicated) == ((), NOTHING, NOTHING)
    deleting = [each.broker_id for each in answer.requests if each.api == "StopReplica"]
    assert deleting == [1, 2]


def test_a_reassignment_that_cannot_end_is_still_moving() -> None:
    """Nobody leads the partition, so nobody can bring the new replica up to date."""
    waiting = partition(0, 3, leader=-1, isr=(3,))
    snapshot = cluster(topic("t", waiting), brokers=(1, 2))

    answer = ask_what_if(snapshot, [moved("t", 1)])

    assert answer.still_moving == ("t-0",)
    assert answer.offline == Shift(1, 1, (), ())


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (moved("u", 1), "plan.json, line 1: u-0: there is no partition u-0"),
        (moved("t", 1, 1), "a broker is named twice"),
        (moved("t", 1, 9), "brokers [9] are not alive; alive are [1, 2, 3]"),
    ],
)
def test_a_reassignment_that_the_controller_would_refuse_is_refused_whole(
    question: PartitionsMove, reason: str
) -> None:
    """In the controller's own words, and with the line of the file."""
    good, bad = moved("t", 2).plan.moves[0], question.plan.moves[0]
    both = PartitionsMove(ReassignmentPlan("plan.json", (good, bad)))

    with pytest.raises(BadInput, match=re.escape(reason)):
        ask_what_if(cluster(topic("t", partition(0, 1))), [both])


def test_a_deleted_topic_is_gone() -> None:
    """Every broker that has a replica confirms at once."""
    snapshot = cluster(topic("t", partition(0, 1, 2)), topic("u", partition(0, 1)))

    answer = ask_what_if(snapshot, [TopicsAreDeleted(("t",))])

    (only,) = answer.changes
    assert (only.topic, only.state_before, only.state_after) == ("t", ONLINE, None)
    assert answer.still_deleting == ()
    assert answer.under_replicated == NOTHING


def test_a_deletion_waits_for_a_dead_broker() -> None:
    """And says so. A topic that shall go is nobody's worry."""
    snapshot = cluster(topic("t", partition(0, 1, 9)))

    answer = ask_what_if(snapshot, [TopicsAreDeleted(("t",))])

    assert answer.still_deleting == ("t",)
    assert answer.notes[-1] == "the deletion of t waits: a replica is offline"
    assert answer.under_replicated.after == 0


# --- what is not in order before anything is asked --------------------------------------------


def test_a_snapshot_that_is_not_at_rest_is_said_to_be_so() -> None:
    """What taking office changes is no consequence of the question."""
    snapshot = cluster(topic("t", partition(0, 9, 1, 2)), topic("u", partition(0, 1, 2)))

    answer = ask_what_if(snapshot, [BrokersDie(ids(3))])

    (note,) = answer.notes
    assert note.startswith("the snapshot was not at rest: taking office alone changes 1 partitions")
    assert answer.changes == ()


def test_topics_without_an_id_and_strangers_in_an_isr_are_noted() -> None:
    """Both would be dealt with, or reported, by the next controller anyway."""
    nameless = replace(topic("t", partition(0, 1, 2, isr=(1, 7))), id=None)

    answer = ask_what_if(cluster(nameless), [BrokersDie(ids(3))])

    assert "topics without an id would be given one: t" in answer.notes
    assert any("the ISR names [7]" in note for note in answer.notes)


def test_a_partition_that_nobody_could_ever_lead_is_offline_before_and_after() -> None:
    """It is new, its only broker is not there, and the question is about another."""
    snapshot = cluster(topic("t", SnapshotPartition(0, ids(9))))

    answer = ask_what_if(snapshot, [BrokersDie(ids(3))])

    assert answer.offline == Shift(1, 1, (), ())
    assert (answer.notes, answer.changes) == ((), ())


def test_the_brokers_default_min_isr_counts_where_a_topic_has_none() -> None:
    """The topic's own word goes over it."""
    snapshot = replace(
        cluster(
            topic("own", partition(0, 1, 3), min_insync_replicas="1"),
            topic("default", partition(0, 1, 3)),
        ),
        broker_defaults={"min.insync.replicas": "2"},
    )

    answer = ask_what_if(snapshot, [BrokersDie(ids(3))])

    assert answer.below_min_isr == Shift(0, 1, ("default-0",), ())


def test_asking_changes_nothing() -> None:
    """The same question of the same snapshot has the same answer."""
    snapshot = cluster(topic("t", partition(0, 1, 2)), topic("u", partition(0, 3, 1)))
    questions: list[Question] = [BrokersDie(ids(3)), TopicsAreDeleted(("t",))]

    assert ask_what_if(snapshot, questions) == ask_what_if(snapshot, questions)


# --- questions that make no sense -------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (BrokersDie(ids(9)), "broker 9 is not alive; alive are 1, 2, 3"),
        (BrokersDie((), ("south",)), "no live broker is in rack 'south'; racks of live"),
        (BrokersShutDown(ids(9)), "broker 9 is not alive"),
        (BrokersReturn(ids(1)), "broker 1 is alive; only one that is not can come back"),
        (BrokersReturn(ids(8)), "no partition has a replica on broker 8"),
        (TopicsAreDeleted(("u",)), "there is no topic 'u'; there are t"),
    ],
)
def test_a_question_about_what_is_not_there_is_refused(question: Question, reason: str) -> None:
    """With what there is, so that the next try is better."""
    with pytest.raises(BadInput, match=re.escape(reason)):
        ask_what_if(cluster(topic("t", partition(0, 1))), [question])


def test_without_racks_no_rack_can_die() -> None:
    """And it is said that there are none."""
    bare = cluster()
    rackless: Snapshot = replace(bare, brokers=tuple(replace(b, rack=None) for b in bare.brokers))

    with pytest.raises(BadInput, match="no broker names a rack"):
        ask_what_if(rackless, [BrokersDie((), ("a",))])


def test_questions_read_like_sentences() -> None:
    """They stand above the answer."""
    questions: list[Question] = [
        BrokersShutDown(ids(1)),
        BrokersShutDown(ids(1, 2)),
        BrokersReturn(ids(1, 2, 3)),
        moved("t", 1),
        TopicsAreDeleted(("t",)),
    ]

    assert [describe(each) for each in questions] == [
        "broker 1 shuts down",
        "broker 1 and broker 2 shut down",
        "broker 1, broker 2 and broker 3 come back",
        f"1 partition moves as {Path('plan.json')} says",
        "topic t is deleted",
    ]
