"""Whoever believes to be controller believes it in an epoch of its own."""

from regent.model.ids import BrokerId, ControllerEpoch
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.zookeeper import paths


class OneActiveController(Observer):
    """Forbids that two living nodes are active in one epoch, or one in an epoch never reached."""

    def event_handled(self, process: Process) -> None:
        """A deposed controller may live on in its old epoch; it may not share the current one."""
        own = process.controller.state.controller_epoch
        if not process.controller.state.is_active:
            return
        active: dict[ControllerEpoch, BrokerId] = {}
        for each in process.world.active_controllers():
            epoch = each.controller.state.controller_epoch
            if epoch in active:
                self.fail(f"{active[epoch]} and {each.broker_id} are both active in epoch {epoch}")
            active[epoch] = each.broker_id
        reached = process.world.zookeeper.server.peek(paths.CONTROLLER_EPOCH)
        if reached is None or reached.data is None or int(reached.data) < own:
            self.fail(f"{process.broker_id} is active in epoch {own}, which ZooKeeper never saw")
