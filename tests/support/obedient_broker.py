"""Brokers without data: registered in real ZooKeeper, on real sockets, doing what they are told.

A leader among them asks for every live replica to be in its ISR, as if all had caught up at once.
What a controller told them is kept, epoch by epoch, and a stale one is refused as Kafka refuses it.
"""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self

from msgspec.structs import replace

from regent.errors import ProtocolError
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.brokers import Broker, Endpoint
from regent.model.cluster_requests import (
    NO_CONTROLLER,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplica,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    LEADER_DURING_DELETE,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    TopicPartition,
)
from regent.wire.apis import ApiKey
from regent.wire.exchange import (
    decode_answer,
    decode_request,
    encode_answer,
    encode_api_versions_answer,
    encode_request,
    to_call,
)
from regent.wire.frames import LENGTH_BYTES, frame_length
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.registration import register_broker
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.writes import ensure_paths
from tests.support.closing_server import close_server

HOST: Final = "127.0.0.1"


class ObedientBroker:
    """One broker, from its registration to its death."""

    def __init__(self, broker_id: int, rack: str | None = None) -> None:
        self.broker_id = BrokerId(broker_id)
        self.rack = rack
        self.broker_epoch = BrokerEpoch(-1)
        self.port = 0
        #: The session that it is or was registered by.
        self.session_id: int | None = None
        #: Everything that was accepted, in order.
        self.heard: list[ControlRequest] = []
        #: How many requests were refused because their controller had been deposed.
        self.stale_count = 0
        self.controller_epoch = ControllerEpoch(0)
        self.partitions: dict[TopicPartition, LeaderAndIsrPartition] = {}
        self.live: dict[BrokerId, Broker] = {}
        self.metadata: dict[str, dict[int, PartitionMetadata]] = {}
        self.controller_id: BrokerId | None = None
        self._server: asyncio.Server | None = None
        self._session: KazooSession | None = None
        self._topic_ids: dict[str, str] = {}
        self._writers: set[asyncio.StreamWriter] = set()
        self._asking: set[asyncio.Task[None]] = set()

    # --- life, on the loop ----------------------------------------------------------------------

    async def start(
        self, zookeeper: ZooKeeperOptions, previous_session_id: int | None = None
    ) -> None:
        """Listen, then register; a broker that restarts keeps its port."""
        self._server = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        await asyncio.get_running_loop().run_in_executor(
            None, self._register, zookeeper, previous_session_id
        )

    def _register(self, zookeeper: ZooKeeperOptions, previous_session_id: int | None) -> None:
        session = self._session = KazooSession.open(
            zookeeper, on_watch=lambda _event: None, on_state=lambda _state: None
        )
        run(session, ensure_paths())
        own = Broker(self.broker_id, (Endpoint(HOST, self.port),), self.rack)
        self.session_id = session.session_id
        self.broker_epoch = run(
            session,
            register_broker(
                own,
                session_id=self.session_id,
                previous_session_id=previous_session_id,
                now_ms=0,
            ),
        )

    @property
    def has_lost_its_session(self) -> bool:
        """Whether it is registered no longer, without having died."""
        return self._session is not None and self._session.state is SessionState.LOST

    async def die(self) -> None:
        """Be gone at once: the sockets and the registration."""
        if self._session is not None:
            session, self._session = self._session, None
            await asyncio.get_running_loop().run_in_executor(None, session.close)
        if self._server is not None:
            await close_server(self._server)
            for writer in list(self._writers):
                writer.close()
            await self._server.wait_closed()
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    # --- being told -----------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                length = frame_length(await reader.readexactly(LENGTH_BYTES))
                call = decode_request(await reader.readexactly(length))
                if call.header.api_key == ApiKey.API_VERSIONS:
                    writer.write(encode_api_versions_answer(call.header))
                elif isinstance(call.request, Metadata):
                    writer.write(encode_answer(call, self._describe(call.request)))
                else:
                    writer.write(encode_answer(call, self._obey(call.request)))
                await writer.drain()
        except (EOFError, OSError, ProtocolError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _obey(self, request: ControlRequest) -> ControlAnswer:
        if request.controller_epoch < self.controller_epoch:
            self.stale_count += 1
            return ControlAnswer(ErrorCode.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = request.controller_epoch
        self.heard.append(request)
        match request:
            case LeaderAndIsr():
                self._topic_ids.update(request.topic_ids)
                for each in request.partitions:
                    self.partitions[TopicPartition(each.topic, each.partition)] = each
            case UpdateMetadata():
                for told in request.partitions:
                    self.metadata.setdefault(told.topic, {})[told.partition] = told
                    if told.leader == LEADER_DURING_DELETE:
                        self.metadata.pop(told.topic, None)
                self.live = {broker.broker_id: broker for broker in request.live_brokers}
                self.controller_id = request.controller_id
            case StopReplica():
                for stopped in request.partitions:
                    self.partitions.pop(TopicPartition(stopped.topic, stopped.partition), None)
        self._catch_up()
        if isinstance(request, UpdateMetadata):
            return ControlAnswer()
        answered = (
            (TopicPartition(p.topic, p.partition), ErrorCode.NONE) for p in request.partitions
        )
        return ControlAnswer(ErrorCode.NONE, tuple(answered))

    def _describe(self, request: Metadata) -> MetadataAnswer:
        """The cluster as the controller told it."""
        names = self.metadata if request.topics is None else request.topics
        return MetadataAnswer(
            tuple(
                NodeAddress(broker_id, broker.endpoints[0].host, broker.endpoints[0].port)
                for broker_id, broker in self.live.items()
            ),
            None,
            NO_CONTROLLER if self.controller_id is None else self.controller_id,
            tuple(_describe_topic(name, self.metadata.get(name)) for name in names),
        )

    # --- asking ---------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Ask for an ISR of all live replicas wherever this broker leads and some are missing."""
        proposals = tuple(
            IsrProposal(
                self._topic_ids.get(name.topic, name.topic),
                name.partition,
                each.leadership.leader_epoch,
                isr,
                each.leadership.zk_version,
            )
            for name, each in self.partitions.items()
            if each.leadership.leader == self.broker_id
            and (isr := tuple(r for r in each.assignment.replicas if r in self.live))
            and not set(isr) <= set(each.leadership.isr)
        )
        if proposals and self.controller_id in self.live:
            task = asyncio.create_task(self._propose(proposals))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _propose(self, proposals: tuple[IsrProposal, ...]) -> None:
        """Whatever comes of it is told by the controller anyway."""
        assert self.controller_id is not None, "only a known controller is asked"
        (endpoint, *_) = self.live[self.controller_id].endpoints
        call = to_call(
            AlterPartition(self.broker_id, self.broker_epoch, proposals),
            api_version=3,
            correlation_id=1,
        )
        try:
            reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
            try:
                writer.write(encode_request(call))
                length = frame_length(await reader.readexactly(LENGTH_BYTES))
                answer = decode_answer(call, await reader.readexactly(length))
            finally:
                writer.close()
        except (EOFError, OSError):
            return
        names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        for verdict in answer.verdicts:
            self._learn(
                TopicPartition(names.get(verdict.topic, verdict.topic), verdict.partition), verdict
            )

    def _learn(self, name: TopicPartition, verdict: Any) -> None:
        """What the controller wrote is the leadership from now on."""
        known = self.partitions.get(name)
        if known is not None and verdict.error is ErrorCode.NONE:
            leadership = replace(known.leadership, isr=verdict.isr, zk_version=verdict.zk_version)
            self.partitions[name] = replace(known, leadership=leadership)


def _describe_topic(name: str, known: dict[int, PartitionMetadata] | None) -> TopicDescription:
    if known is None:
        return TopicDescription(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return TopicDescription(
        name,
        partitions=tuple(
            PartitionDescription(
                index, ErrorCode.NONE, each.leader, each.leader_epoch, each.replicas, each.isr
            )
            for index, each in sorted(known.items())
        ),
    )


class ObedientBrokers:
    """Several of them, on a loop in a thread of its own."""

    def __init__(self, zookeeper: ZooKeeperOptions, broker_ids: range) -> None:
        self._zookeeper = zookeeper
        self.by_id = {broker_id: ObedientBroker(broker_id) for broker_id in broker_ids}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="brokers")

    def __enter__(self) -> Self:
        self._thread.start()
        for broker_id in self.by_id:
            self.start(broker_id)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for broker_id in self.by_id:
            self.kill(broker_id)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def start(self, broker_id: int) -> None:
        """A broker, or its next life, registers.

        Who gives a session up does not wait for ZooKeeper to agree, which may count its timeout
        from a restart: the registration of the life before may still stand, and is replaced.
        """
        before = self.by_id[broker_id]
        born = self.by_id[broker_id] = ObedientBroker(broker_id, before.rack)
        born.port = before.port
        self._run(born.start(self._zookeeper, before.session_id))

    def register_again(self) -> None:
        """Those whose sessions ended register anew, as brokers do."""
        for broker_id, broker in list(self.by_id.items()):
            if broker.has_lost_its_session:
                self.kill(broker_id)
                self.start(broker_id)

    def kill(self, broker_id: int) -> None:
        """A broker is gone at once."""
        self._run(self.by_id[broker_id].die())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=60)
