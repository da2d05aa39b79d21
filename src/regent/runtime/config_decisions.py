"""From what is configured and what a caller wants to what shall be configured: pure.

What is refused is refused as Kafka 3.9 does it: an unknown config of a topic is INVALID_CONFIG, and
a value that a config cannot have is INVALID_REQUEST.
"""

from collections import Counter
from collections.abc import Sequence

from regent.core.topic_configs import TOPIC_CONFIGS, misconfigured
from regent.core.topic_rules import misnamed
from regent.model.config_requests import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigType,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.runtime.broker_config_table import (
    BROKER_CONFIG_TABLE,
    kind_of,
    misconfigured_broker,
)
from regent.runtime.topic_config_table import TOPIC_CONFIG_TABLE
from regent.zookeeper.config_writes import ConfigRefusal, Decide
from regent.zookeeper.config_znodes import broker_entity, topic_entity

Configs = dict[str, str]


def to_entity(resource: ConfigResource) -> str | ConfigRefusal:
    """The resource as it is called in ZooKeeper, or why it cannot be there."""
    if resource.kind == ResourceType.TOPIC:
        wrong = misnamed(resource.name)
        if wrong is not None:
            return ConfigRefusal(ErrorCode.INVALID_TOPIC_EXCEPTION, wrong)
        return topic_entity(resource.name)
    if resource.kind == ResourceType.BROKER:
        if not resource.name:
            return broker_entity(None)
        if not (resource.name.isascii() and resource.name.isdecimal()):
            return _invalid(f"a broker's id is a number, and not {resource.name!r}")
        return broker_entity(int(resource.name))
    return _invalid(f"only topics and brokers can be configured here, not type {resource.kind}")


def replaced(resource: ConfigResource, configs: Sequence[tuple[str, str | None]]) -> Decide:
    """Have these and no others."""

    def decide(current: Configs) -> Configs | ConfigRefusal:
        wanted = {name: value for name, value in configs if value is not None}
        if len(wanted) != len(configs):
            return _invalid("each config needs a value, and must be named once")
        return _checked(resource, current, wanted)

    return decide


def changed(resource: ConfigResource, changes: Sequence[ConfigChange]) -> Decide:
    """Set, remove, append or subtract, and leave everything else."""

    def decide(current: Configs) -> Configs | ConfigRefusal:
        repeated = [n for n, count in Counter(c.name for c in changes).items() if count > 1]
        if repeated:
            return _invalid(f"named more than once: {', '.join(repeated)}")
        wanted = dict(current)
        for change in changes:
            refusal = _apply(resource, wanted, change)
            if refusal is not None:
                return refusal
        return _checked(resource, current, wanted)

    return decide


def _apply(resource: ConfigResource, wanted: Configs, change: ConfigChange) -> ConfigRefusal | None:
    if change.operation == ConfigOperation.DELETE:
        wanted.pop(change.name, None)
        return None
    if change.value is None:
        return _invalid(f"{change.name} needs a value")
    if change.operation == ConfigOperation.SET:
        wanted[change.name] = change.value
        return None
    if change.operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
        return _invalid(f"there is no operation {change.operation}")
    if not _is_list(resource, change.name):
        return _invalid(f"{change.name} is not a list to which anything could be added")
    items = _items(wanted.get(change.name, _default(resource, change.name)))
    given = _items(change.value)
    if change.operation == ConfigOperation.APPEND:
        # Once only: a change that is made twice must not show.
        items = list(dict.fromkeys(items + given))
    else:
        items = [item for item in items if item not in given]
    wanted[change.name] = ",".join(items)
    return None


def _is_list(resource: ConfigResource, name: str) -> bool:
    if resource.kind == ResourceType.TOPIC:
        return name in TOPIC_CONFIG_TABLE and TOPIC_CONFIG_TABLE[name].kind is ConfigType.LIST
    return name in BROKER_CONFIG_TABLE and kind_of(name) is ConfigType.LIST


def _default(resource: ConfigResource, name: str) -> str:
    return TOPIC_CONFIG_TABLE[name].default if resource.kind == ResourceType.TOPIC else ""


def _items(text: str) -> list[str]:
    return [item for item in (part.strip() for part in text.split(",")) if item]


def _checked(
    resource: ConfigResource, current: Configs, wanted: Configs
) -> Configs | ConfigRefusal:
    if resource.kind == ResourceType.TOPIC:
        unknown = [name for name in wanted if name not in TOPIC_CONFIGS]
        if unknown:
            message = f"there is no topic config {', '.join(unknown)}"
            return ConfigRefusal(ErrorCode.INVALID_CONFIG, message)
        wrong = misconfigured(wanted)
    else:
        # What was there before came from a broker that knew what it did.
        news = {name: value for name, value in wanted.items() if current.get(name) != value}
        secrets = [name for name in news if kind_of(name) is ConfigType.PASSWORD]
        if secrets:
            return _invalid(f"{', '.join(secrets)}: only a broker can encrypt this; alter it there")
        wrong = misconfigured_broker(news, for_all=not resource.name)
    return wanted if wrong is None else _invalid(wrong)


def _invalid(message: str) -> ConfigRefusal:
    return ConfigRefusal(ErrorCode.INVALID_REQUEST, message)
