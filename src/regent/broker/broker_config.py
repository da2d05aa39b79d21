"""How a broker behaves: the settings that change what it decides, with Kafka's defaults."""

from enum import Enum
from typing import Final

from msgspec import Struct

#: A time that never comes, for timers that are not set.
NEVER_MS: Final = 2**62


class IsrMode(Enum):
    """Who writes a changed ISR into the partition's state znode."""

    #: The controller, asked by AlterPartition (inter-broker protocol 2.7-IV2 and later).
    BY_REQUEST = "AlterPartition"
    #: The leader itself, which then announces the change in `/isr_change_notification`.
    DIRECT = "ZooKeeper"


class BrokerConfig(Struct, frozen=True, kw_only=True):
    """Times are in milliseconds."""

    #: How long an in-sync replica may stay behind (`replica.lag.time.max.ms`).
    replica_lag_ms: int = 10_000
    #: How long a leader sits on a fetch that finds nothing new (`replica.fetch.wait.max.ms`).
    fetch_max_wait_ms: int = 500
    #: The follower's pause after an error; Kafka's is 1000.
    fetch_backoff_ms: int = 100
    #: An acks=all append needs this many in-sync replicas (`min.insync.replicas`), unless the
    #: topic says otherwise.
    min_isr: int = 1
    isr_mode: IsrMode = IsrMode.BY_REQUEST
    #: So much of one partition travels in one fetch answer: entries in memory, bytes on disk.
    fetch_limit: int = 100
    #: An answer in which there is so much gets no further partitions.
    fetch_answer_limit: int = 1_000
    #: In `IsrMode.DIRECT`: changes are announced together, at most this often.
    isr_announce_ms: int = 2_500
    #: The pause before an AlterPartition is sent again.
    alter_partition_retry_ms: int = 50
    #: How often moved high watermarks go to disk.
    checkpoint_ms: int = 5_000
