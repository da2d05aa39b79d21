"""Two records of one scenario, one for each controller: where they differ, and why that may be.

Compared after every step: the answer, the assignment with those coming and going, the leader, the
ISR, by how much the leader epoch rose in this step, whether the leader is recovering, configs, and
the queues. Left out: controller epochs, znode versions, topic ids and times, which differ from run
to run, and the order of an ISR after replicas have come back, which their leader decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from tests.conformance.explanations import (
    EXPLANATIONS,
    NO_REST,
    Difference,
    Explanation,
    From,
    Sight,
)
from tests.conformance.steps import Scenario, Step
from tests.conformance.trees import PartitionTree, TopicTree


class Seen(Struct, frozen=True):
    """What came of one step: the answer if the step is a request, and the topics at rest."""

    answer: ErrorCode | None
    #: By the name that the scenario has for the topic.
    topics: dict[str, TopicTree]
    #: What did not come to rest, and why.
    restless: dict[str, str] = {}


class Verdict(Struct, frozen=True):
    """All differences of one scenario."""

    unexplained: tuple[Difference, ...] = ()
    explained: tuple[tuple[Difference, Explanation], ...] = ()


_NOTHING: Final = Seen(None, {})
#: Whoever waits for brokers to know of a change may wait longer than the caller.
_ACCEPTED: Final = {ErrorCode.REQUEST_TIMED_OUT: ErrorCode.NONE}


def compare(scenario: Scenario, apache: Sequence[Seen], regent: Sequence[Seen]) -> Verdict:
    """Step by step; topics that part ways for a known reason are compared as that allows."""
    unexplained: list[Difference] = []
    explained: list[tuple[Difference, Explanation]] = []
    parted: dict[str, From] = {}
    pairs = list(zip(apache, regent, strict=True))
    earlier = [(_NOTHING, _NOTHING), *pairs[:-1]]
    for number, (step, before, (left, right)) in enumerate(
        zip(scenario.steps, earlier, pairs, strict=True)
    ):
        is_last = number == len(scenario.steps) - 1
        for topic, what, one, other in _unlike(step, before, left, right):
            earlier_tree = before[1].topics.get(topic, TopicTree())
            sight = Sight(left.topics[topic], right.topics[topic], earlier_tree)
            if topic in parted and not _must_agree(parted[topic], sight, is_last=is_last):
                continue
            difference = Difference(scenario.name, number, step, topic, what, one, other)
            reason = next((row for row in EXPLANATIONS if row.holds(difference, sight)), None)
            if reason is None or (topic in parted and is_last):
                unexplained.append(difference)
            else:
                explained.append((difference, reason))
        for difference, reason in explained:
            if difference.number == number and reason.from_now is not From.SAME:
                parted[difference.topic] = reason.from_now
    return Verdict(tuple(unexplained), tuple(explained))


def _must_agree(parted: From, sight: Sight, *, is_last: bool) -> bool:
    """Whether a topic that parted ways is expected to be the same again."""
    is_gone = sight.apache == sight.regent == TopicTree()
    return parted is From.GONE and (is_last or is_gone)


def _unlike(
    step: Step, before: tuple[Seen, Seen], apache: Seen, regent: Seen
) -> Iterator[tuple[str, str, Any, Any]]:
    own_topic: str | None = getattr(step, "topic", None)
    left = flatten(apache, before[0].topics, own_topic)
    right = flatten(regent, before[1].topics, own_topic)
    for topic, what in dict.fromkeys((*left, *right)):
        one, other = left.get((topic, what)), right.get((topic, what))
        if one != other:
            yield topic, what, one, other


def flatten(
    seen: Seen, before: Mapping[str, TopicTree], own_topic: str | None
) -> dict[tuple[str, str], Any]:
    """All that is compared of one step, by topic and by what it is."""
    values: dict[tuple[str, str], Any] = {}
    if own_topic is not None and seen.answer is not None:
        values[own_topic, "answer"] = _ACCEPTED.get(seen.answer, seen.answer).name
    for topic, tree in seen.topics.items():
        values[topic, "config"] = tree.config
        values[topic, "has an id"] = tree.has_id
        values[topic, "is being deleted"] = tree.is_being_deleted
        values[topic, "is planned"] = tree.is_planned
        values[topic, "is queued for election"] = tree.is_queued_for_election
        values[topic, NO_REST] = seen.restless.get(topic)
        earlier = before.get(topic, TopicTree()).partitions
        for index, partition in tree.partitions.items():
            for name, value in _of_partition(partition, earlier.get(index)):
                values[topic, f"{index}/{name}"] = value
    return values


def _of_partition(
    partition: PartitionTree, earlier: PartitionTree | None
) -> Iterator[tuple[str, Any]]:
    assignment, leadership = partition.assignment, partition.leadership
    yield "replicas", assignment.replicas
    yield "adding", assignment.adding
    yield "removing", assignment.removing
    if leadership is None:
        return
    yield "leader", leadership.leader
    yield "isr", tuple(sorted(leadership.isr))
    yield "recovering", leadership.recovering
    started = earlier.leadership if earlier is not None else None
    if started is None:
        yield "isr in order", leadership.isr
    else:
        yield "isr keeps its order", _keeps_order(started.isr, leadership.isr)
    # From where it stood, so that one difference does not come again after every later step.
    yield "epochs", leadership.leader_epoch - (started.leader_epoch if started is not None else 0)


def _keeps_order(before: tuple[BrokerId, ...], after: tuple[BrokerId, ...]) -> bool:
    """Whether those who stayed did so in their order, if some have left and nobody has come."""
    stayed = tuple(replica for replica in before if replica in after)
    return after == stayed or not set(after) < set(before)
