"""kafka-python: a pure client, whose consumers do their work in `poll`."""

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
from tests.runtime.listener.clients import kafka_python, kafka_python_admin
from tests.support.waiting import eventually

LOOK_MS = int(LOOK_S * 1000)


class KafkaPythonMember(ClientMember):
    """A KafkaConsumer that commits when it is told to."""

    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._consumer = kafka_python.KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
            session_timeout_ms=SESSION_MS,
        )
        # 3.0.12 joins before it knows the topic, assigns nothing, and joins again when it does. If
        # a poll ends during that second join, its outcome is lost, and the group stands still:
        # `need_rejoin` is false by then. (Java's client had that fault once: KAFKA-9815.) Asking
        # for topics first makes the first join the only one.
        self._consumer.topics()

    @override
    def poll(self) -> list[tuple[int, bytes]]:
        """A member that does not poll does not join again, either."""
        found = self._consumer.poll(timeout_ms=LOOK_MS)
        return [
            (record.partition, record.value) for records in found.values() for record in records
        ]

    @override
    def assigned(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    @override
    def commit(self) -> None:
        self._consumer.commit()

    @override
    def close(self) -> None:
        self._consumer.close()


class KafkaPythonAdmin(ClientAdmin):
    """KafkaAdminClient."""

    def __init__(self, bootstrap: str) -> None:
        self._admin = kafka_python.KafkaAdminClient(bootstrap_servers=bootstrap)

    @override
    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        topic = kafka_python_admin.NewTopic(name, partitions, 3, topic_configs=dict(configs))
        self._admin.create_topics([topic])

    @override
    def grow_topic(self, name: str, partitions: int) -> None:
        self._admin.create_partitions({name: kafka_python_admin.NewPartitions(partitions)})

    @override
    def config(self, topic: str, name: str) -> str:
        resource = kafka_python_admin.ConfigResource("TOPIC", topic)
        described: Any = self._admin.describe_configs([resource], config_filter="all")
        value: str = described["topic"][topic][name]["value"]
        return value

    @override
    def delete_topic(self, name: str) -> None:
        self._admin.delete_topics([name])

    @override
    def committed(self, group: str) -> dict[int, int]:
        offsets: Any = self._admin.list_group_offsets({group: None})
        return {name.partition: found.offset for name, found in offsets[group].items()}

    @override
    def close(self) -> None:
        self._admin.close()


class KafkaPythonLibrary(AdministeringLibrary):
    """Version 3."""

    @override
    def topics(self) -> dict[str, int]:
        consumer = kafka_python.KafkaConsumer(bootstrap_servers=self._bootstrap, group_id=None)
        try:
            return {name: len(consumer.partitions_for_topic(name)) for name in consumer.topics()}
        finally:
            consumer.close()

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
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=self._bootstrap,
            acks="all",
            compression_type=None if compression == "none" else compression,
            enable_idempotence=is_idempotent,
        )
        try:
            sent = [producer.send(topic, value, partition=partition) for value in values]
            for each in sent:
                each.get(timeout=PATIENCE_S)
        finally:
            producer.close()

    @override
    def read(self, topic: str, count: int) -> list[bytes]:
        consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=self._bootstrap, auto_offset_reset="earliest", group_id=None
        )
        values: list[bytes] = []

        def look() -> bool:
            for records in consumer.poll(timeout_ms=LOOK_MS).values():
                values.extend(record.value for record in records)
            return len(values) >= count

        try:
            consumer.assign([kafka_python.TopicPartition(topic, 0)])
            eventually(look, f"{count} records")
        finally:
            consumer.close()
        return values

    @override
    def join(self, group: str, topic: str) -> ClientMember:
        return KafkaPythonMember(self._bootstrap, group, topic)

    @override
    def admin(self) -> ClientAdmin:
        return KafkaPythonAdmin(self._bootstrap)
