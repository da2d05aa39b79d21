"""A broker on an event loop of the test's own, with logs on disk and without any socket."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from regent.model.ids import BrokerId, TopicPartition
from regent.node.broker_host import BrokerHost
from regent.node.broker_settings import BrokerSettings
from regent.node.disk_logs import DiskLogDirectory
from regent.node.services import Services
from regent.node.topic_settings import TopicSettings
from regent.storage.log_store import LogStore
from regent.wire.apis import APIS
from regent.wire.exchange import API_OF_REQUEST, to_call
from tests.unit.broker.wiring import ALL, B1, leader_and_isr, leadership, update_metadata

T = TypeVar("T")
#: What no test of one broker may need.
NOTHING: Any = None
DEFAULTS = BrokerSettings()


class OneBroker:
    """Broker 1. Its followers, if it has any, are the test."""

    def __init__(self, folder: Path, settings: BrokerSettings = DEFAULTS) -> None:
        topics = TopicSettings(settings.logs)
        self.store = LogStore((folder,), broker_id=B1, cluster_id="c", config_of=topics.log_config)
        self.host = BrokerHost(
            B1, settings, DiskLogDirectory(self.store, (folder,)), topics, NOTHING
        )
        self.services = Services(self.host, NOTHING, NOTHING, NOTHING, NOTHING)
        self.host.control(update_metadata(*ALL))

    def lead(
        self, *names: TopicPartition, isr: tuple[BrokerId, ...] = (B1,), epoch: int = 1
    ) -> None:
        """It leads these, with all three as replicas."""
        orders = ((name, leadership(isr=isr, epoch=epoch)) for name in names)
        self.host.control(leader_and_isr(*orders))

    async def ask(self, answer: Callable[[Any, Services], Awaitable[Any]], request: Struct) -> Any:
        """What an API answers in its newest version."""
        version = APIS[API_OF_REQUEST[type(request)]].last_version
        return await answer(to_call(request, api_version=version, correlation_id=1), self.services)

    def close(self) -> None:
        """Leave nothing behind."""
        self.host.close()
        self.store.close()


def with_broker(
    folder: Path,
    script: Callable[[OneBroker], Awaitable[T]],
    settings: BrokerSettings = DEFAULTS,
) -> T:
    """Run a test with a broker of its own."""

    async def run() -> T:
        broker = OneBroker(folder, settings)
        try:
            return await script(broker)
        finally:
            broker.close()

    return asyncio.run(run())
