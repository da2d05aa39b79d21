"""Topics that a broker has made because somebody needs them: by the controller, like all others."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.model.admin_requests import CreateTopics, CreateTopicsAnswer, NewTopic
from regent.model.error_codes import ErrorCode
from regent.node.broker_host import BrokerHost
from regent.node.broker_settings import BrokerSettings

#: As Kafka makes it.
OFFSETS_CONFIGS: Final = (
    ("cleanup.policy", "compact"),
    ("compression.type", "producer"),
    ("segment.bytes", "104857600"),
)
_FINE: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.REQUEST_TIMED_OUT)
#: The last version in which a caller is never refused for its quota: whoever needs the topic now
#: should not fail because others were busy.
_UNREFUSED_VERSION: Final = 5
_LOOK_EVERY_S: Final = 0.01

logger = logging.getLogger(__name__)


def offsets_topic(settings: BrokerSettings) -> NewTopic:
    """The topic in which groups and their offsets are kept."""
    return NewTopic(
        OFFSETS_TOPIC,
        settings.offsets_partition_count,
        settings.offsets_replication_factor,
        configs=OFFSETS_CONFIGS,
    )


async def make_topics(topics: Sequence[NewTopic], host: BrokerHost, timeout_s: float) -> None:
    """Have them made and wait until this broker hears of them; who looks sees how it went."""
    answer: CreateTopicsAnswer | None = await host.controller.ask(
        CreateTopics(tuple(topics)), timeout_s=timeout_s, api_version=_UNREFUSED_VERSION
    )
    if answer is None:
        return
    for result in answer.results:
        if result.error not in _FINE:
            logger.warning("topic %s is not made: %s", result.topic, result.message or result.error)
    made = [result.topic for result in answer.results if result.error in _FINE]
    for _ in range(int(timeout_s / _LOOK_EVERY_S)):
        if all(topic in host.core.metadata.topics for topic in made):
            return
        await asyncio.sleep(_LOOK_EVERY_S)
