"""Keeps what is set on topics and on this broker up to date.

A topic is read when it is first hosted, the broker when its session begins, and each again when a
change is announced.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from regent.core.asks import Malformed, ReadConfigChanges
from regent.errors import RegentError
from regent.node.throttle_rates import ThrottleRates
from regent.node.topic_settings import TopicSettings
from regent.runtime.desk import Desk
from regent.storage.log_store import LogStore
from regent.zookeeper.config_znodes import read_configs, topic_entity
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.notices import read_config_changes

_TOPICS: Final = "topics"
#: The session may not be there yet for everybody.
TRY_AGAIN_S: Final = 0.1

logger = logging.getLogger(__name__)


def read_topic_configs(
    topics: Iterable[str],
) -> Exchange[dict[str, dict[str, str] | Malformed | None]]:
    """What is set on each topic; None for one that does not exist."""
    names = tuple(topics)
    found = yield from read_configs([topic_entity(name) for name in names])
    return {name: found[topic_entity(name)] for name in names}


class ConfigWatch:
    """Lives on the event loop; ZooKeeper is asked elsewhere."""

    def __init__(
        self, topics: TopicSettings, store: LogStore, rates: ThrottleRates, desk: Desk
    ) -> None:
        self._topics = topics
        self._store = store
        self._rates = rates
        self._desk = desk
        #: Who looks has also taken over what it saw before the next one looks.
        self._one_at_a_time = asyncio.Lock()
        #: Announcements that were looked at; only time removes them from ZooKeeper.
        self._seen: dict[str, None] = {}

    async def learn(self, topics: Iterable[str]) -> None:
        """Read what is set on topics that are new here. Without ZooKeeper the defaults hold."""
        unknown = tuple(dict.fromkeys(each for each in topics if not self._topics.knows(each)))
        if unknown:
            await self._read(unknown)

    async def session_began(self) -> None:
        """Watch for announcements; what was missed meanwhile may concern every topic."""
        while not await self._read_everything():  # noqa: ASYNC110 - ZooKeeper sets no event
            await asyncio.sleep(TRY_AGAIN_S)

    async def announced(self) -> None:
        """Something has been announced: have it taken over when this returns."""
        async with self._one_at_a_time:
            entities = await self._look()
            if entities is None:
                # The session has ended, or is about to; the next one begins with a look.
                return
            split = (entity.partition("/") for entity in entities)
            topics = [name for kind, _, name in split if kind == _TOPICS]
            await self._read(tuple(each for each in topics if self._topics.knows(each)))
            if any(entity in self._rates.entities for entity in entities):
                await self._read_rates()

    async def _read_everything(self) -> bool:
        async with self._one_at_a_time:
            if await self._look() is None:
                return False
            await self._read(self._topics.topics())
            await self._read_rates()
            return True

    async def _look(self) -> tuple[str, ...] | None:
        """The entities in announcements that are new; looking sets the watch for the next.

        None if ZooKeeper cannot be asked.
        """
        try:
            announcements = await self._desk.run(read_config_changes(ReadConfigChanges()))
        except RegentError as error:
            logger.debug("announcements cannot be read: %s", error)
            return None
        news = [said for name, said in announcements if name not in self._seen]
        self._seen = dict.fromkeys(name for name, _ in announcements)
        return tuple(dict.fromkeys(each for each in news if isinstance(each, str)))

    async def _read(self, topics: tuple[str, ...]) -> None:
        if not topics:
            return
        try:
            found = await self._desk.run(read_topic_configs(topics))
        except RegentError as error:
            logger.warning("the configs of %d topics cannot be read: %s", len(topics), error)
            return
        for topic, configs in found.items():
            self._topics.learn(topic, configs)
            self._store.reconfigure(topic)

    async def _read_rates(self) -> None:
        try:
            self._rates.learn(await self._desk.run(read_configs(self._rates.entities)))
        except RegentError as error:
            logger.warning("the configs of this broker cannot be read: %s", error)
