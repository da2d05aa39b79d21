"""What a fired watch means to the controller."""

from collections.abc import Callable, Mapping
from typing import Final

from regent.core.events import (
    BrokerChanged,
    BrokersChanged,
    ControllerChanged,
    Event,
    IsrChangesNotified,
    TopicChanged,
    TopicDeletionsChanged,
    TopicsChanged,
)
from regent.model.ids import BrokerId
from regent.zookeeper import paths

_EVENT_AT: Final[Mapping[str, Callable[[int], Event]]] = {
    paths.CONTROLLER: ControllerChanged,
    paths.BROKER_IDS: BrokersChanged,
    paths.TOPICS: TopicsChanged,
    paths.TOPIC_DELETIONS: TopicDeletionsChanged,
    paths.ISR_NOTIFICATIONS: IsrChangesNotified,
}


def event_for(path: str, now_ms: int) -> Event | None:
    """The event that a change at this path is, or None: nothing there concerns the controller."""
    if path in _EVENT_AT:
        return _EVENT_AT[path](now_ms)
    above, _, name = path.rpartition("/")
    if above == paths.TOPICS:
        return TopicChanged(now_ms, name)
    if above == paths.BROKER_IDS and name.isdecimal():
        return BrokerChanged(now_ms, BrokerId(int(name)))
    return None
