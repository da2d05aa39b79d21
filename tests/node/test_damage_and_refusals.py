"""What clients are told by a broker that is asked for what it has not, or whose disk fails it."""

import os
from pathlib import Path
from typing import Any

import pytest

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.log_requests import ListOffsets, OffsetQuestion
from regent.model.record_requests import FetchRecords, PartitionRecords, PartitionToFetch, Produce
from regent.node.apis import k00_produce, k01_fetch, k02_list_offsets
from regent.node.broker_host import log_of
from regent.storage.records import batches_in, records_in
from tests.node.one_broker import OneBroker, with_broker
from tests.storage.batches import batch_of
from tests.unit.broker.wiring import B1, B2, T0, T1, leader_and_isr, leadership

HEADER_LENGTH_AT = 8


def to_produce(name: TopicPartition, content: bytes, acks: int = -1) -> Produce:
    return Produce(acks, 60_000, (PartitionRecords(name, content),))


async def produced(broker: OneBroker, name: TopicPartition, content: bytes) -> ErrorCode:
    (result,) = (await broker.ask(k00_produce.answer, to_produce(name, content))).results
    return ErrorCode(result.error)


async def fetched(
    broker: OneBroker, *names: TopicPartition, leader_epoch: int = -1, **options: Any
) -> list[tuple[ErrorCode, list[bytes | None]]]:
    """The error and the values of each partition, from the first record on."""
    epoch = LeaderEpoch(leader_epoch)
    wanted = tuple(PartitionToFetch(name, 0, 1_000_000, epoch) for name in names)
    answer = await broker.ask(k01_fetch.answer, FetchRecords(wanted, 10, 1, **options))
    return [
        (
            each.error,
            [record.value for batch in batches_in(each.records) for record in records_in(batch)],
        )
        for each in answer.partitions
    ]


def segment(folder: Path, name: TopicPartition) -> Path:
    return folder / str(name) / f"{0:020}.log"


def damage_header(folder: Path, name: TopicPartition) -> None:
    """The first batch claims to have no bytes at all."""
    with segment(folder, name).open("r+b") as file:
        file.seek(HEADER_LENGTH_AT)
        file.write(bytes(4))


# --- what is asked for is not here --------------------------------------------------------------


def test_a_broker_that_does_not_lead_says_so(tmp_path: Path) -> None:
    """The client then asks who does."""

    async def script(broker: OneBroker) -> None:
        broker.host.control(leader_and_isr((T0, leadership(B2))))
        refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await produced(broker, T0, batch_of(b"a")) is refusal
        assert await fetched(broker, T0) == [(refusal, [])]

    with_broker(tmp_path, script)


def test_a_fetch_in_another_leader_epoch_is_told_which_side_is_behind(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0, epoch=5)
        assert await produced(broker, T0, batch_of(b"a")) is ErrorCode.NONE
        assert await fetched(broker, T0, leader_epoch=4) == [(ErrorCode.FENCED_LEADER_EPOCH, [])]
        assert await fetched(broker, T0, leader_epoch=6) == [(ErrorCode.UNKNOWN_LEADER_EPOCH, [])]
        assert await fetched(broker, T0, leader_epoch=5) == [(ErrorCode.NONE, [b"a"])]

    with_broker(tmp_path, script)


@pytest.mark.parametrize(
    ("magic", "error"),
    [(1, ErrorCode.INVALID_RECORD), (3, ErrorCode.CORRUPT_MESSAGE)],
)
def test_a_batch_of_another_format_is_refused(
    tmp_path: Path, magic: int, error: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        content = bytearray(batch_of(b"a"))
        content[16] = magic
        assert await produced(broker, T0, bytes(content)) is error
        assert log_of(broker.host.core.hosted[T0]).end_offset == 0

    with caplog.at_level("INFO"):
        with_broker(tmp_path, script)
    assert f"the batch has magic {magic}; only magic 2 is stored" in caplog.text


# --- the disk fails -----------------------------------------------------------------------------


def test_a_disk_that_cannot_be_written_is_no_acknowledgement(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What was acknowledged before is there after a restart, and nothing else."""

    async def fail(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await produced(broker, T0, batch_of(b"a")) is ErrorCode.NONE
        with segment(tmp_path, T0).open("rb") as read_only:
            os.dup2(read_only.fileno(), broker.store.open(T0)._segments.active._opened)
        for _ in range(2):
            refused = await produced(broker, T0, batch_of(b"b"))
            assert refused is ErrorCode.KAFKA_STORAGE_ERROR
        assert await fetched(broker, T0) == [(ErrorCode.KAFKA_STORAGE_ERROR, [])]

    async def look(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await fetched(broker, T0) == [(ErrorCode.NONE, [b"a"])]

    with_broker(tmp_path, fail)
    with_broker(tmp_path, look)
    assert f"log directory {tmp_path} is offline: [Errno 9] Bad file descriptor" in caplog.text


def test_a_log_that_is_damaged_at_the_start_is_refused_to_all_and_others_are_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The controller hears of it too, and lets another replica lead."""

    async def fill(broker: OneBroker) -> None:
        broker.lead(T0, T1)
        for name in (T0, T1):
            assert await produced(broker, name, batch_of(b"a")) is ErrorCode.NONE

    async def look(broker: OneBroker) -> None:
        order = leader_and_isr((T0, leadership(isr=(B1,))), (T1, leadership(isr=(B1,))))
        assert broker.host.control(order).partition_errors == (
            (T0, ErrorCode.KAFKA_STORAGE_ERROR),
            (T1, ErrorCode.NONE),
        )
        assert await produced(broker, T0, batch_of(b"b")) is ErrorCode.KAFKA_STORAGE_ERROR
        assert await produced(broker, T1, batch_of(b"b")) is ErrorCode.NONE
        assert await fetched(broker, T0, T1) == [
            (ErrorCode.KAFKA_STORAGE_ERROR, []),
            (ErrorCode.NONE, [b"a", b"b"]),
        ]

    with_broker(tmp_path, fill)
    (tmp_path / ".kafka_cleanshutdown").unlink()
    damage_header(tmp_path, T0)
    with_broker(tmp_path, look)
    assert f"{T0} cannot be loaded: " in caplog.text
    assert "delete its folder to copy it anew from another replica" in caplog.text


@pytest.mark.parametrize(
    "reader", [{}, {"replica_id": B2, "session_epoch": 0}], ids=["consumer", "follower"]
)
def test_damage_that_is_met_by_a_reader_is_told_for_that_partition_alone(
    tmp_path: Path, reader: dict[str, BrokerId], caplog: pytest.LogCaptureFixture
) -> None:
    """The other partitions of the same request are served, and the next request is answered."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0, T1, epoch=1)
        for name in (T0, T1):
            assert await produced(broker, name, batch_of(b"a")) is ErrorCode.NONE
        damage_header(tmp_path, T0)
        broker.store.open(T0)._segments.active._recent.clear()

        for _ in range(2):
            assert await fetched(broker, T0, T1, leader_epoch=1, **reader) == [
                (ErrorCode.CORRUPT_MESSAGE, []),
                (ErrorCode.NONE, [b"a"]),
            ]

    with_broker(tmp_path, script)
    assert caplog.text.count(f"{T0}: records cannot be read: ") == 1


def test_damage_that_is_met_by_a_search_for_a_time_is_told(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await produced(broker, T0, batch_of(b"a")) is ErrorCode.NONE
        damage_header(tmp_path, T0)
        broker.store.open(T0)._segments.active._recent.clear()
        request = ListOffsets((OffsetQuestion(T0, 1_000),))
        (found,) = (await broker.ask(k02_list_offsets.answer, request)).offsets
        assert found.error is ErrorCode.CORRUPT_MESSAGE

    with_broker(tmp_path, script)
