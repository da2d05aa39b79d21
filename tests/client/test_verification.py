"""Whether moves have arrived."""

import pytest

from regent.client.seen import seen_from
from regent.client.verification import Arrival, MoveChecked, check_moves
from regent.model.admin_requests import ReassignmentTarget
from regent.model.assignment import Assignment
from regent.model.cluster_requests import MetadataAnswer, PartitionDescription
from regent.model.ids import TopicPartition
from tests.support.builders import assignment, ids
from tests.support.scripted_broker import partition, topic

NAME = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("there", "move", "expected"),
    [
        (partition(0, 2, 3), None, (Arrival.DONE, 2, "")),
        # Another order is another preferred leader.
        (partition(0, 3, 2), None, (Arrival.NOT_AS_PLANNED, 2, "it is on 3,2")),
        (partition(0, 1), None, (Arrival.NOT_AS_PLANNED, 0, "it is on 1")),
        (None, None, (Arrival.NOT_AS_PLANNED, 0, "there is no such partition")),
        (
            partition(0, 2, 3, 1, leader=1, isr=(1, 3)),
            assignment(2, 3, 1, adding=(2, 3), removing=(1,)),
            (Arrival.IN_PROGRESS, 1, "1 of 2 in sync"),
        ),
        # Somebody else has started another move since.
        (
            partition(0, 4, 1),
            assignment(4, 1, adding=(4,), removing=(1,)),
            (Arrival.NOT_AS_PLANNED, 0, "it is being moved to 4"),
        ),
    ],
)
def test_how_far_a_partition_is(
    there: PartitionDescription | None,
    move: Assignment | None,
    expected: tuple[Arrival, int, str],
) -> None:
    """Done means done in the planned order, and nothing under way."""
    told = () if there is None else (topic("t", there),)
    moving = {} if move is None else {NAME: move}

    (checked,) = check_moves(
        [ReassignmentTarget("t", 0, ids(2, 3))], seen_from(MetadataAnswer(topics=told)), moving
    )

    arrival, in_sync, detail = expected
    replicas = () if there is None else there.replicas
    assert checked == MoveChecked("t", 0, arrival, ids(2, 3), replicas, in_sync, detail)


def test_of_two_waves_the_later_one_counts() -> None:
    """A partition may stop on its way in an earlier wave."""
    targets = [ReassignmentTarget("t", 0, ids(1)), ReassignmentTarget("t", 0, ids(2))]
    there = seen_from(MetadataAnswer(topics=(topic("t", partition(0, 2)),)))

    assert [each.arrival for each in check_moves(targets, there, {})] == [Arrival.DONE]
