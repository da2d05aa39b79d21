"""The configs of topics and brokers, asked of those who may be asked about each.

What is set on a topic, any broker tells and changes. What is set on a broker, with Kafka only that
broker does. A broker that does not answer is a result like any other.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from regent.client.addresses import Address
from regent.client.cluster import Cluster
from regent.client.configs import TOPICS_AT_ONCE
from regent.client.seen import BrokerSeen
from regent.errors import BrokerGone
from regent.model.config_requests import (
    ConfigChanges,
    ConfigDescription,
    ConfigQuestion,
    ConfigResource,
    ConfigResult,
    DescribeConfigs,
    IncrementalAlterConfigs,
    ResourceType,
)
from regent.model.error_codes import ErrorCode

Item = TypeVar("Item", ConfigQuestion, ConfigChanges)


def topic_resource(topic: str) -> ConfigResource:
    """A topic, as something that can be configured."""
    return ConfigResource(ResourceType.TOPIC, topic)


def broker_resource(broker_id: int) -> ConfigResource:
    """A broker, as something that can be configured."""
    return ConfigResource(ResourceType.BROKER, str(broker_id))


def describe_configs(
    cluster: Cluster, brokers: Sequence[BrokerSeen], questions: Sequence[ConfigQuestion]
) -> list[ConfigDescription]:
    """How topics and live brokers are configured, one description each."""
    return _ask(cluster, brokers, questions, DescribeConfigs, ConfigDescription)


def alter_configs(
    cluster: Cluster, brokers: Sequence[BrokerSeen], alterations: Sequence[ConfigChanges]
) -> list[ConfigResult]:
    """Change topics first, then live brokers one by one; what is not named stays."""
    return _ask(cluster, brokers, alterations, IncrementalAlterConfigs, ConfigResult)


def _ask(
    cluster: Cluster,
    brokers: Sequence[BrokerSeen],
    items: Sequence[Item],
    request_of: Callable[[tuple[Item, ...]], Struct],
    failed: Callable[[ConfigResource, ErrorCode, str], Any],
) -> list[Any]:
    addresses = {str(each.broker_id): Address(each.host, each.port) for each in brokers}
    results: list[Any] = []
    for some in _topics_at_once(items):
        results += cluster.ask_any(request_of(some)).results
    for item in items:
        if item.resource.kind == ResourceType.BROKER:
            results += _ask_broker(cluster, addresses, item, request_of, failed)
    return results


def _topics_at_once(items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    topics = [item for item in items if item.resource.kind == ResourceType.TOPIC]
    for start in range(0, len(topics), TOPICS_AT_ONCE):
        yield tuple(topics[start : start + TOPICS_AT_ONCE])


def _ask_broker(
    cluster: Cluster,
    addresses: Mapping[str, Address],
    item: Item,
    request_of: Callable[[tuple[Item, ...]], Struct],
    failed: Callable[[ConfigResource, ErrorCode, str], Any],
) -> Sequence[Any]:
    address = addresses.get(item.resource.name)
    if address is None:
        return [failed(item.resource, ErrorCode.BROKER_NOT_AVAILABLE, "it is not alive")]
    try:
        answer = cluster.ask_at(address, request_of((item,)))
    except BrokerGone as gone:
        return [failed(item.resource, ErrorCode.BROKER_NOT_AVAILABLE, str(gone))]
    results: Sequence[Any] = answer.results
    return results
