"""confluent-kafka: librdkafka, with threads of its own."""

from collections.abc import Iterable, Mapping
from typing import Any

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
from tests.runtime.listener.clients import confluent, confluent_admin
from tests.support.waiting import eventually


def received(consumer: Any) -> list[tuple[int, bytes]]:
    """What comes within a moment; an error among it is none that passes by itself."""
    messages = consumer.consume(1_000, timeout=LOOK_S)
    assert [each.error() for each in messages if each.error()] == []
    return [(each.partition(), each.value()) for each in messages]


class ConfluentMember(ClientMember):
    """A Consumer that commits when it is told to."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._consumer = confluent.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": HEARTBEAT_MS,
                "session.timeout.ms": SESSION_MS,
                "check.crcs": True,
            }
        )
        self._has_read = False
        self._consumer.subscribe([topic])

    @override
    def poll(self) -> list[tuple[int, bytes]]:
        found = received(self._consumer)
        self._has_read = self._has_read or bool(found)
        return found

    @override
    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    @override
    def commit(self) -> None:
        # To have nothing to commit is an error here.
        if self._has_read:
            self._consumer.commit(asynchronous=False)

    @override
    def close(self) -> None:
        self._consumer.close()


class ConfluentAdmin(ClientAdmin):
    """AdminClient: every answer is a future."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = confluent_admin.AdminClient({"bootstrap.servers": bootstrap})

    @override
    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        topic = confluent_admin.NewTopic(name, partitions, 3, config=dict(configs))
        _only(self._admin.create_topics([topic]))

    @override
    def grow_topic(self, name: str, partitions: int) -> None:
        _only(self._admin.create_partitions([confluent_admin.NewPartitions(name, partitions)]))

    @override
    def config(self, topic: str, name: str) -> str:
        kind = confluent_admin.ConfigResource.Type.TOPIC
        resource = confluent_admin.ConfigResource(kind, topic)
        value: str = _only(self._admin.describe_configs([resource]))[name].value
        return value

    @override
    def delete_topic(self, name: str) -> None:
        _only(self._admin.delete_topics([name]))

    @override
    def committed(self, group: str) -> dict[int, int]:
        asked = confluent.ConsumerGroupTopicPartitions(group)
        found = _only(self._admin.list_consumer_group_offsets([asked]))
        return {each.partition: each.offset for each in found.topic_partitions}

    @override
    def close(self) -> None:
        """It ends with its object."""


def _only(futures: Mapping[Any, Any]) -> Any:
    """The one result of a request."""
    (future,) = futures.values()
    return future.result(timeout=PATIENCE_S)


class ConfluentLibrary(AdministeringLibrary):
    """Version 2."""

    @override
    def topics(self) -> dict[str, int]:
        admin = confluent_admin.AdminClient({"bootstrap.servers": self._bootstrap})
        found = admin.list_topics(timeout=PATIENCE_S).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

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
        producer = confluent.Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "acks": "all",
                "compression.type": compression,
                "enable.idempotence": is_idempotent,
            }
        )
        failures: list[Any] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        for value in values:
            producer.produce(topic, value, partition=partition, on_delivery=delivered)
        assert producer.flush(PATIENCE_S) == 0, "not all of it has an outcome"
        assert failures == []

    @override
    def read(self, topic: str, count: int) -> list[bytes]:
        consumer = confluent.Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "nobody", "check.crcs": True}
        )
        values: list[bytes] = []

        def look() -> bool:
            values.extend(value for _, value in received(consumer))
            return len(values) >= count

        try:
            consumer.assign([confluent.TopicPartition(topic, 0, confluent.OFFSET_BEGINNING)])
            eventually(look, f"{count} records")
        finally:
            consumer.close()
        return values

    @override
    def join(self, group: str, topic: str) -> ClientMember:
        return ConfluentMember(self._bootstrap, group, topic)

    @override
    def admin(self) -> ClientAdmin:
        return ConfluentAdmin(self._bootstrap)
