"""Leaders are spread as the assignment says; following any other order piles them up."""

from msgspec import Struct

from regent.core.election import Strategy
from regent.journal.record import Record
from regent.model.facts import (
    AssignmentChanged,
    BrokerDown,
    BrokerUp,
    LeaderElected,
    ShutdownAdvanced,
    TopicLoaded,
)
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition
from regent.model.states import PartitionState
from regent.sim.observer import Observer
from regent.sim.process import Process


class _Reign(Struct):
    """What one controller has said about the cluster."""

    replicas: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    #: Those that may lead: alive, and not shutting down.
    live: dict[BrokerId, None] = {}


class ElectionsFollowTheOrder(Observer):
    """Forbids another leader than the first eligible of the assignment, and dead ISR members."""

    def __init__(self) -> None:
        self._reigns: dict[ControllerEpoch, _Reign] = {}

    def recorded(self, process: Process, record: Record) -> None:
        """Follow each controller's journal, as far as its elections depend on it."""
        reign = self._reigns.setdefault(record.controller_epoch, _Reign())
        match record.fact:
            case BrokerUp(broker_id=broker_id):
                reign.live[broker_id] = None
            # A broker that is shutting down lives, and is not elected.
            case BrokerDown(broker_id=broker_id) | ShutdownAdvanced(broker_id=broker_id):
                reign.live.pop(broker_id, None)
            case TopicLoaded(topic=topic, partitions=partitions):
                for loaded in partitions:
                    reign.replicas[TopicPartition(topic, loaded.partition)] = loaded.replicas
            case AssignmentChanged(topic=topic, partition=partition, replicas=replicas):
                reign.replicas[TopicPartition(topic, partition)] = replicas
            case LeaderElected() as elected if elected.strategy == Strategy.OFFLINE:
                self._judge(process.broker_id, reign, elected)

    def _judge(self, controller_id: BrokerId, reign: _Reign, elected: LeaderElected) -> None:
        name = TopicPartition(elected.topic, elected.partition)
        alive = [r for r in reign.replicas[name] if r in reign.live]
        eligible = [r for r in alive if r in elected.isr]
        if any(r not in alive for r in elected.isr):
            self.fail(f"{controller_id} left {elected.isr} in sync for {name}, alive: {alive}")
        if not eligible or elected.leader != eligible[0]:
            self.fail(f"{controller_id} had {elected.leader} lead {name}, not {eligible[:1]}")
        is_first = elected.before is PartitionState.NEW and elected.leader_epoch == 0
        if is_first and list(elected.isr) != alive:
            self.fail(f"{name} began with ISR {elected.isr} and {alive} alive")
