"""What a node shows of itself, under Kafka's names; what a controller knows is zero elsewhere.

A gauge reads the state when it is looked at; nothing is counted for its sake, and no gauge can
decide whether an event is handled.
"""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Final

from regent.core.event_queue import EventQueue
from regent.core.state import ControllerState

Gauge = Callable[[], int]

#: Gauges of the controller's knowledge: name to reading.
# fmt: off
STATE_GAUGES: Final[Mapping[str, Callable[[ControllerState], int]]] = {
    "ActiveControllerCount":          lambda state: int(state.is_active),
    "ActiveBrokerCount":              lambda state: len(state.brokers),
    "OfflinePartitionsCount":         lambda state: state.offline_partition_count,
    "PreferredReplicaImbalanceCount": lambda state: state.preferred_imbalance_count,
    "GlobalTopicCount":               lambda state: len(state.topics),
    "GlobalPartitionCount":           lambda state: sum(
        1 for p in state.all_partitions() if p.leadership is not None
    ),
    "TopicsToDeleteCount":            lambda state: len(state.topics_to_delete),
    "TopicsIneligibleToDeleteCount":  lambda state: len(state.topics_ineligible),
    "UncleanLeaderElectionsCount":    lambda state: state.unclean_election_count,
}

#: Gauges that every node has, in office or not.
NODE_GAUGES: Final[Mapping[str, Callable[[ControllerState], int]]] = {
    # From the election itself, and -1 when nobody is known to hold the role (KAFKA-16509).
    "CurrentControllerId":   lambda state: -1 if state.active_id is None else state.active_id,
}

#: Gauges of the event queue.
QUEUE_GAUGES: Final[Mapping[str, Callable[[EventQueue], int]]] = {
    "EventQueueSize":        len,
    "EventQueueTimeMsCount": lambda queue: queue.times.count,
    "EventQueueTimeMsMin":   lambda queue: queue.times.min_ms,
    "EventQueueTimeMsMax":   lambda queue: queue.times.max_ms,
}
# fmt: on


def register(
    registry: MutableMapping[str, Gauge], state: ControllerState, queue: EventQueue
) -> None:
    """Put a node's gauges into a registry; a name that is taken is a mistake."""
    for name, of_state in STATE_GAUGES.items():
        assert name not in registry, f"{name} is registered already"
        registry[name] = partial(_read_if_active, of_state, state)
    for name, of_node in NODE_GAUGES.items():
        assert name not in registry, f"{name} is registered already"
        registry[name] = partial(of_node, state)
    for name, of_queue in QUEUE_GAUGES.items():
        assert name not in registry, f"{name} is registered already"
        registry[name] = partial(of_queue, queue)


def _read_if_active(reading: Callable[[ControllerState], int], state: ControllerState) -> int:
    return reading(state) if state.is_active else 0


def unregister(registry: MutableMapping[str, Gauge]) -> None:
    """Take the same gauges out again, each once, and no other."""
    for name in (*STATE_GAUGES, *NODE_GAUGES, *QUEUE_GAUGES):
        del registry[name]
