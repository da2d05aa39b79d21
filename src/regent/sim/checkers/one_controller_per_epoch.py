"""A controller epoch belongs to one controller."""

from regent.journal.record import Record
from regent.model.facts import ControllerElected
from regent.model.ids import NO_CONTROLLER_EPOCH, BrokerId, ControllerEpoch
from regent.sim.observer import Observer
from regent.sim.process import Process


class OneControllerPerEpoch(Observer):
    """Forbids that two nodes, or two lives or two elections of one node, act in the same epoch."""

    def __init__(self) -> None:
        #: Which life of which node wrote the first record of each epoch.
        self._actors: dict[ControllerEpoch, tuple[BrokerId, int]] = {}

    def recorded(self, process: Process, record: Record) -> None:
        """Every record of an epoch comes from the one that was elected in it, once."""
        epoch = record.controller_epoch
        if epoch == NO_CONTROLLER_EPOCH:
            return
        actor = (process.broker_id, process.life)
        known = self._actors.get(epoch)
        if known is None:
            if not isinstance(record.fact, ControllerElected):
                self.fail(f"node {actor} acts in epoch {epoch} and was not elected in it")
            self._actors[epoch] = actor
        elif known != actor:
            self.fail(f"node {actor} acts in epoch {epoch}, which is that of node {known}")
        elif isinstance(record.fact, ControllerElected):
            self.fail(f"node {actor} was elected twice in epoch {epoch}")
