"""Which replicas a move copies, and what is set for it: a pure question."""

import pytest

from regent.client.config_changes import broker_resource, topic_resource
from regent.client.seen import ClusterSeen, PartitionSeen, TopicSeen
from regent.client.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Copying,
    plan_copying,
    to_lift,
    to_throttle,
)
from regent.model.admin_requests import ReassignmentTarget
from regent.model.config_requests import ConfigDescription, ConfigEntry, ConfigSource
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from tests.support.builders import assignment, ids

T0 = TopicPartition("t", 0)
SEEN = ClusterSeen(
    topics=(TopicSeen("t", (PartitionSeen("t", 0, ids(1)[0], ids(1, 2), ids(1, 2)),)),)
)


def target(*replicas: int, partition: int = 0) -> ReassignmentTarget:
    return ReassignmentTarget("t", partition, ids(*replicas))


@pytest.mark.parametrize(
    ("replicas", "new"),
    [((3, 4), (3, 4)), ((1, 2, 3), (3,)), ((2, 1), ()), ((1,), ()), ((1, 2), ())],
    ids=["moved", "widened", "reordered", "narrowed", "left"],
)
@pytest.mark.behaviour("rsg-019")
def test_only_new_replicas_are_copied(replicas: tuple[int, ...], new: tuple[int, ...]) -> None:
    """A partition that gets none does not appear at all."""
    expected = [Copying(T0, ids(1, 2), ids(*new))] if new else []

    assert plan_copying([target(*replicas)], SEEN, {}) == expected


def test_what_is_moving_already_is_kept_in_the_lists() -> None:
    """They are set as a whole; and its sources are those of before it began."""
    other = TopicPartition("t", 1)
    moving = {other: assignment(3, 2, adding=(3,), removing=(2,))}

    assert plan_copying([target(3)], SEEN, moving) == [
        Copying(T0, ids(1, 2), ids(3)),
        Copying(other, ids(2), ids(3)),
    ]


def test_a_move_that_replaces_another_copies_from_its_origin() -> None:
    """The replicas that were coming go again."""
    moving = {T0: assignment(3, 1, adding=(3,), removing=(1,))}

    assert plan_copying([target(4)], SEEN, moving) == [Copying(T0, ids(1), ids(4))]


def test_an_unknown_partition_is_for_the_controller_to_refuse() -> None:
    assert plan_copying([target(3, partition=9)], SEEN, {}) == []


def test_sources_and_destinations_are_listed_apart() -> None:
    """And every live broker gets both rates, because a leader may change."""
    copying = [
        Copying(T0, ids(1, 2), ids(3)),
        Copying(TopicPartition("t", 1), ids(2), ids(4)),
        Copying(TopicPartition("u", 0), ids(9), ids(1)),
    ]

    changes = to_throttle(copying, 500, live=ids(1, 2, 3, 4))

    told = {
        each.resource.name: {change.name: change.value for change in each.changes}
        for each in changes
    }
    rates = {LEADER_RATE: "500", FOLLOWER_RATE: "500"}
    assert told == {
        "t": {LEADER_REPLICAS: "0:1,0:2,1:2", FOLLOWER_REPLICAS: "0:3,1:4"},
        "u": {LEADER_REPLICAS: "0:9", FOLLOWER_REPLICAS: "0:1"},
        **dict.fromkeys(["1", "2", "3", "4"], rates),
    }


def test_what_may_not_be_seen_is_removed_all_the_same() -> None:
    """A topic that is gone, and a broker that cannot be asked, have nothing to be removed."""
    described = [
        ConfigDescription(topic_resource("t"), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ConfigDescription(topic_resource("gone"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ConfigDescription(broker_resource(1), ErrorCode.BROKER_NOT_AVAILABLE),
        ConfigDescription(
            broker_resource(2),
            # Brokers that do not know the name keep the value to themselves.
            entries=(ConfigEntry(LEADER_RATE, None, ConfigSource.DYNAMIC_BROKER),),
        ),
        ConfigDescription(
            broker_resource(3), entries=(ConfigEntry(LEADER_RATE, "1", ConfigSource.DEFAULT),)
        ),
    ]

    removed = {
        each.resource.name: [change.name for change in each.changes] for each in to_lift(described)
    }

    assert removed == {"t": [LEADER_REPLICAS, FOLLOWER_REPLICAS], "2": [LEADER_RATE]}
