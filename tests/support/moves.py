"""What callers, tools and leaders do while partitions are moved."""

from regent.core.events import (
    AlterPartitionRequested,
    ReassignmentListRequested,
    ReassignmentsRequested,
    ReassignmentZnodeChanged,
)
from regent.core.state import Partition
from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    ReassignmentTarget,
)
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from tests.support.builders import alter_partition, ids, name, proposal
from tests.support.drive import Run
from tests.support.scene import Scene

#: Where a partition shall go; None: back.
Wish = tuple[str, int, tuple[int, ...] | None]
Plan = dict[TopicPartition, tuple[BrokerId, ...]]


def target(topic: str, index: int, replicas: tuple[int, ...] | None) -> ReassignmentTarget:
    """One wish as the request has it."""
    return ReassignmentTarget(topic, index, None if replicas is None else ids(*replicas))


def ask_for_moves(scene: Scene, *wishes: Wish) -> Run[None]:
    """A caller asks for these moves."""
    request = AlterReassignments(tuple(target(*wish) for wish in wishes))
    return scene.handle(ReassignmentsRequested(0, 5, request))


def codes(run: Run[None]) -> list[ErrorCode]:
    """What the caller heard about each partition."""
    return [result.error for result in run.answer(AlterReassignmentsAnswer).results]


def leave_plan(scene: Scene, *wishes: tuple[str, int, tuple[int, ...]]) -> Run[None]:
    """A tool writes a plan into the znode, and the watch fires."""
    scene.memory.plan = plan(*wishes)
    return scene.handle(ReassignmentZnodeChanged(0))


def plan(*wishes: tuple[str, int, tuple[int, ...]]) -> Plan:
    """What the znode says."""
    return {name(topic, index): ids(*replicas) for topic, index, replicas in wishes}


def list_moves(scene: Scene, *names: tuple[str, int]) -> dict[TopicPartition, Assignment]:
    """What the controller says is moving, of these partitions or of all."""
    asked = tuple(name(*each) for each in names) or None
    run = scene.handle(ReassignmentListRequested(0, 6, ListReassignments(asked)))
    return dict(run.answer(ListReassignmentsAnswer).moving)


def grow(scene: Scene, partition: Partition, *isr: int) -> Run[None]:
    """The partition's leader asks for this ISR."""
    led = partition.leadership
    assert led is not None
    wish = proposal(
        *isr,
        topic=f"id-of-{partition.topic}",
        index=partition.index,
        leader_epoch=led.leader_epoch,
        zk_version=led.zk_version,
    )
    return scene.handle(AlterPartitionRequested(0, 7, alter_partition(led.leader, wish)))


def stored_assignment(scene: Scene, partition: Partition) -> Assignment:
    """What the topic's znode says about a partition."""
    topic = scene.memory.topics[partition.topic]
    return topic.partitions[partition.index]  # type: ignore[union-attr]
