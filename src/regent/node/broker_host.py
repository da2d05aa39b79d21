"""A broker's surroundings on the event loop: carries out what the broker's logic wants done.

Everything that touches the logic or the logs happens on the one loop, so that nothing needs a
lock. What is sent to another node ends in exactly one call of the logic, with None if there is no
answer: it keeps at most one request of a kind under way.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct

from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import (
    AnnounceIsrChanges,
    AnswerAppend,
    AnswerFetch,
    SendAlterPartition,
    SendEpochQuery,
    SendFetch,
    WriteIsr,
)
from regent.broker.hosted_partition import HostedPartition, ReplicaRole
from regent.broker.log_failures import LOG_FAILURES, code_of
from regent.broker.replication_requests import FetchAnswer
from regent.errors import RegentError
from regent.model.brokers import Endpoint
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch, TopicPartition
from regent.model.log_requests import OffsetForLeaderEpoch, OffsetForLeaderEpochAnswer
from regent.model.record_requests import (
    AppendResult,
    FetchRecords,
    FetchRecordsAnswer,
    Records,
)
from regent.node.admission import Admission
from regent.node.broker_settings import BrokerSettings
from regent.node.change_waiters import ChangeWaiters
from regent.node.controller_line import ControllerLine
from regent.node.disk_logs import DiskLog, DiskLogDirectory
from regent.node.peer_link import PeerLink, endpoint_of
from regent.node.replica_fetches import (
    AskedPositions,
    from_epoch_ends,
    to_epoch_ends,
    to_epoch_query,
    to_epoch_question,
    to_fetch,
    to_fetched_records,
)
from regent.node.topic_settings import TopicSettings
from regent.runtime.desk import Desk
from regent.storage.producers import StoredBatch
from regent.storage.record_batch import RecordsRefused
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.registration import announce_isr_changes, write_isr_directly

FETCH_VERSION: Final = 11
EPOCH_QUERY_VERSION: Final = 3
#: Before something that ZooKeeper did not take is tried again, in the next session perhaps.
WRITE_AGAIN_S: Final = 0.25
#: Timers beyond this are set when their time is nearer.
TIMER_MAX_S: Final = 3_600.0

T = TypeVar("T")
logger = logging.getLogger(__name__)


class _WaitingProducer(Struct, frozen=True):
    """A batch that is stored, and whose producer wants to know when it is safe."""

    name: TopicPartition
    records: Records
    outcome: "asyncio.Future[AnswerAppend]"


class BrokerHost:
    """One life of a broker. Made on the event loop that it will live on."""

    def __init__(
        self,
        broker_id: BrokerId,
        settings: BrokerSettings,
        directory: DiskLogDirectory,
        topics: TopicSettings,
        desk: Desk,
    ) -> None:
        self.settings = settings
        self.directory = directory
        self.core = BrokerCore(broker_id, settings.replication, directory)
        self.topics = topics
        self.core.min_isr.update(topics.min_isr)
        topics.min_isr = self.core.min_isr
        self.core.leader_quota.replicas = topics.throttled_leaders
        self.core.follower_quota.replicas = topics.throttled_followers
        self.waiters = ChangeWaiters()
        self.controller = ControllerLine(broker_id, self.core.metadata, desk)
        #: Set as soon as a controller has said who is in the cluster.
        self.knows_cluster = asyncio.Event()
        #: Hear of a control request that was carried out.
        self.on_control: list[Callable[[ControlRequest], None]] = []
        self._broker_id = broker_id
        self._desk = desk
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._admission = Admission()
        self._appends: dict[int, _WaitingProducer] = {}
        self._parked: dict[tuple[BrokerId, int], asyncio.Future[FetchAnswer]] = {}
        self._fetch_links: dict[BrokerId, PeerLink] = {}
        self._query_links: dict[BrokerId, PeerLink] = {}
        self._asked: dict[BrokerId, AskedPositions] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_ms = 0
        self._is_closed = False
        self.core.watch(self.waiters.changed)
        # Any: each method takes just its own kind of effect.
        self._performers: Mapping[type, Callable[[Any], None]] = {
            SendFetch: lambda effect: self._start(self._fetch(effect)),
            SendEpochQuery: lambda effect: self._start(self._query(effect)),
            SendAlterPartition: lambda effect: self._start(self._alter_partition(effect)),
            WriteIsr: lambda effect: self._start(self._write_isr(effect)),
            AnnounceIsrChanges: lambda effect: self._start(self._announce(effect)),
            AnswerFetch: self._answer_fetch,
            AnswerAppend: self._answer_append,
        }

    @property
    def now_ms(self) -> int:
        """The clock that nobody can set."""
        return int(self._loop.time() * 1000)

    # --- what reaches the broker ------------------------------------------------------------------

    def registered(self, broker_epoch: BrokerEpoch) -> None:
        """The broker stands (again) in ZooKeeper."""
        self.core.registered(broker_epoch)
        self.settle()

    def control(self, request: ControlRequest) -> ControlAnswer:
        """A controller's request; what topics say of themselves was read before."""
        match request:
            case LeaderAndIsr():
                answer = self.core.leader_and_isr(request, self.now_ms)
            case UpdateMetadata():
                answer = self.core.update_metadata(request)
            case StopReplica():
                answer = self.core.stop_replica(request, self.now_ms)
                self._forget_topics(request)
        if self.core.metadata.controller_id is not None:
            self.knows_cluster.set()
        if answer.error is ErrorCode.NONE:
            for heard in self.on_control:
                heard(request)
        self.settle()
        return answer

    def append(
        self, name: TopicPartition, records: Records, *, acks_all: bool
    ) -> "AppendResult | asyncio.Future[AnswerAppend]":
        """Take a producer's batch: the outcome if it is known at once, or what will be it."""
        hosted = self.led(name)
        if isinstance(hosted, ErrorCode):
            return self._admission.turn_away(name, records, hosted, self.now_ms)
        error = self.core.append_refusal(name, acks_all=acks_all)
        if error is not ErrorCode.NONE:
            return self._admission.turn_away(name, records, error, self.now_ms)
        admitted = self._admission.admit(name, records, log_of(hosted), self.now_ms)
        if isinstance(admitted, RecordsRefused):
            return AppendResult(name, admitted.error, message=admitted.reason)
        if isinstance(admitted, StoredBatch) and not acks_all:
            return AppendResult(name, base_offset=admitted.base_offset)
        request_id = next(self._ids)
        outcome: asyncio.Future[AnswerAppend] = self._loop.create_future()
        self._appends[request_id] = _WaitingProducer(name, records, outcome)
        outcome.add_done_callback(lambda _: self._appends.pop(request_id, None))
        if isinstance(admitted, StoredBatch):
            offsets = (admitted.base_offset, admitted.last_offset)
            self.core.append_again(name, *offsets, request_id)
        else:
            try:
                self.core.append(name, admitted, request_id, acks_all=acks_all)
            except LOG_FAILURES as failure:
                outcome.cancel()
                return AppendResult(name, code_of(failure), message=str(failure))
        self.settle()
        return outcome

    def log_began_later(self, name: TopicPartition) -> None:
        """Records were deleted; followers delete theirs."""
        self.core.log_began_later(name)
        self.settle()

    async def serve_follower(self, request: FetchRecords) -> FetchRecordsAnswer:
        """A follower's fetch; one that finds nothing new waits here."""
        fetch = to_fetch(request, next(self._ids))
        answer = self.core.fetch(fetch, self.now_ms)
        if answer is not None:
            self.settle()
            return to_fetched_records(answer)
        key = (fetch.replica_id, fetch.fetch_id)
        parked = self._parked[key] = self._loop.create_future()
        self.settle()
        try:
            return to_fetched_records(await parked)
        finally:
            self._parked.pop(key, None)

    def epoch_query(self, request: OffsetForLeaderEpoch) -> OffsetForLeaderEpochAnswer:
        """Where epochs end, for a follower or a consumer."""
        known: dict[TopicPartition, LeaderEpoch] = {
            question.name: hosted.leader_epoch
            for question in request.questions
            if (hosted := self.core.hosted.get(question.name)) is not None
        }
        return to_epoch_ends(self.core.epoch_query(to_epoch_query(request, known)))

    def _forget_topics(self, request: StopReplica) -> None:
        """A topic of the same name that comes later may be set otherwise."""
        kept = {name.topic for name in self.core.hosted}
        for topic in dict.fromkeys(each.topic for each in request.partitions):
            if topic not in kept:
                self.topics.forget(topic)

    # --- what can be seen -------------------------------------------------------------------------

    def led(self, name: TopicPartition, leader_epoch: int = -1) -> HostedPartition | ErrorCode:
        """The partition, if this broker leads it, in that epoch where one is given."""
        hosted = self.core.hosted.get(name)
        if hosted is None:
            if self.directory.is_offline(name):
                return ErrorCode.KAFKA_STORAGE_ERROR
            is_elsewhere = name in self.core.metadata.partitions
            return (
                ErrorCode.NOT_LEADER_OR_FOLLOWER
                if is_elsewhere
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
        if self.directory.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if leader_epoch >= 0 and leader_epoch != hosted.leader_epoch:
            is_old = leader_epoch < hosted.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
        if hosted.role is not ReplicaRole.LEADER:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return hosted

    # --- life -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Do nothing any more; those who wait are left to the listener, which hangs up on them."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in tuple(self._tasks):
            task.cancel()
        for links in (self._fetch_links, self._query_links):
            for link in links.values():
                link.close()
        self.controller.close()
        self.core.checkpoint(self.now_ms)

    def settle(self) -> None:
        """Carry out what came out, and see when time is next of interest."""
        if self._is_closed:
            return
        for effect in self.core.take_effects():
            self._performers[type(effect)](effect)
        self._set_timer()

    # --- what the broker wants --------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a broker's work has failed", exc_info=error)

    def _answer_fetch(self, effect: AnswerFetch) -> None:
        parked = self._parked.pop((effect.replica_id, effect.fetch_id), None)
        # The follower may have hung up.
        if parked is not None and not parked.done():
            parked.set_result(effect.answer)

    def _answer_append(self, effect: AnswerAppend) -> None:
        waiting = self._appends.pop(effect.request_id, None)
        if waiting is None:
            return
        if effect.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            # The new leader may not have it, and then it goes from this log as well.
            self._admission.turn_away(waiting.name, waiting.records, effect.error, self.now_ms)
        # The producer may have hung up, or have waited long enough.
        if not waiting.outcome.done():
            waiting.outcome.set_result(effect)

    async def _fetch(self, effect: SendFetch) -> None:
        replication, leader_id = self.settings.replication, effect.leader_id
        asked = self._asked.setdefault(leader_id, AskedPositions())
        request = asked.to_wire(
            effect.request,
            max_wait_ms=replication.fetch_max_wait_ms,
            partition_bytes=replication.fetch_limit,
            answer_bytes=replication.fetch_answer_limit,
        )
        found: FetchRecordsAnswer | None = await self._ask(
            self._fetch_links, leader_id, request, FETCH_VERSION
        )
        answer = None if found is None else asked.from_wire(found)
        self.core.fetch_answered(leader_id, effect.request, answer, self.now_ms)
        self.settle()

    async def _query(self, effect: SendEpochQuery) -> None:
        found = await self._ask(
            self._query_links,
            effect.leader_id,
            to_epoch_question(effect.query),
            EPOCH_QUERY_VERSION,
        )
        answer = None if found is None else from_epoch_ends(found)
        self.core.epoch_query_answered(effect.leader_id, effect.query, answer, self.now_ms)
        self.settle()

    async def _ask(
        self, links: dict[BrokerId, PeerLink], peer_id: BrokerId, request: Any, api_version: int
    ) -> Any | None:
        endpoint = self._endpoint(peer_id)
        if endpoint is None:
            return None
        link = links.get(peer_id)
        if link is None:
            link = links[peer_id] = PeerLink(peer_id, str(self._broker_id))
        timeout_s = self.settings.peer_timeout_ms / 1000
        return await link.ask(endpoint, request, api_version=api_version, timeout_s=timeout_s)

    def _endpoint(self, peer_id: BrokerId) -> Endpoint | None:
        broker = self.core.metadata.live_brokers.get(peer_id)
        return None if broker is None else endpoint_of(broker)

    async def _alter_partition(self, effect: SendAlterPartition) -> None:
        answer = await self.controller.ask(
            effect.request,
            timeout_s=self.settings.peer_timeout_ms / 1000,
            api_version=effect.request.version,
        )
        self.core.alter_partition_answered(effect.request_id, answer, self.now_ms)
        self.settle()

    async def _write_isr(self, effect: WriteIsr) -> None:
        name = TopicPartition(effect.topic, effect.partition)
        zk_version = await self._persist(lambda: write_isr_directly(name, effect.leadership))
        self.core.isr_written(name, effect.leadership, zk_version, self.now_ms)
        self.settle()

    async def _announce(self, effect: AnnounceIsrChanges) -> None:
        await self._persist(lambda: announce_isr_changes(effect.partitions))

    async def _persist(self, exchange: Callable[[], Exchange[T]]) -> T:
        """Carry out an exchange with ZooKeeper, in a later session if need be."""
        while True:
            try:
                return await self._desk.run(exchange())
            except RegentError as error:
                logger.warning("ZooKeeper: %s; trying again", error)
                await asyncio.sleep(WRITE_AGAIN_S)

    # --- time -------------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        due_ms = self.core.next_tick_ms()
        if self._timer is not None:
            if self._timer_due_ms <= due_ms:
                return
            self._timer.cancel()
        self._timer_due_ms = due_ms
        delay_s = min(max(due_ms - self.now_ms, 1) / 1000, TIMER_MAX_S)
        self._timer = self._loop.call_later(delay_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.core.tick(self.now_ms)
        self.settle()


def log_of(hosted: HostedPartition) -> DiskLog:
    """The log of a replica on this node."""
    log = hosted.log
    assert isinstance(log, DiskLog), "a node has its logs on disk"
    return log
