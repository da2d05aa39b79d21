"""What a fired watch means to the controller."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from regent.core.events import (
    BrokerChanged,
    BrokersChanged,
    ConfigsChanged,
    ControllerChanged,
    ElectionZnodeChanged,
    Event,
    IsrChangesNotified,
    LeadershipChanged,
    LogDirsFailed,
    ReassignmentZnodeChanged,
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
    paths.ELECTION: ElectionZnodeChanged,
    paths.REASSIGNMENT: ReassignmentZnodeChanged,
    paths.LOG_DIR_EVENTS: LogDirsFailed,
    paths.CONFIG_CHANGES: ConfigsChanged,
}

_PARTITION_STATE: Final = re.compile(rf"{paths.TOPICS}/([^/]+)/partitions/([0-9]+)/state")


def event_for(path: str, now_ms: int) -> Event | None:
    """The event that a change at this path is, or None: nothing there concerns the controller."""
    if path in _EVENT_AT:
        return _EVENT_AT[path](now_ms)
    above, _, name = path.rpartition("/")
    if above == paths.TOPICS:
        return TopicChanged(now_ms, name)
    if above == paths.BROKER_IDS and name.isdecimal():
        return BrokerChanged(now_ms, BrokerId(int(name)))
    return _leadership_change(path, now_ms)


def _leadership_change(path: str, now_ms: int) -> LeadershipChanged | None:
    found = _PARTITION_STATE.fullmatch(path)
    return None if found is None else LeadershipChanged(now_ms, found[1], int(found[2]))
