"""From what the core asks to what ZooKeeper is asked, and back.

`perform` makes an exchange of any ask about the shared memory. It raises ControllerMoved when a
fenced write finds a newer epoch, and SessionLost when the session is over. `MintTopicIds` is not
here: it is a matter of chance, not of ZooKeeper, and the driver answers it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    DeleteIsrNotifications,
    DropController,
    EnsureFeatures,
    ListTopicDeletions,
    ListTopics,
    ReadBrokers,
    ReadController,
    ReadControllerEpoch,
    ReadIsrNotifications,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    TakeController,
    WatchBrokers,
    WriteLeaderships,
    WriteTopics,
)
from regent.zookeeper.creation import create_leaderships
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.reads import (
    list_topic_deletions,
    list_topics,
    read_brokers,
    read_controller,
    read_isr_notifications,
    read_leaderships,
    read_topic_configs,
    read_topics,
    watch_brokers,
)
from regent.zookeeper.writes import (
    delete_isr_notifications,
    drop_controller,
    ensure_features,
    read_controller_epoch,
    take_controller,
    write_leaderships,
    write_topics,
)

A = TypeVar("A")

#: Which function carries out which ask.
PERFORMERS: Final[Mapping[type[Ask[Any]], Callable[[Any], Exchange[Any]]]] = {
    ReadController: read_controller,
    ReadControllerEpoch: read_controller_epoch,
    TakeController: take_controller,
    DropController: drop_controller,
    EnsureFeatures: ensure_features,
    ReadBrokers: read_brokers,
    WatchBrokers: watch_brokers,
    ListTopics: list_topics,
    ReadTopics: read_topics,
    ReadTopicConfigs: read_topic_configs,
    ListTopicDeletions: list_topic_deletions,
    WriteTopics: write_topics,
    ReadLeaderships: read_leaderships,
    CreateLeaderships: create_leaderships,
    WriteLeaderships: write_leaderships,
    ReadIsrNotifications: read_isr_notifications,
    DeleteIsrNotifications: delete_isr_notifications,
}


def perform(ask: Ask[A]) -> Exchange[A]:
    """The exchange that carries out an ask; the type of its answer follows from the ask."""
    return cast("Exchange[A]", PERFORMERS[type(ask)](ask))
