"""The surroundings of a node's group coordinator: the log of the offsets topic, and time.

What a coordinator must not forget goes into a partition of the offsets topic, with acks=all, like
any producer's records. It coordinates the groups of the partitions that its broker leads.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import uuid4

from regent.broker.broker_effects import AnswerAppend
from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.broker.groups.group_coordinator import GroupCoordinator
from regent.broker.groups.group_effects import (
    AnswerGroupRequest,
    AppendGroupRecords,
    GroupRecord,
    ReportUnreadableRecord,
    SetGroupTimer,
)
from regent.broker.groups.group_member import GroupCaller
from regent.broker.hosted_partition import HostedPartition, ReplicaRole
from regent.errors import RegentError
from regent.model.control_requests import ControlRequest, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import GroupAnswer, GroupRequest
from regent.model.ids import LEADER_DURING_DELETE, LeaderEpoch, TopicPartition
from regent.model.record_requests import AppendResult
from regent.node.broker_host import BrokerHost, log_of
from regent.storage.record_batch import CheckedBatch
from regent.storage.records import batches_in, build_batch, records_in

#: So much of a partition is read before others get their turn: some hundredths of a second.
LOAD_BYTES: Final = 128 * 1024
#: Before a partition that could not be read is read again.
LOAD_AGAIN_S: Final = 1.0

logger = logging.getLogger(__name__)


class GroupHost:
    """Feeds the coordinator and empties its outbox. Made on the event loop it will live on."""

    def __init__(self, host: BrokerHost) -> None:
        settings = host.settings
        self.coordinator = GroupCoordinator(settings.groups, settings.offsets_partition_count)
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._callers: dict[int, asyncio.Future[GroupAnswer]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loads: set[asyncio.Task[None]] = set()
        #: The partitions that are led here, and in which epoch.
        self._led: dict[int, LeaderEpoch] = {}
        #: One partition is read at a time, so that clients of the others wait for one only.
        self._reading = asyncio.Lock()
        self._last_ms = 0
        self._last_monotonic_s = self._loop.time()
        # Any: each method takes just its own kind of effect.
        self._performers: Mapping[type, Callable[[Any], None]] = {
            AnswerGroupRequest: self._answer,
            AppendGroupRecords: self._append,
            SetGroupTimer: self._set_timer,
            ReportUnreadableRecord: self._report,
        }
        host.on_control.append(self._heard)

    @property
    def now_ms(self) -> int:
        """The time on the wall, because it is written down; but it never goes back or stands still.

        Who waits for its end would wait as long as a clock was put back.
        """
        monotonic_s = self._loop.time()
        passed_ms = int((monotonic_s - self._last_monotonic_s) * 1000)
        self._last_monotonic_s += passed_ms / 1000
        self._last_ms = max(self._last_ms + passed_ms, time.time_ns() // 1_000_000)
        return self._last_ms

    async def ask(self, request: GroupRequest, client_id: str, client_host: str) -> GroupAnswer:
        """Hand a client's request over, and wait for its answer."""
        request_id = next(self._ids)
        answer: asyncio.Future[GroupAnswer] = self._loop.create_future()
        self._callers[request_id] = answer
        caller = GroupCaller(client_id, client_host, str(uuid4()))
        self.coordinator.request(request_id, request, caller, self.now_ms)
        self._settle()
        try:
            return await answer
        finally:
            self._callers.pop(request_id, None)

    def close(self) -> None:
        """No timer rings any more, and nothing is read."""
        for timer in self._timers.values():
            timer.cancel()
        for load in tuple(self._loads):
            load.cancel()

    # --- what the coordinator wants ---------------------------------------------------------------

    def _settle(self) -> None:
        for effect in self.coordinator.take_effects():
            self._performers[type(effect)](effect)

    def _answer(self, effect: AnswerGroupRequest) -> None:
        caller = self._callers.get(effect.request_id)
        # It may have hung up.
        if caller is not None and not caller.done():
            caller.set_result(effect.answer)

    def _append(self, effect: AppendGroupRecords) -> None:
        batch = build_batch(
            [(record.key, record.value) for record in effect.records], timestamp=self.now_ms
        )
        name = TopicPartition(OFFSETS_TOPIC, effect.partition)
        outcome = self._host.append(name, batch, acks_all=True)
        if isinstance(outcome, AppendResult):
            self._loop.call_soon(self._appended, effect.append_id, outcome.error)
            return
        timeout_s = self._host.settings.offsets_commit_timeout_ms / 1000
        timer = self._loop.call_later(timeout_s, outcome.cancel)

        def done(ended: "asyncio.Future[AnswerAppend]") -> None:
            timer.cancel()
            error = ErrorCode.REQUEST_TIMED_OUT if ended.cancelled() else ended.result().error
            self._appended(effect.append_id, error)

        outcome.add_done_callback(done)

    def _appended(self, append_id: int, error: ErrorCode) -> None:
        self.coordinator.appended(append_id, error, self.now_ms)
        self._settle()

    def _set_timer(self, effect: SetGroupTimer) -> None:
        old = self._timers.pop(effect.name, None)
        if old is not None:
            old.cancel()
        ring = partial(self._ring, effect.name)
        self._timers[effect.name] = self._loop.call_later(effect.after_ms / 1000, ring)

    def _ring(self, name: str) -> None:
        self._timers.pop(name, None)
        self.coordinator.timer_rang(name, self.now_ms)
        self._settle()

    def _report(self, effect: ReportUnreadableRecord) -> None:
        logger.warning("%s-%d: %s", OFFSETS_TOPIC, effect.partition, effect.reason)

    # --- which groups are ours --------------------------------------------------------------------

    def _heard(self, request: ControlRequest) -> None:
        """The controller has spoken: see what is led now, and which topics are gone."""
        if isinstance(request, UpdateMetadata):
            self._learn(request)
        for partition in range(self.coordinator.partitions.partition_count):
            self._look(partition)
        self._settle()

    def _learn(self, request: UpdateMetadata) -> None:
        told = self._host.core.metadata.topics.get(OFFSETS_TOPIC)
        if told and self.coordinator.partitions.partition_count != max(told) + 1:
            # Groups belong elsewhere now: whoever waits here must look there.
            for partition, leader_epoch in self._led.items():
                self.coordinator.unload(partition, leader_epoch, self.now_ms)
            self._led.clear()
            self.coordinator.partitions.partition_count = max(told) + 1
        gone = {
            TopicPartition(each.topic, each.partition)
            for each in request.partitions
            if each.leader == LEADER_DURING_DELETE
        }
        if gone:
            self.coordinator.partitions_deleted(gone, self.now_ms)

    def _look(self, partition: int) -> None:
        hosted = self._host.core.hosted.get(TopicPartition(OFFSETS_TOPIC, partition))
        if hosted is not None and hosted.role is ReplicaRole.LEADER:
            if self._led.get(partition) != hosted.leader_epoch:
                self._led[partition] = hosted.leader_epoch
                if self.coordinator.load_started(partition, hosted.leader_epoch):
                    load = self._loop.create_task(self._load(partition, hosted))
                    self._loads.add(load)
                    load.add_done_callback(self._loaded)
        elif self._led.pop(partition, None) is not None:
            leader_epoch = None if hosted is None else hosted.leader_epoch
            self.coordinator.unload(partition, leader_epoch, self.now_ms)

    async def _load(self, partition: int, hosted: HostedPartition) -> None:
        leader_epoch = hosted.leader_epoch
        while self._led.get(partition) == leader_epoch:
            try:
                async with self._reading:
                    await self._read(partition, hosted)
            except RegentError:
                # To read some of it twice does no harm: the later record has the last word.
                logger.exception("the groups of partition %d cannot be read", partition)
                await asyncio.sleep(LOAD_AGAIN_S)
            else:
                self.coordinator.load_finished(partition, leader_epoch, self.now_ms)
                self._settle()
                return

    async def _read(self, partition: int, hosted: HostedPartition) -> None:
        leader_epoch, log = hosted.leader_epoch, log_of(hosted)
        offset, end = log.start_offset, log.end_offset
        while offset < end and self._led.get(partition) == leader_epoch:
            content = log.read_committed(offset, LOAD_BYTES, end)
            if not content:
                break
            batches = tuple(batches_in(content))
            offset = batches[-1].header.next_offset
            records = (record for batch in batches for record in _group_records(batch))
            self.coordinator.load(partition, leader_epoch, records)
            await asyncio.sleep(0)

    def _loaded(self, load: "asyncio.Task[None]") -> None:
        self._loads.discard(load)
        if not load.cancelled() and (error := load.exception()) is not None:
            logger.error("groups could not be loaded", exc_info=error)


def _group_records(batch: CheckedBatch) -> Iterator[GroupRecord]:
    if batch.header.compression:
        offset = batch.header.base_offset
        logger.warning(
            "%s: the batch at offset %d is compressed, passed over", OFFSETS_TOPIC, offset
        )
    for record in records_in(batch):
        if record.key is not None:
            yield GroupRecord(record.key, record.value)
