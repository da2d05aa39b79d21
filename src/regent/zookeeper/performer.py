"""From what the core asks to what ZooKeeper is asked, and back.

`perform` makes an exchange of any ask about the shared memory. It raises ControllerMoved when a
fenced write finds a newer epoch, and SessionLost when the session is over. `MintTopicIds` and
`DrawNumbers` are not here: they are matters of chance, not of ZooKeeper, and the driver answers
them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from regent.core.asks import (
    Ask,
    CreateLeaderships,
    CreateTopicZnodes,
    DeleteElectionZnode,
    DeleteIsrNotifications,
    DeleteLogDirEvents,
    DeleteTopicMarkers,
    DropController,
    EnsureFeatures,
    ListTopicDeletions,
    ListTopics,
    MarkTopicsForDeletion,
    ReadBrokerDefaults,
    ReadBrokers,
    ReadConfigChanges,
    ReadController,
    ReadControllerEpoch,
    ReadElectionZnode,
    ReadIsrNotifications,
    ReadLeaderships,
    ReadLogDirEvents,
    ReadMutationQuotas,
    ReadReassignmentZnode,
    ReadTopicConfigs,
    ReadTopics,
    RemoveTopics,
    TakeController,
    WatchBrokers,
    WatchLeaderships,
    WriteLeaderships,
    WriteReassignmentZnode,
    WriteTopics,
)
from regent.zookeeper.creation import create_leaderships
from regent.zookeeper.deletion import (
    delete_topic_markers,
    mark_topics_for_deletion,
    remove_topics,
)
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.notices import (
    delete_election_znode,
    delete_log_dir_events,
    read_broker_defaults,
    read_config_changes,
    read_election_znode,
    read_log_dir_events,
)
from regent.zookeeper.quota_znodes import read_mutation_quotas
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
    watch_leaderships,
)
from regent.zookeeper.reassignment_znode import (
    read_reassignment_znode,
    write_reassignment_znode,
)
from regent.zookeeper.topic_creation import create_topic_znodes
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
    DeleteTopicMarkers: delete_topic_markers,
    MarkTopicsForDeletion: mark_topics_for_deletion,
    RemoveTopics: remove_topics,
    WriteTopics: write_topics,
    CreateTopicZnodes: create_topic_znodes,
    ReadReassignmentZnode: read_reassignment_znode,
    WriteReassignmentZnode: write_reassignment_znode,
    ReadLeaderships: read_leaderships,
    WatchLeaderships: watch_leaderships,
    CreateLeaderships: create_leaderships,
    WriteLeaderships: write_leaderships,
    ReadIsrNotifications: read_isr_notifications,
    DeleteIsrNotifications: delete_isr_notifications,
    ReadElectionZnode: read_election_znode,
    DeleteElectionZnode: delete_election_znode,
    ReadLogDirEvents: read_log_dir_events,
    DeleteLogDirEvents: delete_log_dir_events,
    ReadConfigChanges: read_config_changes,
    ReadBrokerDefaults: read_broker_defaults,
    ReadMutationQuotas: read_mutation_quotas,
}


def perform(ask: Ask[A]) -> Exchange[A]:
    """The exchange that carries out an ask; the type of its answer follows from the ask."""
    return cast("Exchange[A]", PERFORMERS[type(ask)](ask))
