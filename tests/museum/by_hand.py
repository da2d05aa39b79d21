"""What tests that provoke a fault by hand have in common."""

from collections.abc import Iterable

from regent.broker.broker_core import BrokerCore
from regent.core.events import BrokersChanged
from regent.core.state import Partition
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)
from tests.support.builders import leadership
from tests.support.drive import Run
from tests.support.scene import Scene
from tests.unit.broker.wiring import NOW_MS

CHANGED = BrokersChanged(0)


def obey(core: BrokerCore, request: ControlRequest) -> ControlAnswer:
    """A request reaches a broker."""
    match request:
        case LeaderAndIsr():
            return core.leader_and_isr(request, NOW_MS)
        case UpdateMetadata():
            return core.update_metadata(request)
        case StopReplica():
            return core.stop_replica(request, NOW_MS)


def requests_to(broker_id: int, runs: Iterable[Run[None]]) -> list[ControlRequest]:
    """All that one broker was told, in order."""
    return [send.request for run in runs for send in run.sends if send.broker_id == broker_id]


def is_deletion(request: ControlRequest) -> bool:
    """Whether something shall be deleted."""
    return isinstance(request, StopReplica) and any(p.delete for p in request.partitions)


def succeed(scene: Scene) -> Scene:
    """Another node takes over what this one has in its shared memory."""
    scene.memory.free_role()
    successor = Scene(scene.memory, controller_id=101)
    successor.elect()
    return successor


def known(scene: Scene) -> Partition:
    """Partition t-0 as this controller knows it."""
    found = scene.state.partition("t", 0)
    assert found is not None
    return found


def lone_partition() -> Scene:
    """Partition t-0 on broker 1, brokers 1 to 4 alive, and a controller in office."""
    scene = Scene().in_office()
    scene.live(1, 2, 3, 4)
    scene.partition(replicas=(1,), leadership=leadership(1, (1,)))
    return scene
