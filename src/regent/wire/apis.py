"""Which of Kafka's APIs are spoken here, and in which versions: the table, and nothing else."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from msgspec import Struct


class ApiKey(IntEnum):
    """Kafka's numbers."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    DESCRIBE_LOG_DIRS = 35
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    ALTER_PARTITION = 56
    DESCRIBE_CLUSTER = 60
    ALLOCATE_PRODUCER_IDS = 67


class Api(Struct, frozen=True):
    """One API: its versions, and since which of them messages are flexible (KIP-482)."""

    key: ApiKey
    name: str
    first_version: int
    last_version: int
    flexible_since: int

    def speaks(self, version: int) -> bool:
        """Whether this version can be read and written."""
        return self.first_version <= version <= self.last_version

    def is_flexible(self, version: int) -> bool:
        """Whether messages of this version have tagged fields and compact lengths."""
        return version >= self.flexible_since


# fmt: off
APIS: Final[Mapping[int, Api]] = {
    row[0]: Api(*row)
    for row in (
        #                                      name                       versions  flexible since
        # The codec of Produce and Fetch ends before their flexible versions.
        (ApiKey.PRODUCE,                       "Produce",                      3,  8,  9),
        (ApiKey.FETCH,                         "Fetch",                        4, 11, 12),
        (ApiKey.LIST_OFFSETS,                  "ListOffsets",                  1,  5,  6),
        # Metadata ends at 8: librdkafka 2.16 sends a malformed version 9.
        (ApiKey.METADATA,                      "Metadata",                     0,  8,  9),
        (ApiKey.LEADER_AND_ISR,                "LeaderAndIsr",                 0,  7,  4),
        (ApiKey.STOP_REPLICA,                  "StopReplica",                  0,  4,  2),
        (ApiKey.UPDATE_METADATA,               "UpdateMetadata",               0,  8,  6),
        (ApiKey.CONTROLLED_SHUTDOWN,           "ControlledShutdown",           0,  3,  3),
        (ApiKey.OFFSET_COMMIT,                 "OffsetCommit",                 2,  7,  8),
        (ApiKey.OFFSET_FETCH,                  "OffsetFetch",                  1,  5,  6),
        (ApiKey.FIND_COORDINATOR,              "FindCoordinator",              0,  2,  3),
        (ApiKey.JOIN_GROUP,                    "JoinGroup",                    0,  5,  6),
        (ApiKey.HEARTBEAT,                     "Heartbeat",                    0,  3,  4),
        (ApiKey.LEAVE_GROUP,                   "LeaveGroup",                   0,  3,  4),
        (ApiKey.SYNC_GROUP,                    "SyncGroup",                    0,  3,  4),
        (ApiKey.DESCRIBE_GROUPS,               "DescribeGroups",               0,  4,  5),
        (ApiKey.LIST_GROUPS,                   "ListGroups",                   0,  2,  3),
        (ApiKey.SASL_HANDSHAKE,                "SaslHandshake",                0,  1,  2),
        (ApiKey.API_VERSIONS,                  "ApiVersions",                  0,  4,  3),
        (ApiKey.CREATE_TOPICS,                 "CreateTopics",                 0,  7,  5),
        (ApiKey.DELETE_TOPICS,                 "DeleteTopics",                 0,  6,  4),
        (ApiKey.DELETE_RECORDS,                "DeleteRecords",                0,  1,  2),
        (ApiKey.INIT_PRODUCER_ID,              "InitProducerId",               0,  1,  2),
        (ApiKey.OFFSET_FOR_LEADER_EPOCH,       "OffsetForLeaderEpoch",         2,  4,  4),
        (ApiKey.DESCRIBE_CONFIGS,              "DescribeConfigs",              0,  4,  4),
        (ApiKey.ALTER_CONFIGS,                 "AlterConfigs",                 0,  2,  2),
        (ApiKey.DESCRIBE_LOG_DIRS,             "DescribeLogDirs",              1,  4,  2),
        (ApiKey.CREATE_PARTITIONS,             "CreatePartitions",             0,  3,  2),
        (ApiKey.DELETE_GROUPS,                 "DeleteGroups",                 0,  1,  2),
        (ApiKey.ELECT_LEADERS,                 "ElectLeaders",                 0,  2,  2),
        (ApiKey.INCREMENTAL_ALTER_CONFIGS,     "IncrementalAlterConfigs",      0,  1,  1),
        (ApiKey.ALTER_PARTITION_REASSIGNMENTS, "AlterPartitionReassignments",  0,  0,  0),
        (ApiKey.LIST_PARTITION_REASSIGNMENTS,  "ListPartitionReassignments",   0,  0,  0),
        (ApiKey.OFFSET_DELETE,                 "OffsetDelete",                 0,  0,  1),
        (ApiKey.ALTER_PARTITION,               "AlterPartition",               0,  3,  0),
        (ApiKey.DESCRIBE_CLUSTER,              "DescribeCluster",              0,  1,  0),
        (ApiKey.ALLOCATE_PRODUCER_IDS,         "AllocateProducerIds",          0,  0,  0),
    )
}
# fmt: on

#: Said to be spoken from here on, though it is not. librdkafka before 2.10 compresses with gzip,
#: snappy and lz4 only for brokers that speak Produce 0; it speaks a later one then (KAFKA-18659).
ADVERTISED_SINCE: Final[Mapping[ApiKey, int]] = {ApiKey.PRODUCE: 0}
