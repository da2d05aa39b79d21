"""The controller's memory agrees with itself whenever an event is done."""

from regent.core.invariants import broken_invariants
from regent.journal.record import Record
from regent.model.ids import BrokerId
from regent.sim.observer import Observer
from regent.sim.process import Process


class InvariantsHold(Observer):
    """Forbids that an event leaves a controller's state at odds with itself."""

    def __init__(self) -> None:
        #: Who wrote records since its last event: only then can the state have changed.
        self._changed: dict[tuple[BrokerId, int], None] = {}

    def recorded(self, process: Process, _record: Record) -> None:
        """Nothing changes without a record; that is what `JournalSuffices` is for."""
        self._changed[process.broker_id, process.life] = None

    def event_handled(self, process: Process) -> None:
        """Recompute everything that is kept incrementally."""
        key = (process.broker_id, process.life)
        if key not in self._changed:
            return
        del self._changed[key]
        broken = broken_invariants(process.controller.state, after_event=True)
        if broken:
            self.fail(f"node {process.broker_id}: {'; '.join(broken[:3])}")
