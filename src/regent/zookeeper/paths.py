"""Where Kafka keeps what: the paths of its znodes, relative to the chroot."""

from collections.abc import Iterable
from typing import Final, Protocol

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
FEATURE: Final = "/feature"
CLUSTER_ID: Final = "/cluster/id"
BROKER_IDS: Final = "/brokers/ids"
SEQUENCE_IDS: Final = "/brokers/seqid"
TOPICS: Final = "/brokers/topics"
TOPIC_DELETIONS: Final = "/admin/delete_topics"
TOPIC_CONFIGS: Final = "/config/topics"
BROKER_CONFIGS: Final = "/config/brokers"
ISR_NOTIFICATIONS: Final = "/isr_change_notification"
#: What the name of a notification starts with; ZooKeeper puts ten digits behind it.
ISR_NOTIFICATION_PREFIX: Final = "isr_change_"
LOG_DIR_EVENTS: Final = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX: Final = "log_dir_event_"
CONFIG_CHANGES: Final = "/config/changes"
ELECTION: Final = "/admin/preferred_replica_election"
REASSIGNMENT: Final = "/admin/reassign_partitions"

#: What every broker creates at its start, with null data. The other paths come into being with
#: their content.
PERSISTENT_PATHS: Final = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    TOPIC_DELETIONS,
    SEQUENCE_IDS,
    ISR_NOTIFICATIONS,
    "/latest_producer_id_block",
    LOG_DIR_EVENTS,
    TOPIC_CONFIGS,
    "/config/clients",
    "/config/users",
    BROKER_CONFIGS,
    "/config/ips",
)


def broker(broker_id: int) -> str:
    """A broker's registration, ephemeral."""
    return f"/brokers/ids/{broker_id}"


def topic(name: str) -> str:
    """A topic's assignment."""
    return f"/brokers/topics/{name}"


def partitions(topic_name: str) -> str:
    """The parent of a topic's partitions, with null data."""
    return f"/brokers/topics/{topic_name}/partitions"


def partition(topic_name: str, index: int) -> str:
    """The parent of one partition's state, with null data."""
    return f"/brokers/topics/{topic_name}/partitions/{index}"


def partition_state(topic_name: str, index: int) -> str:
    """A partition's leadership."""
    return f"/brokers/topics/{topic_name}/partitions/{index}/state"


class NamedPartition(Protocol):
    """Whatever says of which topic it is a partition, and which."""

    topic: str
    index: int


def partition_states(partitions: Iterable[NamedPartition]) -> list[str]:
    """Like `partition_state` for many: a call for each would be what a bulk read spends most on."""
    return [f"/brokers/topics/{p.topic}/partitions/{p.index}/state" for p in partitions]


def topic_config(name: str) -> str:
    """What is configured on a topic itself."""
    return f"/config/topics/{name}"


def broker_config(broker_id: int | None) -> str:
    """What is configured dynamically on one broker, or (None) on all of them."""
    return f"/config/brokers/{'<default>' if broker_id is None else broker_id}"


def topic_deletion(name: str) -> str:
    """The mark that a topic shall be deleted."""
    return f"/admin/delete_topics/{name}"


def isr_notification(name: str) -> str:
    """One announcement of changed ISRs."""
    return f"/isr_change_notification/{name}"


def parent(path: str) -> str:
    """The path above; the root has none and is never asked for it."""
    return path.rpartition("/")[0] or "/"
