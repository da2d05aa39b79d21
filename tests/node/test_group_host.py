"""Groups on one broker without sockets: what reaches its coordinator, and what must not."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from regent.broker.groups.group_config import OFFSETS_TOPIC, GroupConfig
from regent.errors import ProtocolError
from regent.model.control_requests import PartitionMetadata, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupProtocol,
    GroupRequest,
    JoinGroup,
    JoinGroupAnswer,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetToCommit,
)
from regent.model.ids import LEADER_DURING_DELETE, BrokerId, ControllerEpoch, TopicPartition
from regent.model.log_requests import DeleteRecords, RecordsToDelete
from regent.node import group_host
from regent.node.apis import groups, k21_delete_records
from regent.node.broker_settings import BrokerSettings
from regent.node.group_host import GroupHost
from regent.storage.records import batches_in
from regent.wire.apis import APIS
from regent.wire.exchange import API_OF_REQUEST, to_call
from tests.node.one_broker import OneBroker
from tests.unit.broker.wiring import B1, T0, leadership, update_metadata

OFFSETS = TopicPartition(OFFSETS_TOPIC, 0)
GONE = TopicPartition("gone", 0)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
SETTINGS = BrokerSettings(
    offsets_partition_count=1, groups=GroupConfig(initial_rebalance_delay_ms=50)
)


class Coordinating(OneBroker):
    """It leads the offsets topic's only partition."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SETTINGS)
        self.groups = GroupHost(self.host)
        self.services = replace(self.services, groups=self.groups)
        self.host.control(told_of(OFFSETS, T0))
        self.lead(OFFSETS)

    async def told(self, request: GroupRequest) -> Any:
        """What a client hears."""
        version = APIS[API_OF_REQUEST[type(request)]].last_version
        call = to_call(request, api_version=version, correlation_id=1)
        return await groups.answer(call, "127.0.0.1:1", self.services)

    async def committed(self) -> dict[TopicPartition, int]:
        """All offsets of the group."""
        answer = await self.told(OffsetFetch("g"))
        return {TopicPartition(each.topic, each.partition): each.offset for each in answer.offsets}

    def close(self) -> None:
        """Its timers, too."""
        self.groups.close()
        super().close()


def told_of(*names: TopicPartition, epoch: int = 1, leader: BrokerId = B1) -> UpdateMetadata:
    """A controller's word on these partitions."""
    partitions = tuple(
        PartitionMetadata(
            topic=name.topic,
            partition=name.partition,
            controller_epoch=ControllerEpoch(epoch),
            leader=leader,
            leader_epoch=leadership().leader_epoch,
            isr=(B1,),
            zk_version=leadership().zk_version,
            replicas=(B1,),
        )
        for name in names
    )
    return replace(update_metadata(B1, controller_epoch=epoch), partitions=partitions)


def to_commit(*names: TopicPartition, offset: int = 42) -> OffsetCommit:
    offsets = tuple(OffsetToCommit(*name, offset) for name in names)
    return OffsetCommit(group_id="g", offsets=offsets)


async def join(broker: Coordinating) -> JoinGroupAnswer:
    """Become the first member; the group waits a moment for more."""
    request = JoinGroup(
        group_id="g",
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        protocols=(GroupProtocol("range", b""),),
        needs_known_member=False,
    )
    joined = await broker.groups.ask(request, "client", "/127.0.0.1")
    assert isinstance(joined, JoinGroupAnswer)
    return joined


def with_groups(folder: Path, script: Callable[[Coordinating], Awaitable[None]]) -> None:
    """Run a test with a broker that has read all groups."""

    async def run() -> None:
        broker = Coordinating(folder)
        try:
            async with asyncio.timeout(30):
                while broker.groups.coordinator.partitions.loading:  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.01)
                await script(broker)
        finally:
            broker.close()

    asyncio.run(run())


def test_the_late_farewell_of_an_old_controller_takes_no_offsets_along(tmp_path: Path) -> None:
    """The topic was deleted and made again meanwhile, and has offsets of its own."""

    async def script(broker: Coordinating) -> None:
        broker.host.control(told_of(T0, epoch=6))
        await broker.told(to_commit(T0))
        late = told_of(T0, epoch=5, leader=LEADER_DURING_DELETE)
        assert broker.host.control(late).error is ErrorCode.STALE_CONTROLLER_EPOCH
        await asyncio.sleep(0.05)
        assert await broker.committed() == {T0: 42}
        broker.host.control(told_of(T0, epoch=6, leader=LEADER_DURING_DELETE))
        await asyncio.sleep(0.05)
        assert await broker.committed() == {}

    with_groups(tmp_path, script)


def test_offsets_of_a_topic_that_is_not_there_are_not_taken(tmp_path: Path) -> None:
    """The next topic of that name would be read from there."""

    async def script(broker: Coordinating) -> None:
        told = await broker.told(to_commit(GONE, T0))
        assert told.results == ((GONE, UNKNOWN), (T0, ErrorCode.NONE))
        assert (await broker.told(to_commit(GONE))).results == ((GONE, UNKNOWN),)
        assert await broker.committed() == {T0: 42}
        told = await broker.told(OffsetDelete("g", (T0, GONE)))
        assert told.results == ((T0, ErrorCode.NONE), (GONE, UNKNOWN))
        assert await broker.committed() == {}

    with_groups(tmp_path, script)


def test_nobody_deletes_the_records_of_groups(tmp_path: Path) -> None:
    async def script(broker: Coordinating) -> None:
        await broker.told(to_commit(T0))
        request = DeleteRecords((RecordsToDelete(OFFSETS, -1),))
        (result,) = (await broker.ask(k21_delete_records.answer, request)).results
        assert result.error is ErrorCode.INVALID_TOPIC_EXCEPTION
        assert broker.host.core.hosted[OFFSETS].log.start_offset == 0

    with_groups(tmp_path, script)


def test_a_clock_that_is_put_back_stops_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    an_hour_ago_ns = time.time_ns() - 3_600 * 10**9

    async def script(broker: Coordinating) -> None:
        assert broker.groups.now_ms
        monkeypatch.setattr(time, "time_ns", lambda: an_hour_ago_ns)
        assert (await join(broker)).error is ErrorCode.NONE

    with_groups(tmp_path, script)


def test_nobody_waits_where_a_group_no_longer_belongs(tmp_path: Path) -> None:
    """The offsets topic has grown, and groups are spread over it anew."""

    async def script(broker: Coordinating) -> None:
        await broker.told(to_commit(T0))
        joining = asyncio.create_task(join(broker))
        await asyncio.sleep(0)
        broker.host.control(told_of(TopicPartition(OFFSETS_TOPIC, 1)))
        assert (await joining).error is ErrorCode.NOT_COORDINATOR

    with_groups(tmp_path, script)


def test_groups_that_could_not_be_read_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def commit(broker: Coordinating) -> None:
        await broker.told(to_commit(T0))

    with_groups(tmp_path, commit)
    read, failures = batches_in, [ProtocolError("not this time")]

    def failing(content: Any) -> Any:
        if failures:
            raise failures.pop()
        return read(content)

    async def look(broker: Coordinating) -> None:
        assert await broker.committed() == {T0: 42}

    monkeypatch.setattr(group_host, "batches_in", failing)
    monkeypatch.setattr(group_host, "LOAD_AGAIN_S", 0.01)
    with_groups(tmp_path, look)
    assert not failures
    assert "not this time" in caplog.text
