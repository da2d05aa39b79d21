"""What a scenario can do to a cluster: one value for each step, and what scenarios are.

Replicas are always given, never placed by chance: two clusters to which the same steps are done
have the same reasons to end in the same state.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.model.admin_requests import ElectionType

Replicas: TypeAlias = tuple[int, ...]

# --- to a topic -----------------------------------------------------------------------------------


class CreateTopic(Struct, frozen=True, tag=True):
    """By CreateTopics, with the replicas of each partition."""

    topic: str
    replicas: tuple[Replicas, ...]
    configs: tuple[tuple[str, str], ...] = ()


class AddPartitions(Struct, frozen=True, tag=True):
    """By CreatePartitions, with the replicas of each new one."""

    topic: str
    total_count: int
    replicas: tuple[Replicas, ...]


class DeleteTopic(Struct, frozen=True, tag=True):
    """By DeleteTopics."""

    topic: str


class Reassign(Struct, frozen=True, tag=True):
    """By AlterPartitionReassignments; replaces a move that is under way."""

    topic: str
    partition: int
    replicas: Replicas


class CancelMove(Struct, frozen=True, tag=True):
    """By AlterPartitionReassignments without a target."""

    topic: str
    partition: int


class Elect(Struct, frozen=True, tag=True):
    """By ElectLeaders."""

    topic: str
    partition: int
    kind: ElectionType


class Configure(Struct, frozen=True, tag=True):
    """By IncrementalAlterConfigs."""

    topic: str
    name: str
    value: str


class LeaveTopic(Struct, frozen=True, tag=True):
    """By a znode, as tools before 2.4 had it: `/brokers/topics/t`, without an id of its own."""

    topic: str
    replicas: tuple[Replicas, ...]


class LeaveDeletion(Struct, frozen=True, tag=True):
    """By a znode, as tools before 2.4 had it: `/admin/delete_topics/t`."""

    topic: str


class LeavePlan(Struct, frozen=True, tag=True):
    """By a znode, as tools before 2.4 had it: `/admin/reassign_partitions`."""

    topic: str
    partition: int
    replicas: Replicas


class LeaveElection(Struct, frozen=True, tag=True):
    """By a znode, as tools before 2.4 had it: `/admin/preferred_replica_election`."""

    topic: str
    partition: int


# --- to the cluster -------------------------------------------------------------------------------


class KillBroker(Struct, frozen=True, tag=True):
    """As a crash does."""

    broker_id: int


class StopBroker(Struct, frozen=True, tag=True):
    """In order: it asks the controller to move its leaderships away first."""

    broker_id: int


class StartBroker(Struct, frozen=True, tag=True):
    """The same id, port and data."""

    broker_id: int


class BounceBroker(Struct, frozen=True, tag=True):
    """It crashes and is back before the controller looks: only its epoch tells that."""

    broker_id: int


class MoveController(Struct, frozen=True, tag=True):
    """The one in office resigns, and starts afresh from what ZooKeeper has."""


TopicStep: TypeAlias = (
    CreateTopic
    | AddPartitions
    | DeleteTopic
    | Reassign
    | CancelMove
    | Elect
    | Configure
    | LeaveTopic
    | LeaveDeletion
    | LeavePlan
    | LeaveElection
)
ClusterStep: TypeAlias = KillBroker | StopBroker | StartBroker | BounceBroker | MoveController
Step: TypeAlias = TopicStep | ClusterStep


class Scenario(Struct, frozen=True):
    """Steps in order; the state is compared after each. Its topics are its own."""

    name: str
    steps: tuple[Step, ...]

    def full_name(self, topic: str) -> str:
        """What a topic of this scenario is called in a cluster that it shares with others."""
        return f"{self.name}-{topic}"

    @property
    def topics(self) -> tuple[str, ...]:
        """All that are ever created, in order."""
        created = (step.topic for step in self.steps if isinstance(step, CreateTopic | LeaveTopic))
        return tuple(dict.fromkeys(created))
