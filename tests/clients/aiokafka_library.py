"""aiokafka: a client for asyncio, on a loop of its own so that a test can go on beside it."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from typing_extensions import override

from tests.clients.client_library import (
    HEARTBEAT_MS,
    LOOK_S,
    PATIENCE_S,
    SESSION_MS,
    AdministeringLibrary,
    ClientAdmin,
    ClientMember,
)
from tests.runtime.listener.clients import aiokafka, aiokafka_admin
from tests.support.waiting import eventually

LOOK_MS = int(LOOK_S * 1000)
T = TypeVar("T")


class LoopThread:
    """An event loop that runs in a thread until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it done there, and wait for the outcome."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def close(self) -> None:
        """Nothing may be under way any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def consumer_of(*topics: str, **settings: Any) -> Any:
    """A consumer that has started; made on the loop that it will live on."""
    consumer = aiokafka.AIOKafkaConsumer(*topics, auto_offset_reset="earliest", **settings)
    try:
        await consumer.start()
    except BaseException:
        await consumer.stop()
        raise
    return consumer


class AiokafkaMember(ClientMember):
    """An AIOKafkaConsumer that commits when it is told to."""

    def __init__(self, thread: LoopThread, bootstrap: str, group: str, topic: str) -> None:
        self._thread = thread
        self._consumer = thread.run(
            consumer_of(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                enable_auto_commit=False,
                heartbeat_interval_ms=HEARTBEAT_MS,
                session_timeout_ms=SESSION_MS,
            )
        )

    @override
    def poll(self) -> list[tuple[int, bytes]]:
        found = self._thread.run(self._consumer.getmany(timeout_ms=LOOK_MS))
        return [
            (record.partition, record.value) for records in found.values() for record in records
        ]

    @override
    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    @override
    def commit(self) -> None:
        self._thread.run(self._consumer.commit())

    @override
    def close(self) -> None:
        self._thread.run(self._consumer.stop())


class AiokafkaAdmin(ClientAdmin):
    """AIOKafkaAdminClient, whose answers are Kafka's own: errors stand in them."""

    def __init__(self, thread: LoopThread, bootstrap: str) -> None:
        self._thread = thread
        self._admin = thread.run(self._started(bootstrap))

    @staticmethod
    async def _started(bootstrap: str) -> Any:
        admin = aiokafka_admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        return admin

    @override
    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        topic = aiokafka_admin.NewTopic(name, partitions, 3, topic_configs=dict(configs))
        answer = self._thread.run(self._admin.create_topics([topic]))
        assert [each[:2] for each in answer.topic_errors] == [(name, 0)]

    @override
    def grow_topic(self, name: str, partitions: int) -> None:
        wish = {name: aiokafka_admin.NewPartitions(partitions)}
        answer = self._thread.run(self._admin.create_partitions(wish))
        assert [each[:2] for each in answer.topic_errors] == [(name, 0)]

    @override
    def config(self, topic: str, name: str) -> str:
        kind = aiokafka_admin.config_resource.ConfigResourceType.TOPIC
        resource = aiokafka_admin.config_resource.ConfigResource(kind, topic)
        (answer,) = self._thread.run(self._admin.describe_configs([resource]))
        ((error, _, _, _, entries),) = answer.resources
        assert error == 0
        values: dict[str, str] = {entry[0]: entry[1] for entry in entries}
        return values[name]

    @override
    def delete_topic(self, name: str) -> None:
        answer = self._thread.run(self._admin.delete_topics([name]))
        assert [each[:2] for each in answer.topic_error_codes] == [(name, 0)]

    @override
    def committed(self, group: str) -> dict[int, int]:
        found = self._thread.run(self._admin.list_consumer_group_offsets(group))
        return {name.partition: each.offset for name, each in found.items()}

    @override
    def close(self) -> None:
        self._thread.run(self._admin.close())


class AiokafkaLibrary(AdministeringLibrary):
    """One loop for all clients."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._thread = LoopThread()

    @override
    def close(self) -> None:
        self._thread.close()

    @override
    def topics(self) -> dict[str, int]:
        async def look() -> dict[str, int]:
            admin = aiokafka_admin.AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
            await admin.start()
            try:
                described = await admin.describe_topics()
            finally:
                await admin.close()
            return {each["topic"]: len(each["partitions"]) for each in described}

        return self._thread.run(look())

    @override
    def produce(
        self,
        topic: str,
        values: Iterable[bytes],
        *,
        partition: int = 0,
        compression: str = "none",
        is_idempotent: bool = False,
    ) -> None:
        async def write() -> None:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                acks="all",
                compression_type=None if compression == "none" else compression,
                enable_idempotence=is_idempotent,
            )
            await producer.start()
            try:
                sent = [await producer.send(topic, value, partition=partition) for value in values]
                await asyncio.gather(*sent)
            finally:
                await producer.stop()

        self._thread.run(write())

    @override
    def read(self, topic: str, count: int) -> list[bytes]:
        async def placed() -> Any:
            consumer = await consumer_of(bootstrap_servers=self._bootstrap)
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            return consumer

        consumer = self._thread.run(placed())
        values: list[bytes] = []

        def look() -> bool:
            found = self._thread.run(consumer.getmany(timeout_ms=LOOK_MS))
            for records in found.values():
                values.extend(record.value for record in records)
            return len(values) >= count

        try:
            eventually(look, f"{count} records")
        finally:
            self._thread.run(consumer.stop())
        return values

    @override
    def join(self, group: str, topic: str) -> ClientMember:
        return AiokafkaMember(self._thread, self._bootstrap, group, topic)

    @override
    def admin(self) -> ClientAdmin:
        return AiokafkaAdmin(self._thread, self._bootstrap)
