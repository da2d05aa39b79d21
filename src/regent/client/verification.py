"""Whether partitions have come to where a plan wanted them. A pure comparison."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from regent.client.seen import ClusterSeen
from regent.model.admin_requests import ReassignmentTarget
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, TopicPartition


class Arrival(StrEnum):
    """How far one partition has come."""

    DONE = "done"
    IN_PROGRESS = "in progress"
    NOT_AS_PLANNED = "not as planned"


class MoveChecked(Struct, frozen=True):
    """One partition of a plan."""

    topic: str
    partition: int
    arrival: Arrival
    #: Where it shall be, and where it is; none for a partition that does not exist.
    target: tuple[BrokerId, ...]
    replicas: tuple[BrokerId, ...]
    #: Replicas of the target that are in sync already.
    in_sync: int
    detail: str

    @property
    def name(self) -> TopicPartition:
        """What it is called."""
        return TopicPartition(self.topic, self.partition)


def check_moves(
    targets: Iterable[ReassignmentTarget],
    seen: ClusterSeen,
    moving: Mapping[TopicPartition, Assignment],
) -> list[MoveChecked]:
    """Hold each target against what is there; of two for one partition the later one counts."""
    there = {partition.name: partition for partition in seen.partitions()}
    wanted = {TopicPartition(each.topic, each.partition): each.replicas or () for each in targets}
    checked = []
    for name, target in wanted.items():
        partition = there.get(name)
        replicas = () if partition is None else partition.replicas
        isr = () if partition is None else partition.isr
        in_sync = sum(1 for replica in target if replica in isr)
        arrival, detail = _judge(target, replicas, moving.get(name), in_sync)
        checked.append(MoveChecked(*name, arrival, target, replicas, in_sync, detail))
    return checked


def _judge(
    target: tuple[BrokerId, ...],
    replicas: tuple[BrokerId, ...],
    move: Assignment | None,
    in_sync: int,
) -> tuple[Arrival, str]:
    if move is not None and move.is_reassigning:
        if move.target == target:
            return Arrival.IN_PROGRESS, f"{in_sync} of {len(target)} in sync"
        return Arrival.NOT_AS_PLANNED, f"it is being moved to {say_ids(move.target)}"
    if replicas == target:
        return Arrival.DONE, ""
    if not replicas:
        return Arrival.NOT_AS_PLANNED, "there is no such partition"
    return Arrival.NOT_AS_PLANNED, f"it is on {say_ids(replicas)}"


def say_ids(brokers: Iterable[int]) -> str:
    """`1,2,3`."""
    return ",".join(map(str, brokers)) or "none"
