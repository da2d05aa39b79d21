"""Where two records of a scenario differ, and what of that is explained."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from regent.model.admin_requests import ElectionType
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from tests.conformance.comparison import Seen, Verdict, compare
from tests.conformance.explanations import EXPLANATIONS, Difference
from tests.conformance.steps import (
    CancelMove,
    CreateTopic,
    DeleteTopic,
    Elect,
    KillBroker,
    Reassign,
    Scenario,
    Step,
)
from tests.conformance.trees import PartitionTree, TopicTree

DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"
CREATE = CreateTopic("t", ((1, 2),))
KILL = KillBroker(1)
SCENARIO = Scenario("s", (CREATE, KILL, KILL))
ASSIGNMENT = Assignment((BrokerId(1), BrokerId(2)))
LEADERSHIP = Leadership(
    BrokerId(1), LeaderEpoch(0), ASSIGNMENT.replicas, ControllerEpoch(1), ZkVersion(0)
)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def seen(answer: ErrorCode | None = None, **changes: object) -> Seen:
    leadership = replace(LEADERSHIP, **changes)
    return Seen(
        answer, {"t": TopicTree({0: PartitionTree(ASSIGNMENT, leadership)}, {}, has_id=True)}
    )


def nothing(answer: ErrorCode | None = None) -> Seen:
    return Seen(answer, {"t": TopicTree()})


def test_the_same_is_no_difference() -> None:
    """Nor are controller epochs, versions of znodes, and the order in which replicas come back."""
    one = [seen(ErrorCode.NONE), seen(), seen()]
    other = [
        seen(ErrorCode.REQUEST_TIMED_OUT, controller_epoch=9, zk_version=9),
        seen(isr=(2, 1)),
        seen(),
    ]

    assert compare(SCENARIO, one, other) == Verdict()


def test_a_leader_epoch_that_rose_once_too_often_is_told_once() -> None:
    """Otherwise every later step would differ too."""
    one = [seen(ErrorCode.NONE), seen(leader_epoch=1), seen(leader_epoch=2)]
    other = [seen(ErrorCode.NONE), seen(leader_epoch=2), seen(leader_epoch=3)]

    expected = Difference("s", 1, KILL, "t", "0/epochs", 1, 2)
    assert compare(SCENARIO, one, other) == Verdict((expected,))


def test_the_order_of_an_isr_counts_where_the_controller_makes_it() -> None:
    """When it is new, and when somebody leaves."""
    one = [seen(isr=(1, 2, 3)), seen(isr=(1, 2)), seen(isr=(1, 2))]
    other = [seen(isr=(2, 1, 3)), seen(isr=(1, 2)), seen(isr=(2, 1))]

    assert compare(SCENARIO, one, other).unexplained == (
        Difference("s", 0, CREATE, "t", "0/isr in order", (1, 2, 3), (2, 1, 3)),
        Difference("s", 1, KILL, "t", "0/isr keeps its order", True, False),
    )


def test_every_difference_is_told_with_its_step() -> None:
    one = [seen(ErrorCode.NONE), seen(leader=2, isr=(2,)), nothing()]
    other = [seen(ErrorCode.INVALID_REQUEST), seen(), nothing()]

    assert compare(SCENARIO, one, other).unexplained == (
        Difference("s", 0, CREATE, "t", "answer", "NONE", "INVALID_REQUEST"),
        Difference("s", 1, KILL, "t", "0/leader", 2, 1),
        Difference("s", 1, KILL, "t", "0/isr", (2,), (1, 2)),
    )


def test_a_topic_that_is_missing_differs_in_all_that_the_other_has() -> None:
    one = [seen(ErrorCode.NONE), seen(), seen()]
    other = [seen(ErrorCode.NONE), nothing(), seen()]

    assert {each.what for each in compare(SCENARIO, one, other).unexplained} == {
        *("config", "has an id", "0/replicas", "0/adding", "0/removing"),
        *("0/leader", "0/isr", "0/isr in order", "0/isr keeps its order"),
        *("0/epochs", "0/recovering"),
    }


def test_a_topic_that_parts_ways_for_a_known_reason_is_not_compared_again() -> None:
    """It exists under one controller only, so nothing that follows can be the same."""
    one = [seen(ErrorCode.NONE, isr=(2,)), seen(leader=2), seen()]
    other = [nothing(ErrorCode.INVALID_REPLICA_ASSIGNMENT), nothing(), nothing()]

    verdict = compare(SCENARIO, one, other)

    assert verdict.unexplained == ()
    assert {difference.number for difference, _ in verdict.explained} == {0}


def test_a_topic_that_could_have_been_created_must_be() -> None:
    """All of its replicas are in sync, so nobody was dead who could be the reason."""
    one = [seen(ErrorCode.NONE), seen(), seen()]
    other = [nothing(ErrorCode.INVALID_REPLICA_ASSIGNMENT), nothing(), nothing()]

    verdict = compare(SCENARIO, one, other)

    assert verdict.explained == ()
    assert {difference.number for difference in verdict.unexplained} == {0, 1, 2}


def test_a_topic_that_both_have_created_is_compared_though_somebody_is_dead() -> None:
    one = [seen(leader=2, isr=(2,)), seen(), seen()]
    other = [seen(leader=1, isr=(2,)), seen(), seen()]

    expected = Difference("s", 0, CREATE, "t", "0/leader", 2, 1)
    assert compare(SCENARIO, one, other) == Verdict((expected,))


def being_deleted(*, is_moving: bool) -> Seen:
    moving = Assignment(ASSIGNMENT.replicas, adding=(BrokerId(2),))
    partition = PartitionTree(moving if is_moving else ASSIGNMENT, LEADERSHIP)
    return Seen(None, {"t": TopicTree({0: partition}, {}, has_id=True, is_being_deleted=True)})


def test_a_topic_that_goes_later_for_a_known_reason_is_gone_in_the_end() -> None:
    """How it gets there is another matter, and is not compared."""
    scenario = Scenario("s", (CREATE, KILL, KILL, KILL))
    one = [seen(), nothing(), nothing(), nothing()]
    other = [seen(), being_deleted(is_moving=True), being_deleted(is_moving=False), nothing()]

    verdict = compare(scenario, one, other)

    assert verdict.unexplained == ()
    assert {reason.where for _, reason in verdict.explained} == {
        "deleting a topic that is being moved"
    }


def test_a_topic_that_should_go_later_and_does_not_is_a_difference() -> None:
    one = [seen(ErrorCode.NONE), nothing(), nothing()]
    moving = being_deleted(is_moving=True)

    for last in (moving, being_deleted(is_moving=False), seen()):
        verdict = compare(SCENARIO, one, [seen(ErrorCode.NONE), moving, last])
        assert {difference.number for difference in verdict.unexplained} == {2}


@pytest.mark.parametrize(
    ("is_being_deleted", "leader", "isr", "is_explained"),
    [
        (True, NO_LEADER, (2,), True),
        (False, NO_LEADER, (2,), False),
        (True, 1, (2,), False),
        (True, NO_LEADER, (1, 2), False),
    ],
)
def test_who_is_left_in_sync_of_a_deleted_topic_is_nobodys_choice(
    *, is_being_deleted: bool, leader: int, isr: tuple[int, ...], is_explained: bool
) -> None:
    """Its replicas are deleted anyway. That one is left, and that nobody leads, is compared."""

    def left(*in_sync: int) -> Seen:
        known = replace(LEADERSHIP, leader=leader, isr=ids(*in_sync))
        tree = TopicTree({0: PartitionTree(ASSIGNMENT, known)}, is_being_deleted=is_being_deleted)
        return Seen(None, {"t": tree})

    verdict = compare(Scenario("s", (CREATE, KILL)), [seen(), left(1)], [seen(), left(*isr)])

    assert bool(verdict.explained) == is_explained
    assert bool(verdict.unexplained) != is_explained


@pytest.mark.parametrize(("left", "is_explained"), [(2, True), (1, False)])
def test_the_leader_epoch_of_a_deleted_topic_may_hang_on_who_is_left(
    left: int, *, is_explained: bool
) -> None:
    """The next controller raises it if that one is dead; if both have the same one, so do both."""

    def deleted(in_sync: int, leader_epoch: int) -> Seen:
        known = replace(LEADERSHIP, leader=NO_LEADER, isr=ids(in_sync), leader_epoch=leader_epoch)
        tree = TopicTree({0: PartitionTree(ASSIGNMENT, known)}, is_being_deleted=True)
        return Seen(None, {"t": tree})

    one, other = [seen(), deleted(1, 4)], [seen(), deleted(left, 5)]
    verdict = compare(Scenario("s", (CREATE, KILL)), one, other)

    assert "0/epochs" in {each.what for each, _ in verdict.explained} or not is_explained
    assert bool(verdict.unexplained) != is_explained


@pytest.mark.parametrize(("partition", "is_explained"), [(5, True), (0, False)])
def test_of_two_reasons_to_refuse_a_move_either_may_be_told(
    partition: int, *, is_explained: bool
) -> None:
    """Of a partition that is there, nobody may say that it is not."""
    one = [seen(), seen(ErrorCode.INVALID_REPLICA_ASSIGNMENT)]
    other = [seen(), seen(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]

    verdict = compare(Scenario("s", (CREATE, Reassign("t", partition, (9,)))), one, other)

    assert bool(verdict.explained) == is_explained
    assert bool(verdict.unexplained) != is_explained


@pytest.mark.parametrize(
    ("leader_before", "adding", "epochs", "is_explained"),
    [(2, (2,), 3, True), (1, (2,), 3, False), (2, (2,), 4, False), (2, (), 3, False)],
)
def test_dropping_a_new_leader_may_take_one_epoch_more(
    leader_before: int, adding: tuple[int, ...], epochs: int, *, is_explained: bool
) -> None:
    """2 came with the move that is cancelled. Only if it leads is there one election more."""

    def at(replicas: tuple[BrokerId, ...], new: tuple[BrokerId, ...], **changes: object) -> Seen:
        partition = PartitionTree(Assignment(replicas, new), replace(LEADERSHIP, **changes))
        return Seen(None, {"t": TopicTree({0: partition}, {}, has_id=True)})

    moving = at(ids(2, 1), ids(*adding), leader=leader_before)
    one = [moving, at(ids(1), (), isr=ids(1), leader_epoch=2)]
    other = [moving, at(ids(1), (), isr=ids(1), leader_epoch=epochs)]

    verdict = compare(Scenario("s", (CREATE, CancelMove("t", 0))), one, other)

    assert bool(verdict.explained) == is_explained
    assert bool(verdict.unexplained) != is_explained


def test_a_topic_that_is_being_deleted_may_be_deleted_again() -> None:
    """Only as long as it is there: nobody may be told that it deleted what it did not."""
    scenario = Scenario("s", (CREATE, DeleteTopic("t")))
    unknown, granted = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE
    deleted = being_deleted(is_moving=False)

    for there, is_explained in ((deleted, True), (nothing(), False)):
        one = [seen(granted), replace(there, answer=unknown)]
        other = [seen(granted), replace(there, answer=granted)]
        verdict = compare(scenario, one, other)
        assert (len(verdict.explained), len(verdict.unexplained)) == (
            (1, 0) if is_explained else (0, 1)
        )


@pytest.mark.parametrize(
    ("isr", "step", "is_explained"),
    [
        ((2,), CancelMove("t", 0), True),
        ((1, 2), CancelMove("t", 0), False),
        ((2,), Reassign("t", 0, (1, 3)), True),
        ((2,), Reassign("t", 0, (2, 3)), False),
        ((2,), KILL, False),
    ],
)
def test_a_refusal_to_drop_all_that_is_in_sync_is_explained(
    isr: tuple[int, ...], step: Step, *, is_explained: bool
) -> None:
    """2 is on its way in. Only if nothing else is in sync does Regent keep it on purpose."""
    moving = PartitionTree(
        Assignment(ASSIGNMENT.replicas, adding=ids(2)), replace(LEADERSHIP, isr=ids(*isr))
    )
    one = [seen(ErrorCode.NONE), seen()]
    other = [seen(ErrorCode.NONE), Seen(None, {"t": TopicTree({0: moving}, {}, has_id=True)})]

    verdict = compare(Scenario("s", (CREATE, step)), one, other)

    assert bool(verdict.explained) == is_explained
    assert bool(verdict.unexplained) != is_explained


def test_an_answer_that_nothing_explains_is_a_difference_where_it_is_given() -> None:
    scenario = Scenario("s", (CREATE, Elect("t", 0, ElectionType.PREFERRED), KILL))
    one = [seen(ErrorCode.NONE), seen(ErrorCode.ELECTION_NOT_NEEDED), seen()]
    other = [seen(ErrorCode.NONE), seen(ErrorCode.NONE), seen()]

    (difference,) = compare(scenario, one, other).unexplained

    assert (difference.what, difference.apache, difference.regent) == (
        *("answer", "ELECTION_NOT_NEEDED"),
        "NONE",
    )


def test_every_explanation_is_a_row_of_the_docs() -> None:
    """Whoever reads of an explained difference finds there what each does, and why."""
    rows = {
        line.split("|")[1].strip() for line in DIFFERENCES.read_text().splitlines() if "|" in line
    }

    assert {each.where for each in EXPLANATIONS} <= rows
