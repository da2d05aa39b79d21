"""Who loses a race reads again and decides again; nobody loses ten of them in a row."""

from regent.journal.record import Record
from regent.model.facts import MoveRefused
from regent.sim.observer import Observer
from regent.sim.process import Process


class RacesAreDecidedAfresh(Observer):
    """Forbids that a partition or replica is given up because others were faster."""

    def recorded(self, process: Process, record: Record) -> None:
        """A leader cannot write as fast as a controller can read: only a stale belief loses on."""
        fact = record.fact
        if isinstance(fact, MoveRefused) and fact.reason.startswith("lost"):
            self.fail(f"{process.broker_id} gave up {fact.topic}-{fact.partition}: {fact.reason}")
