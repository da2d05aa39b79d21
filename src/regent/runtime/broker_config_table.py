"""The configs of brokers that can be changed while they run, and what each may be set to.

Kafka 3.9's `DynamicBrokerConfig`, as data. A controller knows what is set in ZooKeeper and nothing
of a broker's own file, so configs that only stand there are unknown here.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from regent.core.topic_configs import misconfigured
from regent.model.config_requests import ConfigType
from regent.runtime.topic_config_table import TOPIC_CONFIG_TABLE

#: What stands before the config of one listener.
LISTENER_PREFIX: Final = "listener.name."
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}\Z")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?\Z")
_PASSWORDS: Final = re.compile(r"password|jaas\.config|keystore\.key\Z|secret")


class DynamicConfig(Struct, frozen=True):
    """One config of brokers; a number has a least value."""

    kind: ConfigType
    least: int | None = None
    #: It can only be set on each broker for itself.
    is_single: bool = False


_COUNT: Final = DynamicConfig(ConfigType.INT, 1)
_RATE: Final = DynamicConfig(ConfigType.LONG, 0)
_OWN_CLASS: Final = DynamicConfig(ConfigType.CLASS, is_single=True)
_OWN_LIST: Final = DynamicConfig(ConfigType.LIST, is_single=True)
_OWN_TEXT: Final = DynamicConfig(ConfigType.STRING, is_single=True)

# fmt: off
_OTHERS: Final[Mapping[str, DynamicConfig]] = {
    "advertised.listeners":                            _OWN_TEXT,
    "background.threads":                              _COUNT,
    "follower.replication.throttled.rate":             _RATE,
    "leader.replication.throttled.rate":               _RATE,
    "listener.security.protocol.map":                  _OWN_TEXT,
    "listeners":                                       _OWN_TEXT,
    "log.cleaner.backoff.ms":                          DynamicConfig(ConfigType.LONG, 0),
    "log.cleaner.dedupe.buffer.size":                  DynamicConfig(ConfigType.LONG, 1),
    "log.cleaner.io.buffer.load.factor":               DynamicConfig(ConfigType.DOUBLE, 0),
    "log.cleaner.io.buffer.size":                      DynamicConfig(ConfigType.INT, 0),
    "log.cleaner.io.max.bytes.per.second":             DynamicConfig(ConfigType.DOUBLE, 0),
    "log.cleaner.threads":                             DynamicConfig(ConfigType.INT, 0),
    "max.connection.creation.rate":                    DynamicConfig(ConfigType.INT, 0),
    "max.connections":                                 DynamicConfig(ConfigType.INT, 0),
    "max.connections.per.ip":                          DynamicConfig(ConfigType.INT, 0),
    "max.connections.per.ip.overrides":                DynamicConfig(ConfigType.STRING),
    "metric.reporters":                                DynamicConfig(ConfigType.LIST),
    "num.io.threads":                                  _COUNT,
    "num.network.threads":                             _COUNT,
    "num.recovery.threads.per.data.dir":               _COUNT,
    "num.replica.fetchers":                            _COUNT,
    "principal.builder.class":                         _OWN_CLASS,
    "producer.id.expiration.ms":                       DynamicConfig(ConfigType.INT, 1),
    "remote.fetch.max.wait.ms":                        DynamicConfig(ConfigType.INT, 1),
    "remote.log.index.file.cache.total.size.bytes":    DynamicConfig(ConfigType.LONG, 1),
    "remote.log.manager.copy.max.bytes.per.second":    DynamicConfig(ConfigType.LONG, 1),
    "remote.log.manager.fetch.max.bytes.per.second":   DynamicConfig(ConfigType.LONG, 1),
    "replica.alter.log.dirs.io.max.bytes.per.second":  _RATE,
    "sasl.enabled.mechanisms":                         _OWN_LIST,
    "ssl.keystore.location":                           _OWN_TEXT,
    "ssl.keystore.type":                               _OWN_TEXT,
    "ssl.truststore.location":                         _OWN_TEXT,
    "ssl.truststore.type":                             _OWN_TEXT,
    "transaction.partition.verification.enable":       DynamicConfig(ConfigType.BOOLEAN),
}
# fmt: on

#: Configs of brokers that are the defaults of a topic config; what they may be is known by that.
_TOPIC_NAMES: Final[Mapping[str, str]] = {
    config.broker_name: name
    for name, config in TOPIC_CONFIG_TABLE.items()
    # It has been without effect since 3.0, and brokers refuse to change it.
    if config.broker_name is not None and name != "message.format.version"
}
BROKER_CONFIG_TABLE: Final[Mapping[str, DynamicConfig]] = {
    **{name: DynamicConfig(TOPIC_CONFIG_TABLE[_TOPIC_NAMES[name]].kind) for name in _TOPIC_NAMES},
    **_OTHERS,
}


def is_secret(name: str) -> bool:
    """Whether its value is nobody's business; what is not known may be a password."""
    if _PASSWORDS.search(name) is not None:
        return True
    return name not in BROKER_CONFIG_TABLE and not name.startswith(LISTENER_PREFIX)


def kind_of(name: str) -> ConfigType:
    """How its text is meant."""
    if _PASSWORDS.search(name) is not None:
        return ConfigType.PASSWORD
    known = BROKER_CONFIG_TABLE.get(name)
    return ConfigType.UNKNOWN if known is None else known.kind


def misconfigured_broker(configs: Mapping[str, str], *, for_all: bool) -> str | None:
    """What is wrong with the dynamic configs of one broker or of all, if anything is."""
    for name, value in configs.items():
        wrong = _misplaced(name, for_all=for_all) or _misfit(name, value.strip())
        if wrong is not None:
            return wrong
    return None


def _misplaced(name: str, *, for_all: bool) -> str | None:
    known = BROKER_CONFIG_TABLE.get(name)
    is_of_listener = name.startswith(LISTENER_PREFIX)
    if known is None and not is_of_listener:
        return f"{name} cannot be changed while brokers run; set it in their own files"
    if for_all and (is_of_listener or (known is not None and known.is_single)):
        return f"{name} can be set on single brokers only, not on all"
    return None


def _misfit(name: str, text: str) -> str | None:
    if name in _TOPIC_NAMES:
        wrong = misconfigured({_TOPIC_NAMES[name]: text})
        return None if wrong is None else f"{name}, the default of all topics: {wrong}"
    known = BROKER_CONFIG_TABLE.get(name)
    if known is None:
        return None
    is_right = True
    if known.kind in (ConfigType.INT, ConfigType.LONG):
        is_right = _INTEGER.match(text) is not None
    elif known.kind is ConfigType.DOUBLE:
        is_right = _DECIMAL.match(text) is not None
    elif known.kind is ConfigType.BOOLEAN:
        is_right = text.lower() in ("true", "false")
    if is_right and known.least is not None:
        is_right = float(text) >= known.least
    if is_right:
        return None
    bound = "" if known.least is None else f" of at least {known.least}"
    return f"{name} cannot be {text!r}: it is a {known.kind.name.lower()}{bound}"
