"""The topic configs that Kafka 3.9 knows, and what each may be set to.

The table is `LogConfig`'s, as data. A value is text, as it stands in the znode; it is checked here
and interpreted by the brokers.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from regent.model.protocol_version import ProtocolVersion

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,40}\Z")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_THROTTLED: Final = re.compile(r"[0-9]+:[0-9]+\Z")
_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1


class ConfigKind(Enum):
    """How the text of a config is read."""

    BOOLEAN = auto()
    INTEGER = auto()
    DECIMAL = auto()
    #: One of the rule's words.
    WORD = auto()
    #: Any of the rule's words, with commas between.
    WORDS = auto()
    #: `*`, or `partition:broker` with commas between.
    THROTTLED_REPLICAS = auto()
    PROTOCOL_VERSION = auto()


class ConfigRule(Struct, frozen=True):
    """What one config may be set to; numbers have bounds, both included."""

    kind: ConfigKind
    least: int = 0
    most: int = 0
    words: tuple[str, ...] = ()
    #: Numbers outside the bounds that are allowed too, because they mean something special.
    also: tuple[int, ...] = ()


def _int(least: int, most: int = _INT_MAX, *also: int) -> ConfigRule:
    return ConfigRule(ConfigKind.INTEGER, least, most, also=also)


def _long(least: int) -> ConfigRule:
    return ConfigRule(ConfigKind.INTEGER, least, _LONG_MAX)


def _word(*words: str) -> ConfigRule:
    return ConfigRule(ConfigKind.WORD, words=words)


def _words(*words: str) -> ConfigRule:
    return ConfigRule(ConfigKind.WORDS, words=words)


_BOOLEAN: Final = ConfigRule(ConfigKind.BOOLEAN)
_THROTTLE: Final = ConfigRule(ConfigKind.THROTTLED_REPLICAS)

# fmt: off
TOPIC_CONFIGS: Final[Mapping[str, ConfigRule]] = {
    "cleanup.policy":                      _words("compact", "delete"),
    "compression.gzip.level":              _int(1, 9, -1),
    "compression.lz4.level":               _int(1, 17),
    "compression.type":                    _word("uncompressed", "zstd", "lz4", "snappy", "gzip",
                                                 "producer"),
    "compression.zstd.level":              _int(-131_072, 22),
    "delete.retention.ms":                 _long(0),
    "file.delete.delay.ms":                _long(0),
    "flush.messages":                      _long(1),
    "flush.ms":                            _long(0),
    "follower.replication.throttled.replicas": _THROTTLE,
    "index.interval.bytes":                _int(0),
    "leader.replication.throttled.replicas": _THROTTLE,
    "local.retention.bytes":               _long(-2),
    "local.retention.ms":                  _long(-2),
    "max.compaction.lag.ms":               _long(1),
    "max.message.bytes":                   _int(0),
    "message.downconversion.enable":       _BOOLEAN,
    "message.format.version":              ConfigRule(ConfigKind.PROTOCOL_VERSION),
    "message.timestamp.after.max.ms":      _long(0),
    "message.timestamp.before.max.ms":     _long(0),
    "message.timestamp.difference.max.ms": _long(0),
    "message.timestamp.type":              _word("CreateTime", "LogAppendTime"),
    "min.cleanable.dirty.ratio":           ConfigRule(ConfigKind.DECIMAL, 0, 1),
    "min.compaction.lag.ms":               _long(0),
    "min.insync.replicas":                 _int(1),
    "preallocate":                         _BOOLEAN,
    "remote.log.copy.disable":             _BOOLEAN,
    "remote.log.delete.on.disable":        _BOOLEAN,
    "remote.storage.enable":               _BOOLEAN,
    "retention.bytes":                     _long(-_LONG_MAX - 1),
    "retention.ms":                        _long(-1),
    "segment.bytes":                       _int(14),
    "segment.index.bytes":                 _int(4),
    "segment.jitter.ms":                   _long(0),
    "segment.ms":                          _long(1),
    "unclean.leader.election.enable":      _BOOLEAN,
}
# fmt: on


def misconfigured(configs: Mapping[str, str]) -> str | None:
    """What is wrong with a topic's configs, if anything is."""
    for name, value in configs.items():
        rule = TOPIC_CONFIGS.get(name)
        if rule is None:
            return f"there is no topic config {name!r}"
        wrong = _misfit(rule, value.strip())
        if wrong is not None:
            return f"{name} cannot be {value!r}: {wrong}"
    least = int(configs.get("min.compaction.lag.ms", "0"))
    most = int(configs.get("max.compaction.lag.ms", str(_LONG_MAX)))
    if least > most:
        return f"min.compaction.lag.ms {least} is more than max.compaction.lag.ms {most}"
    return None


def _misfit(rule: ConfigRule, text: str) -> str | None:  # noqa: PLR0911 - one case for each kind
    match rule.kind:
        case ConfigKind.BOOLEAN:
            return None if text.lower() in ("true", "false") else "it is true or false"
        case ConfigKind.INTEGER:
            is_number = _INTEGER.match(text) is not None
            return None if is_number and _is_within(rule, int(text)) else _bounds(rule)
        case ConfigKind.DECIMAL:
            is_number = _DECIMAL.match(text) is not None
            return None if is_number and _is_within(rule, float(text)) else _bounds(rule)
        case ConfigKind.WORD:
            return None if text in rule.words else f"it is one of {', '.join(rule.words)}"
        case ConfigKind.WORDS:
            is_known = all(word in rule.words for word in _split(text))
            return None if is_known else f"it is made of {', '.join(rule.words)}"
        case ConfigKind.THROTTLED_REPLICAS:
            is_list = text == "*" or all(map(_THROTTLED.match, _split(text)))
            return None if is_list else "it is * or a list of partition:broker"
        case ConfigKind.PROTOCOL_VERSION:
            return _not_a_version(text)


def _is_within(rule: ConfigRule, number: float) -> bool:
    return rule.least <= number <= rule.most or number in rule.also


def _bounds(rule: ConfigRule) -> str:
    specials = "".join(f", or {number}" for number in rule.also)
    return f"it is a number from {rule.least} to {rule.most}{specials}"


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")] if text else []


def _not_a_version(text: str) -> str | None:
    try:
        ProtocolVersion.from_text(text)
    except ValueError as error:
        return str(error)
    return None
