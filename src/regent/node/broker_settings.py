"""The settings of a node's broker half under Kafka's names, beside those of its controller."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from regent.broker.broker_config import BrokerConfig, IsrMode
from regent.broker.groups.group_config import GroupConfig
from regent.model.protocol_version import ALTER_ISR_SINCE, ProtocolVersion
from regent.runtime.properties import (
    Property,
    property_lines,
    to_count,
    to_flag,
    to_positive,
)
from regent.storage.log_config import LogConfig

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
_ONE_MEGABYTE: Final = 1024 * 1024
#: Kafka's `replica.fetch.max.bytes` and `replica.fetch.response.max.bytes`.
_ON_DISK: Final = BrokerConfig(fetch_limit=_ONE_MEGABYTE, fetch_answer_limit=10 * _ONE_MEGABYTE)


class BrokerSettings(Struct, frozen=True, kw_only=True):
    """What a broker is told that is no decision of its logic alone."""

    replication: BrokerConfig = _ON_DISK
    logs: LogConfig = LogConfig()
    groups: GroupConfig = GroupConfig()
    #: `auto.create.topics.enable`
    creates_topics: bool = True
    #: `offsets.topic.num.partitions` and `offsets.topic.replication.factor`
    offsets_partition_count: int = 50
    offsets_replication_factor: int = 3
    #: `offsets.commit.timeout.ms`
    offsets_commit_timeout_ms: int = 5_000
    #: `controlled.shutdown.enable`, `.max.retries` and `.retry.backoff.ms`
    shuts_down_controlled: bool = True
    shutdown_tries: int = 3
    shutdown_backoff_ms: int = 5_000
    #: `log.retention.check.interval.ms`
    retention_check_ms: int = 300_000
    #: `replica.socket.timeout.ms` and `request.timeout.ms`
    peer_timeout_ms: int = 30_000
    #: `socket.request.max.bytes`
    request_bytes_max: int = 104_857_600


def _limit(text: str) -> int:
    """A number, or -1 for none."""
    return -1 if text == "-1" else to_count(text)


def _hours(text: str) -> int:
    hours = _limit(text)
    return hours if hours < 0 else hours * _HOUR_MS


def _minutes(text: str) -> int:
    return to_positive(text) * _MINUTE_MS


def _isr_mode(text: str) -> IsrMode:
    """Before AlterPartition leaders write their ISRs themselves."""
    protocol = ProtocolVersion.from_text(text)
    return IsrMode.DIRECT if protocol < ALTER_ISR_SINCE else IsrMode.BY_REQUEST


# fmt: off
REPLICATION_PROPERTIES: Final[Mapping[str, Property]] = {
    "replica.lag.time.max.ms":             Property("replica_lag_ms", to_positive),
    "replica.fetch.wait.max.ms":           Property("fetch_max_wait_ms", to_positive),
    "replica.fetch.backoff.ms":            Property("fetch_backoff_ms", to_positive),
    "replica.fetch.max.bytes":             Property("fetch_limit", to_positive),
    "replica.fetch.response.max.bytes":    Property("fetch_answer_limit", to_positive),
    "replica.high.watermark.checkpoint.interval.ms": Property("checkpoint_ms", to_positive),
    "min.insync.replicas":                 Property("min_isr", to_positive),
    "inter.broker.protocol.version":       Property("isr_mode", _isr_mode),
}

LOG_PROPERTIES: Final[Mapping[str, Property]] = {
    "log.segment.bytes":                   Property("segment_bytes", to_positive),
    "log.roll.hours":                      Property("segment_ms", _hours),
    "log.roll.ms":                         Property("segment_ms", to_positive),
    "log.index.interval.bytes":            Property("index_interval_bytes", to_positive),
    "message.max.bytes":                   Property("batch_bytes_max", to_positive),
    "log.retention.hours":                 Property("retention_ms", _hours),
    "log.retention.ms":                    Property("retention_ms", _limit),
    "log.retention.bytes":                 Property("retention_bytes", _limit),
    "log.flush.interval.messages":         Property("flush_messages", to_positive),
    "log.flush.interval.ms":               Property("flush_ms", to_positive),
    "producer.id.expiration.ms":           Property("producer_expiration_ms", to_positive),
}

GROUP_PROPERTIES: Final[Mapping[str, Property]] = {
    "group.min.session.timeout.ms":        Property("session_timeout_min_ms", to_positive),
    "group.max.session.timeout.ms":        Property("session_timeout_max_ms", to_positive),
    "group.initial.rebalance.delay.ms":    Property("initial_rebalance_delay_ms", to_count),
    "group.max.size":                      Property("group_size_max", to_positive),
    "offset.metadata.max.bytes":           Property("offset_metadata_max", to_count),
    "offsets.retention.minutes":           Property("offsets_retention_ms", _minutes),
    "offsets.retention.check.interval.ms": Property("expiry_check_ms", to_positive),
}

BROKER_PROPERTIES: Final[Mapping[str, Property]] = {
    "auto.create.topics.enable":           Property("creates_topics", to_flag),
    "offsets.topic.num.partitions":        Property("offsets_partition_count", to_positive),
    "offsets.topic.replication.factor":    Property("offsets_replication_factor", to_positive),
    "offsets.commit.timeout.ms":           Property("offsets_commit_timeout_ms", to_positive),
    "controlled.shutdown.enable":          Property("shuts_down_controlled", to_flag),
    "controlled.shutdown.max.retries":     Property("shutdown_tries", to_positive),
    "controlled.shutdown.retry.backoff.ms": Property("shutdown_backoff_ms", to_positive),
    "log.retention.check.interval.ms":     Property("retention_check_ms", to_positive),
    "replica.socket.timeout.ms":           Property("peer_timeout_ms", to_positive),
    "socket.request.max.bytes":            Property("request_bytes_max", to_positive),
}
# fmt: on

TABLES: Final = (REPLICATION_PROPERTIES, LOG_PROPERTIES, GROUP_PROPERTIES, BROKER_PROPERTIES)


def read_broker_settings(*paths: Path) -> BrokerSettings:
    """The settings in files, of which the later ones win; what concerns nobody here is skipped."""
    found: list[dict[str, Any]] = [{} for _ in TABLES]
    for line in (line for path in paths for line in property_lines(path)):
        for table, values in zip(TABLES, found, strict=True):
            if line.name in table:
                values[table[line.name].field] = line.read_as(table[line.name])
    replication, logs, groups, broker = found
    return BrokerSettings(
        replication=replace(_ON_DISK, **replication),
        logs=replace(LogConfig(), **logs),
        groups=replace(GroupConfig(), **groups),
        **broker,
    )


def is_broker_property(name: str) -> bool:
    """Whether a name means something to a broker."""
    return any(name in table for table in TABLES)
