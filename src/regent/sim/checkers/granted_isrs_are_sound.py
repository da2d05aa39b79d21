"""A leader may ask for another ISR, and for nothing else."""

from msgspec import Struct

from regent.journal.record import Record
from regent.model.facts import (
    BrokerDown,
    BrokerUp,
    IsrAltered,
    IsrShrunk,
    LeaderElected,
    LeadershipLearned,
    TopicLoaded,
)
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition
from regent.sim.observer import Observer
from regent.sim.process import Process


class _Known(Struct):
    """What one controller knows when it is asked."""

    live: dict[BrokerId, None] = {}
    leaders: dict[TopicPartition, BrokerId | None] = {}


class GrantedIsrsAreSound(Observer):
    """Forbids that a granted ISR change moves the leadership, or takes in a dead broker."""

    def __init__(self) -> None:
        self._reigns: dict[ControllerEpoch, _Known] = {}

    def recorded(self, process: Process, record: Record) -> None:
        """Follow each controller's journal, as far as its grants depend on it."""
        known = self._reigns.setdefault(record.controller_epoch, _Known())
        match record.fact:
            case BrokerUp(broker_id=broker_id):
                known.live[broker_id] = None
            case BrokerDown(broker_id=broker_id):
                known.live.pop(broker_id, None)
            case TopicLoaded(topic=topic, partitions=partitions):
                for loaded in partitions:
                    known.leaders[TopicPartition(topic, loaded.partition)] = loaded.leader
            case LeaderElected() | IsrShrunk() | LeadershipLearned() as led:
                known.leaders[TopicPartition(led.topic, led.partition)] = led.leader
            case IsrAltered() as granted:
                self._judge(process.broker_id, known, granted)
            case _:
                pass

    def _judge(self, controller_id: BrokerId, known: _Known, granted: IsrAltered) -> None:
        name = TopicPartition(granted.topic, granted.partition)
        if granted.leader != known.leaders.get(name):
            self.fail(
                f"{controller_id} let {granted.leader} take {name} from {known.leaders.get(name)}"
            )
        dead = [member for member in granted.isr if member not in known.live]
        if dead:
            self.fail(f"{controller_id} took {dead} into the ISR of {name}, which are not alive")
