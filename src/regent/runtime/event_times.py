"""How long events take, under the names that Kafka's controller has for what it is doing."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from msgspec import Struct

from regent.core import events
from regent.core.events import Event, EventBase


class Occupation(NamedTuple):
    """One of Kafka's controller states: its number, and the timer that counts it."""

    number: int
    timer: str


IDLE: Final = 0
_CHANGE: Final = Occupation(1, "ControllerChange")
#: Kafka calls the timer of broker changes after what they lead to.
_BROKERS: Final = Occupation(2, "LeaderElection")
_TOPICS: Final = Occupation(3, "TopicChange")
_DELETION: Final = Occupation(4, "TopicDeletion")
_REASSIGNMENT: Final = Occupation(5, "PartitionReassignment")
_ELECTION: Final = Occupation(7, "ManualLeaderBalance")
_ISR: Final = Occupation(9, "IsrChange")
_END: Final = Occupation(12, "ControllerShutdown")

# fmt: off
OCCUPATIONS: Final[Mapping[type[EventBase], Occupation]] = {
    events.SessionStarted:              _CHANGE,
    events.ControllerChanged:           _CHANGE,
    events.BrokersChanged:              _BROKERS,
    events.BrokerChanged:               _BROKERS,
    events.TopicsChanged:               _TOPICS,
    events.TopicChanged:                _TOPICS,
    events.TopicCreationRequested:      _TOPICS,
    events.PartitionCreationRequested:  _TOPICS,
    events.TopicDeletionsChanged:       _DELETION,
    events.TopicDeletionRequested:      _DELETION,
    events.StopReplicaAnswered:         _DELETION,
    events.ReassignmentZnodeChanged:    _REASSIGNMENT,
    events.ReassignmentsRequested:      _REASSIGNMENT,
    events.LeadershipChanged:           _REASSIGNMENT,
    events.TimerRang:                   Occupation(6, "AutoLeaderBalance"),
    events.ElectionZnodeChanged:        _ELECTION,
    events.ElectLeadersRequested:       _ELECTION,
    events.ControlledShutdownRequested: Occupation(8, "ControlledShutdown"),
    events.IsrChangesNotified:          _ISR,
    events.AlterPartitionRequested:     _ISR,
    events.LeaderAndIsrAnswered:        Occupation(10, "LeaderAndIsrResponseReceived"),
    events.LogDirsFailed:               Occupation(11, "LogDirChange"),
    events.ResignRequested:             _END,
    events.TakeOverRequested:           _CHANGE,
    events.SessionExpired:              _END,
    events.ConfigsChanged:              Occupation(14, "TopicUncleanLeaderElectionEnable"),
    events.ReassignmentListRequested:   Occupation(15, "ListPartitionReassignment"),
    events.UpdateMetadataAnswered:      Occupation(16, "UpdateMetadataResponseReceived"),
}
# fmt: on


class Timed(Struct):
    """How often something was done, and how long it took in all."""

    count: int = 0
    seconds: float = 0.0


class EventTimes:
    """What the controller is doing now, and what it has done so far."""

    def __init__(self) -> None:
        self.state = IDLE
        self.by_timer: dict[str, Timed] = {
            occupation.timer: Timed() for occupation in OCCUPATIONS.values()
        }

    @contextmanager
    def handling(self, event: Event) -> Iterator[None]:
        """Count the time that an event takes."""
        occupation = OCCUPATIONS[type(event)]
        started_s = time.perf_counter()
        self.state = occupation.number
        try:
            yield
        finally:
            self.state = IDLE
            timed = self.by_timer[occupation.timer]
            timed.count += 1
            timed.seconds += time.perf_counter() - started_s
