"""Differences that are meant: each row says when it holds, and which row of the docs says why."""

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final

from msgspec import Struct

from regent.model.ids import NO_LEADER
from tests.conformance.steps import CancelMove, CreateTopic, DeleteTopic, Reassign, Step
from tests.conformance.trees import TopicTree

#: What a difference is called that is none of ZooKeeper's: something went on changing.
NO_REST: Final = "did not come to rest"


class Difference(Struct, frozen=True):
    """One value that is not the same under both controllers."""

    scenario: str
    #: Of the step, from 0.
    number: int
    step: Step
    topic: str
    what: str
    apache: Any
    regent: Any


class Sight(Struct, frozen=True):
    """The topic with the difference, as a whole."""

    apache: TopicTree
    regent: TopicTree
    #: Regent's, before the step.
    before: TopicTree = TopicTree()


class From(Enum):
    """What can be expected of a topic from an explained difference on."""

    #: It is compared as before.
    SAME = auto()
    #: It is compared again when it is gone; in the end it is, under both.
    GONE = auto()
    #: It is another topic, and is not compared any more.
    OTHER = auto()


class Explanation(Struct, frozen=True):
    """Why a difference is no fault."""

    #: The first cell of a row in docs/differences.md.
    where: str
    holds: Callable[[Difference, Sight], bool]
    from_now: From = From.SAME


def _answers(difference: Difference, apache: str, regent: str) -> bool:
    told = (difference.apache, difference.regent)
    return difference.what == "answer" and told == (apache, regent)


def _is_created_on_the_dead(difference: Difference, sight: Sight) -> bool:
    """All of the topic differs: it is there under one of them only, where somebody is missing."""
    is_refused = difference.what != "answer" or _answers(
        difference, "NONE", "INVALID_REPLICA_ASSIGNMENT"
    )
    # At rest, whoever is not in sync is not alive.
    has_dead = any(
        each.leadership is None or set(each.assignment.replicas) > set(each.leadership.isr)
        for each in sight.apache.partitions.values()
    )
    return (
        isinstance(difference.step, CreateTopic)
        and is_refused
        and has_dead
        and sight.regent == TopicTree()
    )


def _cancels_what_is_unknown(difference: Difference, _sight: Sight) -> bool:
    return isinstance(difference.step, CancelMove) and _answers(
        difference, "NO_REASSIGNMENT_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"
    )


def _moves_what_is_unknown(difference: Difference, sight: Sight) -> bool:
    """Both refuse it, each for one of two good reasons."""
    step = difference.step
    return (
        isinstance(step, Reassign)
        and _answers(difference, "INVALID_REPLICA_ASSIGNMENT", "UNKNOWN_TOPIC_OR_PARTITION")
        and step.partition not in sight.apache.partitions
    )


def _is_deleted_again(difference: Difference, sight: Sight) -> bool:
    return (
        isinstance(difference.step, DeleteTopic)
        and _answers(difference, "UNKNOWN_TOPIC_OR_PARTITION", "NONE")
        and sight.regent.is_being_deleted
    )


def _is_last_in_sync_of_the_deleted(difference: Difference, sight: Sight) -> bool:
    """Itself, and the leader epoch: that rises again if the one who is left is found dead."""
    index, _, name = difference.what.partition("/")
    trees = (sight.apache, sight.regent)
    if name not in ("isr", "epochs") or not all(tree.is_being_deleted for tree in trees):
        return False
    found = [tree.partitions.get(int(index)) for tree in trees]
    known = [each.leadership for each in found if each is not None and each.leadership is not None]
    is_left_alone = [each.leader == NO_LEADER and len(each.isr) == 1 for each in known]
    return is_left_alone == [True, True] and known[0].isr != known[1].isr


def _drops_all_in_sync(difference: Difference, sight: Sight) -> bool:
    """Regent has refused it, so its tree still shows what the step would have dropped."""
    step = difference.step
    if not isinstance(step, Reassign | CancelMove) or step.topic != difference.topic:
        return False
    partition = sight.regent.partitions.get(step.partition)
    if partition is None or partition.leadership is None:
        return False
    target = step.replicas if isinstance(step, Reassign) else ()
    dropped = set(partition.assignment.adding) - set(target)
    return dropped >= set(partition.leadership.isr)


def _drops_the_leader(difference: Difference, sight: Sight) -> bool:
    step = difference.step
    if not isinstance(step, Reassign | CancelMove) or step.topic != difference.topic:
        return False
    before, after = (tree.partitions.get(step.partition) for tree in (sight.before, sight.regent))
    if before is None or before.leadership is None or after is None:
        return False
    leader = before.leadership.leader
    return (
        leader in before.assignment.adding
        and leader not in after.assignment.replicas
        and difference.what == f"{step.partition}/epochs"
        and bool(difference.regent == difference.apache + 1)
    )


def _is_deleted_while_it_moves(difference: Difference, sight: Sight) -> bool:
    return (
        difference.what not in ("answer", NO_REST)
        and sight.regent.is_being_deleted
        and sight.regent.is_moving
    )


EXPLANATIONS: Final[tuple[Explanation, ...]] = (
    Explanation(
        "CreateTopics with an assignment to a broker that is not alive",
        _is_created_on_the_dead,
        From.OTHER,
    ),
    Explanation(
        "moving an unknown partition to brokers that cannot have it", _moves_what_is_unknown
    ),
    Explanation("cancelling a move of an unknown partition", _cancels_what_is_unknown),
    Explanation(
        "who is left in the ISR of a topic that is being deleted", _is_last_in_sync_of_the_deleted
    ),
    Explanation("DeleteTopics for a topic whose deletion has begun", _is_deleted_again),
    Explanation(
        "dropping a new replica that leads, when its move is replaced or cancelled",
        _drops_the_leader,
    ),
    Explanation(
        "replacing or cancelling a move when only what it drops is in sync",
        _drops_all_in_sync,
        From.OTHER,
    ),
    Explanation("deleting a topic that is being moved", _is_deleted_while_it_moves, From.GONE),
)
