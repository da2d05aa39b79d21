"""DescribeConfigs, versions 0 to 4: what is set on topics and brokers, and where.

Of a broker only what is set in ZooKeeper can be told; what stands in its own file, it alone knows.
"""

import logging
from collections.abc import Iterator, Mapping

from regent.core.asks import Malformed
from regent.errors import RegentError
from regent.model.config_requests import (
    ConfigDescription,
    ConfigEntry,
    ConfigQuestion,
    ConfigSource,
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsAnswer,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.runtime.broker_config_table import BROKER_CONFIG_TABLE, is_secret, kind_of
from regent.runtime.config_decisions import to_entity
from regent.runtime.desk import Desk
from regent.runtime.topic_config_table import TOPIC_CONFIG_TABLE
from regent.wire.exchange import Call
from regent.zookeeper.config_writes import ConfigRefusal
from regent.zookeeper.config_znodes import broker_entity, read_configs

logger = logging.getLogger(__name__)

#: By entity: what is set on it, why that cannot be read, or None for a topic that is not there.
Read = Mapping[str, dict[str, str] | Malformed | None]


async def answer(call: Call, desk: Desk) -> DescribeConfigsAnswer:
    """One description for each resource, from one look at ZooKeeper."""
    request: DescribeConfigs = call.request
    entities = [to_entity(question.resource) for question in request.questions]
    wanted = dict.fromkeys(each for each in entities if isinstance(each, str))
    wanted[broker_entity(None)] = None
    try:
        read = await desk.run(read_configs(tuple(wanted)))
    except RegentError as failure:
        logger.warning("configs cannot be read: %s", failure)
        failed = ConfigRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"{failure}; try again")
        read, entities = {}, [failed for _ in entities]
    return DescribeConfigsAnswer(
        tuple(
            _describe(request, question, entity, read)
            for question, entity in zip(request.questions, entities, strict=True)
        )
    )


def _describe(
    request: DescribeConfigs, question: ConfigQuestion, entity: str | ConfigRefusal, read: Read
) -> ConfigDescription:
    resource = question.resource
    if isinstance(entity, ConfigRefusal):
        return ConfigDescription(resource, entity.error, entity.message)
    found = read[entity]
    if found is None:
        message = f"there is no topic {resource.name!r}"
        return ConfigDescription(resource, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    if isinstance(found, Malformed):
        message = f"{found.path} cannot be read: {found.reason}"
        return ConfigDescription(resource, ErrorCode.UNKNOWN_SERVER_ERROR, message)
    defaults = read[broker_entity(None)]
    shared = {} if defaults is None or isinstance(defaults, Malformed) else defaults
    if resource.kind == ResourceType.TOPIC:
        entries = _topic_entries(found, shared, with_synonyms=request.with_synonyms)
    else:
        own = found if resource.name else {}
        entries = _broker_entries(own, shared, with_synonyms=request.with_synonyms)
    return ConfigDescription(
        resource,
        entries=tuple(
            entry for entry in entries if question.names is None or entry.name in question.names
        ),
    )


def _topic_entries(
    own: Mapping[str, str], shared: Mapping[str, str], *, with_synonyms: bool
) -> Iterator[ConfigEntry]:
    """Every config that a topic has, wherever its value comes from."""
    for name, config in TOPIC_CONFIG_TABLE.items():
        synonyms: list[ConfigSynonym] = []
        if name in own:
            synonyms.append(ConfigSynonym(name, own[name], ConfigSource.TOPIC))
        broker_name = config.broker_name
        if broker_name is not None:
            if broker_name in shared:
                source = ConfigSource.DYNAMIC_DEFAULT_BROKER
                synonyms.append(ConfigSynonym(broker_name, shared[broker_name], source))
            synonyms.append(ConfigSynonym(broker_name, config.default, ConfigSource.DEFAULT))
        effective = synonyms or [ConfigSynonym(name, config.default, ConfigSource.DEFAULT)]
        yield ConfigEntry(
            name,
            effective[0].value,
            effective[0].source,
            synonyms=tuple(synonyms) if with_synonyms else (),
            kind=config.kind,
        )


def _broker_entries(
    own: Mapping[str, str], shared: Mapping[str, str], *, with_synonyms: bool
) -> Iterator[ConfigEntry]:
    """Every config that is set on a broker, or on all of them."""
    for name in sorted({**own, **shared}):
        synonyms = [
            ConfigSynonym(name, None if is_secret(name) else values[name], source)
            for values, source in (
                (own, ConfigSource.DYNAMIC_BROKER),
                (shared, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            )
            if name in values
        ]
        yield ConfigEntry(
            name,
            synonyms[0].value,
            synonyms[0].source,
            is_read_only=name not in BROKER_CONFIG_TABLE,
            is_sensitive=is_secret(name),
            synonyms=tuple(synonyms) if with_synonyms else (),
            kind=kind_of(name),
        )
