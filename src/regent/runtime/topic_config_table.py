"""What a topic config is when nobody sets it, what it is called on brokers, and its type.

Kafka 3.9's defaults, as data; what may be set is known to `core.topic_configs`.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from regent.model.config_requests import ConfigType as Type


class TopicConfig(Struct, frozen=True):
    """One config of topics."""

    kind: Type
    default: str
    #: The config of brokers that is the default of all topics; None if there is none.
    broker_name: str | None = None


#: How the config of brokers is called: the same, with this before it, or quite otherwise.
SAME: Final = ""
LOG: Final = "log."
CLEANER: Final = "log.cleaner."
RENAMED: Final = "renamed"

_LONG_MAX: Final = str(2**63 - 1)
_DAY_MS: Final = str(24 * 60 * 60 * 1_000)
_WEEK_MS: Final = str(7 * 24 * 60 * 60 * 1_000)

_NAMES_ON_BROKERS: Final[Mapping[str, str]] = {
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}


def _to_config(name: str, kind: Type, default: str, on_brokers: str | None) -> TopicConfig:
    broker_name = None if on_brokers is None else f"{on_brokers}{name}"
    return TopicConfig(kind, default, _NAMES_ON_BROKERS.get(name, broker_name))


# fmt: off
TOPIC_CONFIG_TABLE: Final[Mapping[str, TopicConfig]] = {
    row[0]: _to_config(*row)
    for row in (
        ("cleanup.policy",                           Type.LIST,    "delete",     LOG),
        ("compression.gzip.level",                   Type.INT,     "-1",         SAME),
        ("compression.lz4.level",                    Type.INT,     "9",          SAME),
        ("compression.type",                         Type.STRING,  "producer",   SAME),
        ("compression.zstd.level",                   Type.INT,     "3",          SAME),
        ("delete.retention.ms",                      Type.LONG,    _DAY_MS,      CLEANER),
        ("file.delete.delay.ms",                     Type.LONG,    "60000",      RENAMED),
        ("flush.messages",                           Type.LONG,    _LONG_MAX,    RENAMED),
        ("flush.ms",                                 Type.LONG,    _LONG_MAX,    RENAMED),
        ("follower.replication.throttled.replicas",  Type.LIST,    "",           None),
        ("index.interval.bytes",                     Type.INT,     "4096",       LOG),
        ("leader.replication.throttled.replicas",    Type.LIST,    "",           None),
        ("local.retention.bytes",                    Type.LONG,    "-2",         LOG),
        ("local.retention.ms",                       Type.LONG,    "-2",         LOG),
        ("max.compaction.lag.ms",                    Type.LONG,    _LONG_MAX,    CLEANER),
        ("max.message.bytes",                        Type.INT,     "1048588",    RENAMED),
        ("message.downconversion.enable",            Type.BOOLEAN, "true",       LOG),
        ("message.format.version",                   Type.STRING,  "3.0-IV1",    LOG),
        ("message.timestamp.after.max.ms",           Type.LONG,    _LONG_MAX,    LOG),
        ("message.timestamp.before.max.ms",          Type.LONG,    _LONG_MAX,    LOG),
        ("message.timestamp.difference.max.ms",      Type.LONG,    _LONG_MAX,    LOG),
        ("message.timestamp.type",                   Type.STRING,  "CreateTime", LOG),
        ("min.cleanable.dirty.ratio",                Type.DOUBLE,  "0.5",        RENAMED),
        ("min.compaction.lag.ms",                    Type.LONG,    "0",          CLEANER),
        ("min.insync.replicas",                      Type.INT,     "1",          SAME),
        ("preallocate",                              Type.BOOLEAN, "false",      LOG),
        ("remote.log.copy.disable",                  Type.BOOLEAN, "false",      None),
        ("remote.log.delete.on.disable",             Type.BOOLEAN, "false",      None),
        ("remote.storage.enable",                    Type.BOOLEAN, "false",      None),
        ("retention.bytes",                          Type.LONG,    "-1",         LOG),
        ("retention.ms",                             Type.LONG,    _WEEK_MS,     LOG),
        ("segment.bytes",                            Type.INT,     "1073741824", LOG),
        ("segment.index.bytes",                      Type.INT,     "10485760",   RENAMED),
        ("segment.jitter.ms",                        Type.LONG,    "0",          RENAMED),
        ("segment.ms",                               Type.LONG,    _WEEK_MS,     RENAMED),
        ("unclean.leader.election.enable",           Type.BOOLEAN, "false",      SAME),
    )
}
# fmt: on
