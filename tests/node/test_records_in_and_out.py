"""Produce, Fetch and what is asked about logs, on one broker without sockets."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from regent.broker.broker_config import BrokerConfig
from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.log_requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    DeleteRecords,
    DescribeLogDirs,
    ListOffsets,
    OffsetQuestion,
    RecordsToDelete,
)
from regent.model.record_requests import (
    FetchRecords,
    PartitionRecords,
    PartitionToFetch,
    Produce,
)
from regent.node.apis import (
    k00_produce,
    k01_fetch,
    k02_list_offsets,
    k21_delete_records,
    k35_describe_log_dirs,
)
from regent.node.broker_settings import BrokerSettings
from regent.storage.log_config import LogConfig
from regent.storage.records import batches_in, records_in
from regent.wire.exchange import to_call
from tests.node.one_broker import OneBroker, with_broker
from tests.storage.batches import batch_of
from tests.unit.broker.wiring import ALL, B1, B2, B3, T0, T1, leader_and_isr, leadership

FOREVER_MS = 60_000


def produce(*values: bytes, acks: int = -1, timeout_ms: int = FOREVER_MS, **batch: Any) -> Produce:
    return Produce(acks, timeout_ms, (PartitionRecords(T0, batch_of(*values, **batch)),))


def fetch(offset: int = 0, *, min_bytes: int = 1, max_wait_ms: int = FOREVER_MS) -> FetchRecords:
    return FetchRecords((PartitionToFetch(T0, offset, 1_000_000),), max_wait_ms, min_bytes)


def follow(offset: int, replica: BrokerId) -> FetchRecords:
    wanted = (PartitionToFetch(T0, offset, 1_000_000, LeaderEpoch(1)),)
    return FetchRecords(wanted, 10, 1, replica_id=replica, session_epoch=0)


async def appended(broker: OneBroker, request: Produce) -> tuple[ErrorCode, int]:
    (result,) = (await broker.ask(k00_produce.answer, request)).results
    return result.error, result.base_offset


async def fetched(broker: OneBroker, request: FetchRecords) -> tuple[ErrorCode, list[Any]]:
    (found,) = (await broker.ask(k01_fetch.answer, request)).partitions
    batches = batches_in(found.records)
    return found.error, [record.value for batch in batches for record in records_in(batch)]


def test_what_is_produced_can_be_fetched(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await appended(broker, produce(b"a", b"b")) == (ErrorCode.NONE, 0)
        assert await appended(broker, produce(b"c", acks=1)) == (ErrorCode.NONE, 2)
        assert await broker.ask(k00_produce.answer, produce(b"d", acks=0)) is None
        assert await fetched(broker, fetch()) == (ErrorCode.NONE, [b"a", b"b", b"c", b"d"])
        assert await fetched(broker, fetch(9)) == (ErrorCode.OFFSET_OUT_OF_RANGE, [])

    with_broker(tmp_path, script)


@pytest.mark.parametrize(
    ("name", "acks", "error"),
    [
        (T1, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("__consumer_offsets", 0), -1, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (T0, 7, ErrorCode.INVALID_REQUIRED_ACKS),
    ],
)
def test_what_cannot_be_produced(
    tmp_path: Path, name: TopicPartition, acks: int, error: ErrorCode
) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        request = Produce(acks, 0, (PartitionRecords(name, batch_of(b"a")),))
        assert await appended(broker, request) == (error, -1)

    with_broker(tmp_path, script)


def test_whoever_wants_no_answer_is_hung_up_on_after_an_error(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        with pytest.raises(ProtocolError, match="acks=0"):
            await broker.ask(k00_produce.answer, produce(b"a", acks=0))

    with_broker(tmp_path, script)


def test_a_batch_that_is_too_large_or_damaged_is_refused_and_the_log_goes_on(
    tmp_path: Path,
) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        damaged = bytearray(batch_of(b"a"))
        damaged[-1] ^= 1
        spoiled = Produce(1, 0, (PartitionRecords(T0, damaged),))
        assert await appended(broker, spoiled) == (ErrorCode.CORRUPT_MESSAGE, -1)
        large = await appended(broker, produce(bytes(1_000)))
        assert large == (ErrorCode.MESSAGE_TOO_LARGE, -1)
        assert await appended(broker, produce(b"b")) == (ErrorCode.NONE, 0)

    with_broker(tmp_path, script, BrokerSettings(logs=LogConfig(batch_bytes_max=500)))


def test_a_producer_that_waits_for_all_waits_no_longer_than_it_wants(tmp_path: Path) -> None:
    """The record stays: the producer will repeat it, and get its old offset."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0, isr=ALL)
        numbered = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        late = await appended(broker, produce(b"a", timeout_ms=10, **numbered))
        assert late == (ErrorCode.REQUEST_TIMED_OUT, -1)

        again = asyncio.create_task(appended(broker, produce(b"a", **numbered)))
        for replica in (B2, B3):
            await asyncio.sleep(0)
            assert not again.done(), "it is not committed before all have it"
            await broker.ask(k01_fetch.answer, follow(1, replica))

        assert await again == (ErrorCode.NONE, 0)
        assert broker.host.core.hosted[T0].log.end_offset == 1

    with_broker(tmp_path, script)


def test_the_isr_is_looked_at_before_the_order_of_batches(tmp_path: Path) -> None:
    """Else a producer would take what was refused before for lost, and begin anew."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        numbered = {"producer_id": 5, "producer_epoch": 0}
        assert await appended(broker, produce(b"a", base_sequence=0, acks=1, **numbered)) == (
            ErrorCode.NONE,
            0,
        )
        for sequence in (1, 2):
            refused = await appended(broker, produce(b"b", base_sequence=sequence, **numbered))
            assert refused == (ErrorCode.NOT_ENOUGH_REPLICAS, -1)

    settings = BrokerSettings(replication=BrokerConfig(min_isr=2, fetch_limit=1_000_000))
    with_broker(tmp_path, script, settings)


def test_consumers_see_no_further_than_what_all_have(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0, isr=ALL)
        await broker.ask(k00_produce.answer, produce(b"a", acks=1))
        assert await fetched(broker, fetch(max_wait_ms=0)) == (ErrorCode.NONE, [])
        for timestamp in (LATEST_TIMESTAMP, 1_000):
            request = ListOffsets((OffsetQuestion(T0, timestamp),))
            (found,) = (await broker.ask(k02_list_offsets.answer, request)).offsets
            assert found.offset == (0 if timestamp == LATEST_TIMESTAMP else -1)
        waiting = asyncio.create_task(fetched(broker, fetch()))
        for replica in (B2, B3):
            await asyncio.sleep(0)
            assert not waiting.done()
            await broker.ask(k01_fetch.answer, follow(1, replica))

        assert await waiting == (ErrorCode.NONE, [b"a"])

    with_broker(tmp_path, script)


def test_a_consumer_waits_for_as_much_as_it_wants(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        size = len(batch_of(b"a"))
        waiting = asyncio.create_task(fetched(broker, fetch(min_bytes=size + 1)))
        await broker.ask(k00_produce.answer, produce(b"a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiting.done()
        await broker.ask(k00_produce.answer, produce(b"b"))

        assert await waiting == (ErrorCode.NONE, [b"a", b"b"])

    with_broker(tmp_path, script)


def test_a_consumer_that_waits_hears_at_once_that_the_leader_is_another(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        waiting = asyncio.create_task(fetched(broker, fetch()))
        await asyncio.sleep(0)
        broker.host.control(leader_and_isr((T0, leadership(B2, epoch=2))))

        assert await waiting == (ErrorCode.NOT_LEADER_OR_FOLLOWER, [])

    with_broker(tmp_path, script)


def test_a_consumer_that_hangs_up_is_forgotten(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        waiting = asyncio.create_task(fetched(broker, fetch()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert broker.host.waiters.count == 0

    with_broker(tmp_path, script)


def test_offsets_by_time_and_by_deletion(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        await broker.ask(k00_produce.answer, produce(b"a", timestamp=1_000))
        await broker.ask(k00_produce.answer, produce(b"b", timestamp=2_000))

        async def offset(timestamp: int) -> int:
            request = ListOffsets((OffsetQuestion(T0, timestamp),))
            (found,) = (await broker.ask(k02_list_offsets.answer, request)).offsets
            return int(found.offset)

        times = (EARLIEST_TIMESTAMP, 1_500, 9_000, LATEST_TIMESTAMP)
        assert [await offset(each) for each in times] == [0, 1, -1, 2]
        deletion = DeleteRecords((RecordsToDelete(T0, 1),))
        (deleted,) = (await broker.ask(k21_delete_records.answer, deletion)).results
        assert (deleted.error, deleted.low_watermark) == (ErrorCode.NONE, 1)
        assert await offset(EARLIEST_TIMESTAMP) == 1
        (log_dir,) = (await broker.ask(k35_describe_log_dirs.answer, DescribeLogDirs())).log_dirs
        assert [(log.name, log.size_bytes) for log in log_dir.logs] == [
            (T0, 2 * len(batch_of(b"a")))
        ]

    with_broker(tmp_path, script)


def test_a_new_leader_does_not_say_where_the_log_ends_before_it_knows(tmp_path: Path) -> None:
    """Its high watermark is older than its predecessor's; a consumer would go back (KIP-207)."""

    async def script(broker: OneBroker) -> None:
        broker.host.control(leader_and_isr((T0, leadership(B2))))
        broker.store.open(T0).append_entries(batch_of(b"a", b"b", b"c"))
        broker.lead(T0, isr=(B1, B3), epoch=2)
        latest = ListOffsets((OffsetQuestion(T0, LATEST_TIMESTAMP),))
        by_time = ListOffsets((OffsetQuestion(T0, 0),))
        for request in (latest, by_time):
            (told,) = (await broker.ask(k02_list_offsets.answer, request)).offsets
            assert told.error is ErrorCode.OFFSET_NOT_AVAILABLE
        old = to_call(latest, api_version=4, correlation_id=1)
        (told,) = (await k02_list_offsets.answer(old, broker.services)).offsets
        assert told.error is ErrorCode.LEADER_NOT_AVAILABLE
        caught_up = PartitionToFetch(T0, 3, 1_000_000, LeaderEpoch(2))
        fetch_all = FetchRecords((caught_up,), 10, 1, replica_id=B3, session_epoch=0)
        await broker.ask(k01_fetch.answer, fetch_all)
        (told,) = (await broker.ask(k02_list_offsets.answer, latest)).offsets
        assert (told.error, told.offset) == (ErrorCode.NONE, 3)

    with_broker(tmp_path, script)


def test_a_fetch_may_list_a_partition_twice(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        wanted = PartitionToFetch(T0, 0, 1_000)
        answer = await broker.ask(k01_fetch.answer, FetchRecords((wanted, wanted), 10, 1))
        assert [each.error for each in answer.partitions] == [ErrorCode.NONE] * 2
        assert broker.host.waiters.count == 0

    with_broker(tmp_path, script)


def test_deleted_records_are_told_to_followers_at_once(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        await broker.ask(k00_produce.answer, produce(b"a", b"b", b"c"))
        first = await broker.ask(k01_fetch.answer, follow(3, B2))
        again = FetchRecords(
            (), FOREVER_MS, 1, replica_id=B2, session_id=first.session_id, session_epoch=1
        )
        waiting = asyncio.create_task(broker.ask(k01_fetch.answer, again))
        await asyncio.sleep(0)
        deletion = DeleteRecords((RecordsToDelete(T0, 2),))
        await broker.ask(k21_delete_records.answer, deletion)
        (told,) = (await asyncio.wait_for(waiting, 30)).partitions
        assert told.log_start_offset == 2

    with_broker(tmp_path, script)
