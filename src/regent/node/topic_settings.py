"""What topics say about themselves in ZooKeeper, as far as a broker acts on it."""

import logging
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from regent.broker.replication_quota import ThrottledReplicas, read_throttled
from regent.core.asks import Malformed
from regent.storage.log_config import UNLIMITED, LogConfig

MIN_ISR: Final = "min.insync.replicas"
CLEANUP: Final = "cleanup.policy"
THROTTLED_LEADERS: Final = "leader.replication.throttled.replicas"
THROTTLED_FOLLOWERS: Final = "follower.replication.throttled.replicas"

#: By topic config: the field of a log's settings that it sets.
LOG_FIELDS: Final[Mapping[str, str]] = {
    "segment.bytes": "segment_bytes",
    "segment.ms": "segment_ms",
    "index.interval.bytes": "index_interval_bytes",
    "max.message.bytes": "batch_bytes_max",
    "retention.ms": "retention_ms",
    "retention.bytes": "retention_bytes",
    "flush.messages": "flush_messages",
    "flush.ms": "flush_ms",
}

logger = logging.getLogger(__name__)


class TopicSettings:
    """The settings of the topics that are hosted here, and the broker's own for all others."""

    def __init__(self, defaults: LogConfig) -> None:
        #: The tables that the broker's logic looks into.
        self.min_isr: dict[str, int] = {}
        self.throttled_leaders: dict[str, ThrottledReplicas] = {}
        self.throttled_followers: dict[str, ThrottledReplicas] = {}
        self._defaults = defaults
        self._log_configs: dict[str, LogConfig] = {}

    def knows(self, topic: str) -> bool:
        """Whether the topic was looked up."""
        return topic in self._log_configs

    def topics(self) -> tuple[str, ...]:
        """All that were looked up."""
        return tuple(self._log_configs)

    def log_config(self, topic: str) -> LogConfig:
        """How a topic's logs are kept."""
        return self._log_configs.get(topic, self._defaults)

    def forget(self, topic: str) -> None:
        """The topic is not hosted here any more."""
        self._log_configs.pop(topic, None)
        self.min_isr.pop(topic, None)
        self.throttled_leaders.pop(topic, None)
        self.throttled_followers.pop(topic, None)

    def learn(self, topic: str, configs: Mapping[str, str] | Malformed | None) -> None:
        """Take over what was read; what makes no sense is left at the broker's own."""
        if isinstance(configs, Malformed):
            logger.warning("%s: %s; it goes with the defaults", configs.path, configs.reason)
        given = {} if configs is None or isinstance(configs, Malformed) else configs
        fields = {}
        for name, field in LOG_FIELDS.items():
            if name in given and (value := _to_number(topic, name, given[name])) is not None:
                fields[field] = value
        if "compact" in given.get(CLEANUP, "").split(","):
            # Logs are not compacted here, and what is to be compacted must not be deleted.
            fields.update(retention_ms=UNLIMITED, retention_bytes=UNLIMITED)
        try:
            self._log_configs[topic] = replace(self._defaults, **fields)
        except AssertionError as error:
            logger.warning("the settings of topic %s are not used: %s", topic, error)
            self._log_configs[topic] = self._defaults
        min_isr = _to_number(topic, MIN_ISR, given[MIN_ISR]) if MIN_ISR in given else None
        if min_isr is None:
            self.min_isr.pop(topic, None)
        else:
            self.min_isr[topic] = min_isr
        _learn_throttled(self.throttled_leaders, topic, given.get(THROTTLED_LEADERS, ""))
        _learn_throttled(self.throttled_followers, topic, given.get(THROTTLED_FOLLOWERS, ""))


def _learn_throttled(table: dict[str, ThrottledReplicas], topic: str, text: str) -> None:
    replicas = read_throttled(text)
    if replicas is None:
        logger.warning("topic %s: %s is no list of throttled replicas", topic, text)
    if not text or replicas is None:
        table.pop(topic, None)
    else:
        table[topic] = replicas


def _to_number(topic: str, name: str, text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        logger.warning("topic %s: %s=%s is no number; the default holds", topic, name, text)
        return None
