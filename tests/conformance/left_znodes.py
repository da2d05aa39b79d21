"""What operators' tools before 2.4 left in ZooKeeper for the controller to find. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from regent.zookeeper.notice_znodes import encode_election
from regent.zookeeper.reassignment_znode import encode_reassignments
from regent.zookeeper.store import Create
from tests.conformance.steps import (
    LeaveDeletion,
    LeaveElection,
    LeavePlan,
    LeaveTopic,
    TopicStep,
)

#: Steps of one kind, each with the name that its topic has in the cluster.
Named: TypeAlias = Sequence[tuple[str, Any]]


def _topics(steps: Named) -> list[Create]:
    """Version 1 of the format, which knows no ids of topics."""
    return [
        Create(
            paths.topic(name),
            msgspec.json.encode({"version": 1, "partitions": dict(enumerate(step.replicas))}),
        )
        for name, step in steps
    ]


def _deletions(steps: Named) -> list[Create]:
    return [Create(paths.topic_deletion(name)) for name, _ in steps]


def _plan(steps: Named) -> list[Create]:
    """One znode for all: there is one place for it."""
    plan = {
        TopicPartition(name, step.partition): tuple(map(BrokerId, step.replicas))
        for name, step in steps
    }
    return [Create(paths.REASSIGNMENT, encode_reassignments(plan))]


def _election(steps: Named) -> list[Create]:
    wanted = [TopicPartition(name, step.partition) for name, step in steps]
    return [Create(paths.ELECTION, encode_election(wanted))]


#: The znodes for all steps of a kind; other kinds are requests.
LEFT: Final[Mapping[type[TopicStep], Callable[[Named], list[Create]]]] = {
    LeaveTopic: _topics,
    LeaveDeletion: _deletions,
    LeavePlan: _plan,
    LeaveElection: _election,
}
