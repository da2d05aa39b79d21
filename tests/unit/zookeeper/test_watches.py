"""What a fired watch becomes."""

import pytest

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
from regent.zookeeper.watches import event_for


@pytest.mark.parametrize(
    ("path", "event"),
    [
        ("/controller", ControllerChanged(7)),
        ("/brokers/ids", BrokersChanged(7)),
        ("/brokers/ids/12", BrokerChanged(7, BrokerId(12))),
        ("/brokers/topics", TopicsChanged(7)),
        ("/brokers/topics/a.b-c_0", TopicChanged(7, "a.b-c_0")),
        ("/admin/delete_topics", TopicDeletionsChanged(7)),
        ("/isr_change_notification", IsrChangesNotified(7)),
        ("/admin/preferred_replica_election", ElectionZnodeChanged(7)),
        ("/log_dir_event_notification", LogDirsFailed(7)),
        ("/config/changes", ConfigsChanged(7)),
        ("/admin/reassign_partitions", ReassignmentZnodeChanged(7)),
        ("/brokers/topics/a.b/partitions/12/state", LeadershipChanged(7, "a.b", 12)),
        ("/brokers/topics/t/partitions/12", None),
        ("/brokers/topics/t/partitions/x/state", None),
        ("/brokers/ids/stranger", None),
        ("/brokers/topics/t/partitions", None),
        ("/admin/delete_topics/t", None),
        ("/config/changes/config_change_0000000001", None),
        ("/controller_epoch", None),
        ("/", None),
    ],
)
def test_the_path_decides_the_event(path: str, event: Event | None) -> None:
    """A watch says only where; what has changed is read when the event is handled."""
    assert event_for(path, now_ms=7) == event
