"""A broker listens to the newest controller it has heard, and only to what is meant for it."""

from regent.model.control_requests import ControlAnswer, ControlRequest
from regent.model.error_codes import ErrorCode
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, BrokerId, ControllerEpoch
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind


class OldRequestsAreRefused(Observer):
    """Forbids that a broker obeys an older controller than it knows, or orders to a former life."""

    def __init__(self) -> None:
        #: The newest controller that one life of a broker has obeyed.
        self._newest: dict[tuple[BrokerId, int], ControllerEpoch] = {}
        #: In which life of its broker a registration was made.
        self._lives: dict[BrokerEpoch, int] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """Note which life a broker epoch stands for."""
        if kind is not WatchKind.CREATED or paths.parent(path) != paths.BROKER_IDS:
            return
        node = world.zookeeper.server.peek(path)
        process = None if writer is None else world.processes.get(BrokerId(writer))
        if node is not None and process is not None:
            self._lives[BrokerEpoch(node.stat.czxid)] = process.life

    def control_answered(
        self, process: Process, request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """Whatever was not refused as a whole was obeyed."""
        if answer.error is not ErrorCode.NONE:
            return
        key = (process.broker_id, process.life)
        newest = self._newest.get(key)
        if newest is not None and request.controller_epoch < newest:
            self.fail(
                f"broker {key[0]} obeyed controller epoch {request.controller_epoch} after {newest}"
            )
        self._newest[key] = request.controller_epoch
        if request.broker_epoch == BROKER_EPOCH_UNKNOWN:
            return
        if request.broker_epoch < process.broker.broker_epoch:
            self.fail(
                f"broker {key[0]} is registered as {process.broker.broker_epoch} and obeyed a "
                f"request to {request.broker_epoch}"
            )
        life = self._lives.get(request.broker_epoch, process.life)
        if life < process.life:
            self.fail(
                f"broker {key[0]} in its life {process.life}, registered as "
                f"{process.broker.broker_epoch}, obeyed a request to life {life}"
            )
