"""START HERE. A node: a broker with data and a controller that may lead, in one process.

They share one ZooKeeper session, one port and one event loop; the controller's decisions are made
in a thread of its own. The logs are loaded before the node registers, and nobody is served before
it has. It ends in the order in which others depend on it: its leaderships are moved away, then its
session is closed, then its port, then its logs.

The room:

    broker_node                   the process, put together
    broker_settings               settings under Kafka's names
    broker_host                   the broker's logic, its effects carried out
    disk_logs                     storage as that logic wants it
    replica_fetches, peer_link    talking to other brokers
    controller_line               talking to the controller, wherever it is
    topic_settings, throttle_rates, config_watch
                                  what topics say of themselves, and what is set on the broker
    group_host                    the group coordinator, its effects carried out
    topic_making, change_waiters, log_keeping
                                  small things that APIs and logs need
    node_api_table, apis/         who may ask what; one file for each API, by its key
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from regent.errors import BadInput, BrokerIdTaken, LogDirOffline, RegentError
from regent.model.admin_requests import ControlledShutdown, ControlledShutdownAnswer
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerEpoch
from regent.node.broker_host import BrokerHost
from regent.node.broker_settings import BrokerSettings
from regent.node.config_watch import ConfigWatch, read_topic_configs
from regent.node.disk_logs import DiskLogDirectory
from regent.node.group_host import GroupHost
from regent.node.log_keeping import keep_logs
from regent.node.node_api_table import to_node_answer
from regent.node.services import Services
from regent.node.throttle_rates import ThrottleRates
from regent.node.topic_settings import TopicSettings
from regent.runtime.caller_connection import ConnectionSettings, Frame, MutingFrame
from regent.runtime.controller_side import ControllerSide
from regent.runtime.driver import mint_uuid
from regent.runtime.guardian import Ward
from regent.runtime.http_port import HttpPort
from regent.runtime.inbox import now_ms
from regent.runtime.listener import Listener, ListenerSettings, bind
from regent.runtime.node_options import NodeOptions
from regent.storage.log_store import LogStore
from regent.wire.exchange import Call
from regent.wire.limits import WireLimits
from regent.zookeeper import paths
from regent.zookeeper.cluster_id import take_cluster_id
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.registration import register_broker
from regent.zookeeper.store import WatchEvent
from regent.zookeeper.writes import ensure_paths

#: How long those whose answers are under way are waited for at the end.
GRACE_MS: Final = 1_000
#: After so many session timeouts, whoever holds our id is no former life of ours.
PATIENCE_TIMEOUTS: Final = 2

logger = logging.getLogger(__name__)


class BrokerNodeOptions(Struct, frozen=True, kw_only=True):
    """What a person says about a node that is a broker, too."""

    node: NodeOptions
    #: Where its logs are.
    data: Path
    rack: str | None = None
    broker: BrokerSettings = BrokerSettings()


class BrokerNode:
    """One running node. Made on the event loop that it will live on."""

    def __init__(self, options: BrokerNodeOptions, ward: Ward) -> None:
        self._options = options
        node = options.node
        self._loop = asyncio.get_running_loop()
        self._socket = bind(*node.address)
        own = Endpoint(node.advertised_host or node.address[0], self.port)
        self._registration = Broker(node.node_id, (own,), options.rack)
        self._topics = TopicSettings(options.broker.logs)
        try:
            self._side = ControllerSide(
                node, ward, own=None, register=self._register, on_watch=self._watched
            )
        except BaseException:
            self._socket.close()
            raise
        limits = WireLimits(frame_bytes=options.broker.request_bytes_max)
        self._listener = Listener(
            self._side.desk,
            ListenerSettings(connection=ConnectionSettings(limits), grace_ms=GRACE_MS),
            self._answer,
        )
        self._http = HttpPort(
            {"/metrics": self._side.metrics_page, "/healthz": self._side.health_page}
        )
        self._previous_session_id: int | None = None
        self._taken_since_s: float | None = None
        #: Loaded by the controller thread before the first registration, and then the loop's.
        self._store: LogStore | None = None
        self._services: Services | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_ready: Callable[[], None] = lambda: None
        self._failure: RegentError | None = None
        self._is_stopping = False

    @property
    def port(self) -> int:
        """Where it listens for Kafka's protocol."""
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def metrics_port(self) -> int:
        """Where it listens for HTTP."""
        return self._http.port

    @property
    def services(self) -> Services | None:
        """What callers reach, as soon as it has registered."""
        return self._services

    # --- life -------------------------------------------------------------------------------------

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Start, serve until somebody calls `stop`, and end in order.

        Raises what ended it, if that was not `stop`.
        """
        self._on_ready = on_ready
        try:
            if self._options.node.metrics is not None:
                await self._http.start(*self._options.node.metrics)
            await self._side.run()
            if self._failure is not None:
                raise self._failure
        finally:
            await self._end()

    def stop(self) -> None:
        """Hand the leaderships over, and end; at once when called again. From any thread."""
        self._loop.call_soon_threadsafe(self._begin_stop)

    def _begin_stop(self) -> None:
        hurries = self._is_stopping
        self._is_stopping = True
        if hurries or self._services is None or not self._options.broker.shuts_down_controlled:
            self._side.stop()
        else:
            self._start(self._shut_down(self._services.host))

    async def _shut_down(self, host: BrokerHost) -> None:
        """Ask the controller to move our leaderships away, a few times, then go anyway."""
        settings = self._options.broker
        request = ControlledShutdown(self._options.node.node_id, host.core.broker_epoch)
        for attempt in range(1, settings.shutdown_tries + 1):
            answer: ControlledShutdownAnswer | None = await host.controller.ask(
                request, timeout_s=settings.peer_timeout_ms / 1000
            )
            if answer == ControlledShutdownAnswer():
                logger.info("all leaderships are handed over")
                break
            logger.warning("the controlled shutdown is not done: %s", answer or "no answer")
            if attempt < settings.shutdown_tries:
                await asyncio.sleep(settings.shutdown_backoff_ms / 1000)
        self._side.stop()

    async def _end(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._services is not None:
            self._services.groups.close()
            self._services.host.close()
        await self._listener.stop()
        await self._http.stop()
        self._socket.close()
        await self._side.close()
        if self._store is not None:
            if self._failure is None:
                self._store.close()
            else:
                self._store.abandon()

    def _fail(self, error: RegentError) -> None:
        """Go at once: without its logs a broker is of no use to anybody."""
        if self._failure is None:
            self._failure = error
            self._is_stopping = True
            self._side.stop()

    # --- sessions, on the controller thread -------------------------------------------------------

    def _register(self, session_id: int) -> Exchange[None]:
        """Load the logs if that has not happened, and say where this node listens."""
        yield from ensure_paths()
        cluster_id = yield from take_cluster_id(mint_uuid())
        self._side.desk.cluster_id = cluster_id
        if self._store is None:
            self._store = self._open_store(cluster_id or "")
        topics = dict.fromkeys(name.topic for name in self._store.names())
        if topics and self._services is None:
            found = yield from read_topic_configs(topics)
            for topic, configs in found.items():
                self._topics.learn(topic, configs)
                self._store.reconfigure(topic)
        try:
            broker_epoch = yield from register_broker(
                self._registration,
                session_id=session_id,
                previous_session_id=self._previous_session_id,
                now_ms=now_ms(),
            )
        except BrokerIdTaken as taken:
            self._judge(taken)
            raise
        self._taken_since_s = None
        self._previous_session_id = session_id
        self._loop.call_soon_threadsafe(self._registered, broker_epoch)

    def _judge(self, taken: BrokerIdTaken) -> None:
        """A killed process leaves its registration behind for a session timeout; wait for that."""
        now_s = time.monotonic()
        if self._taken_since_s is None:
            self._taken_since_s = now_s
        timeout_s = self._options.node.zookeeper.session_timeout_ms / 1000
        if now_s - self._taken_since_s > PATIENCE_TIMEOUTS * timeout_s:
            raise BadInput(
                f"another process is broker {taken.broker_id} in this cluster, in ZooKeeper session"
                f" 0x{taken.owner_session_id:x}; give this one another --id, or stop that one"
            ) from taken

    def _open_store(self, cluster_id: str) -> LogStore:
        def failed(path: Path, reason: str) -> None:
            error = LogDirOffline(str(path), reason)
            self._loop.call_soon_threadsafe(self._fail, error)

        return LogStore(
            (self._options.data,),
            broker_id=self._options.node.node_id,
            cluster_id=cluster_id,
            config_of=self._topics.log_config,
            on_failure=failed,
        )

    def _watched(self, fired: WatchEvent) -> None:
        if fired.path == paths.CONFIG_CHANGES and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._configs_changed)

    # --- on the event loop ------------------------------------------------------------------------

    def _registered(self, broker_epoch: BrokerEpoch) -> None:
        services = self._services
        if services is None:
            services = self._services = self._build_services()
            self._start(self._open_doors(services))
        services.host.registered(broker_epoch)
        logger.info("registered as broker, epoch %d", broker_epoch)
        self._start(services.configs.session_began())

    def _build_services(self) -> Services:
        assert self._store is not None, "logs are loaded before the node registers"
        node_id, desk = self._options.node.node_id, self._side.desk
        host = BrokerHost(
            node_id,
            self._options.broker,
            DiskLogDirectory(self._store, (self._options.data,)),
            self._topics,
            desk,
        )
        return Services(
            host,
            desk,
            ConfigWatch(self._topics, self._store, ThrottleRates(node_id, host.core), desk),
            desk.producer_ids,
            GroupHost(host),
        )

    async def _open_doors(self, services: Services) -> None:
        try:
            await self._listener.start(self._socket)
        except BadInput as error:
            self._fail(error)
            return
        self._on_ready()
        await keep_logs(services.host.directory.store, self._options.broker)

    def _configs_changed(self) -> None:
        if self._services is not None:
            self._start(self._services.configs.announced())

    async def _answer(self, call: Call, peer: str) -> Frame | MutingFrame:
        assert self._services is not None, "the door is opened after registration"
        return await to_node_answer(call, peer, self._services)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        with suppress(asyncio.CancelledError):
            error = task.exception()
            if error is not None:
                logger.error("a task of the node has failed", exc_info=error)
