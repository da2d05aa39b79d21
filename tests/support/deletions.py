"""Topics that are marked for deletion, and brokers that obey or do not."""

from regent.core.effects import Send
from regent.core.events import (
    StopReplicaAnswered,
    TopicDeletionsChanged,
)
from regent.core.state import ControllerState
from regent.model.control_requests import ControlAnswer, StopReplica
from regent.model.error_codes import ErrorCode
from regent.model.facts import MoveRefused
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition
from regent.model.states import ReplicaState
from tests.support.builders import broker_epoch
from tests.support.drive import Run
from tests.support.scene import CONTROLLER, Scene

MARKED = TopicDeletionsChanged(0)
STARTED = ReplicaState.DELETION_STARTED
SUCCESSFUL = ReplicaState.DELETION_SUCCESSFUL
INELIGIBLE = ReplicaState.DELETION_INELIGIBLE
OFFLINE = ReplicaState.OFFLINE


def answer(
    broker_id: int,
    *deleted: TopicPartition,
    error: ErrorCode = ErrorCode.NONE,
    refused: tuple[TopicPartition, ...] = (),
    life: int = 1,
    controller_epoch: int = 1,
) -> StopReplicaAnswered:
    """A broker's answer to the order to delete these."""
    codes = dict.fromkeys(refused, ErrorCode.KAFKA_STORAGE_ERROR)
    listed = tuple((each, codes.get(each, ErrorCode.NONE)) for each in deleted)
    return StopReplicaAnswered(
        0,
        BrokerId(broker_id),
        broker_epoch(broker_id, life),
        ControllerEpoch(controller_epoch),
        ControlAnswer(error, listed),
        deleted,
    )


def confirmation(order: Send) -> StopReplicaAnswered:
    """What a broker says that has done as it was told by a StopReplica."""
    stop = order.request
    assert isinstance(stop, StopReplica), "nothing else is confirmed"
    names = [TopicPartition(each.topic, each.partition) for each in stop.partitions]
    return StopReplicaAnswered(
        0,
        order.broker_id,
        stop.broker_epoch,
        stop.controller_epoch,
        ControlAnswer(partition_errors=tuple((name, ErrorCode.NONE) for name in names)),
        tuple(n for n, each in zip(names, stop.partitions, strict=True) if each.delete),
    )


def answers_to(run: Run[None]) -> list[StopReplicaAnswered]:
    """What brokers say that do as they are told, one answer for each StopReplica."""
    return [confirmation(send) for send in run.sends if isinstance(send.request, StopReplica)]


def confirm(scene: Scene, run: Run[None]) -> list[Run[None]]:
    """Every broker obeys, until nothing more is asked of any."""
    runs = [run]
    for each in runs:
        runs.extend(scene.handle(event) for event in answers_to(each))
    return runs


def delete(scene: Scene, *topics: str) -> list[Run[None]]:
    """Mark these topics, and let everybody do what follows."""
    scene.memory.mark(*topics)
    return confirm(scene, scene.handle(MARKED))


def replica_states(scene: Scene, topic: str = "t") -> dict[str, ReplicaState]:
    """The replicas of a topic, by where they are."""
    return {
        f"{partition}@{broker_id}": found
        for broker_id, on in scene.state.replicas_on.items()
        for partition, found in on.items()
        if partition.topic == topic
    }


def phases(run: Run[None]) -> list[str]:
    """How deletions advanced, a line each."""
    return [line for line in run.story if " deletion " in line]


def refusals(*runs: Run[None]) -> list[MoveRefused]:
    """The moves that a machine refused."""
    return [fact for run in runs for fact in run.facts if isinstance(fact, MoveRefused)]


def sends_delete(run: Run[None]) -> list[str]:
    """Who was told to delete something, and nothing else."""
    return [line for line in run.told if line.endswith("delete")]


def traces_of(state: ControllerState, topic: str) -> list[str]:
    """Everything in a controller's state that names a topic, wherever it hides."""
    return [field for field, value in vars(state).items() if f"'{topic}'" in repr(value)]


def elected(scene: Scene) -> tuple[Scene, Run[None]]:
    """Another node takes over, on the same memory."""
    scene.memory.free_role()
    successor = Scene(scene.memory, controller_id=CONTROLLER + 1)
    return successor, successor.elect()
