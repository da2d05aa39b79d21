"""A node that is a controller and nothing else: every part of it, put together.

The event loop has the sockets, the controller thread has the decisions, the journal has a thread
of its own. A node stops in the order in which others depend on it: it gives the role up, closes
its session so that its place is free at once, and only then its ports.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from prometheus_client import CONTENT_TYPE_LATEST

from regent.core.controller import Controller
from regent.journal.writer import JournalWriter
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.model.protocol_version import request_versions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.channels import BrokerChannels
from regent.runtime.controller_desk import ControllerDesk
from regent.runtime.driver import ControllerDriver
from regent.runtime.guardian import Ward
from regent.runtime.http_port import HttpPort, Page
from regent.runtime.inbox import Inbox
from regent.runtime.journal_thread import JournalThread
from regent.runtime.listener import Listener, bind
from regent.runtime.metrics import Sources, exposition, read_state
from regent.runtime.properties import NodeSettings
from regent.zookeeper.cluster_id import read_cluster_id
from regent.zookeeper.controller_znodes import register_controller
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import Session, WatchEvent
from regent.zookeeper.writes import ensure_paths

logger = logging.getLogger(__name__)


class NodeOptions(Struct, frozen=True, kw_only=True):
    """What a person says about a node."""

    node_id: BrokerId
    zookeeper: ZooKeeperOptions
    #: Host and port; port 0 is any that is free.
    address: tuple[str, int]
    #: Where others reach it, if not at the host it listens on.
    advertised_host: str | None = None
    journal: Path
    #: Host and port for HTTP; None: no such port.
    metrics: tuple[str, int] | None = None
    settings: NodeSettings = NodeSettings()


class ControllerNode:
    """One running controller. Made on the event loop that it will live on."""

    def __init__(self, options: NodeOptions, ward: Ward) -> None:
        self._options = options
        self._ward = ward
        self._loop = asyncio.get_running_loop()
        self._socket = bind(*options.address)
        own = Endpoint(options.advertised_host or options.address[0], self.port)
        settings = options.settings
        config = replace(settings.controller, own_endpoint=own)
        self.controller = Controller(options.node_id, config)
        self._inbox = Inbox()
        self._journal = JournalThread(JournalWriter(options.journal, options.node_id))
        self._channels = BrokerChannels(
            self._loop,
            ChannelSettings(
                client_id=str(options.node_id),
                versions=request_versions(config.protocol),
                listener=settings.listener,
                timeout_ms=settings.socket_timeout_ms,
            ),
            self._inbox.put,
        )
        self._desk = ControllerDesk(
            options.node_id,
            self._inbox,
            self.controller.state,
            advertised=Broker(options.node_id, (own,)),
            session=lambda: self._driver.session,
        )
        self._driver = ControllerDriver(
            self.controller,
            self._inbox,
            open_session=self._open_session,
            register=self._register,
            channels=self._channels,
            journal=self._journal,
            reply=self._desk.reply,
        )
        self._listener = Listener(self._desk)
        pages = {"/metrics": self._metrics_page, "/healthz": self._health_page}
        self._http = HttpPort(pages)
        #: The session that this node had before, whose ephemerals it may replace.
        self._previous_session_id: int | None = None
        self._session: KazooSession | None = None

    @property
    def port(self) -> int:
        """Where it listens for Kafka's protocol."""
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def _is_connected(self) -> bool:
        return self._session is not None and self._session.state is SessionState.CONNECTED

    @property
    def metrics_port(self) -> int:
        """Where it listens for HTTP."""
        return self._http.port

    # --- life -------------------------------------------------------------------------------------

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Start, serve until somebody calls `stop`, and end in order.

        Raises what ended the controller thread, if it was not `stop`.
        """
        try:
            if self._options.metrics is not None:
                await self._http.start(*self._options.metrics)
            await self._listener.start(self._socket)
            on_ready()
            await self._run_controller()
        finally:
            await self._listener.stop()
            await self._channels.stop()
            await self._http.stop()
            self._socket.close()
            self._journal.close()

    def stop(self) -> None:
        """Give the role up and end. From any thread, and as often as one likes."""
        self._inbox.stop()

    async def _run_controller(self) -> None:
        ended: asyncio.Future[None] = self._loop.create_future()

        def run() -> None:
            try:
                self._driver.run()
            except Exception as error:  # noqa: BLE001 - it is raised again where somebody waits
                self._loop.call_soon_threadsafe(ended.set_exception, error)
            else:
                self._loop.call_soon_threadsafe(ended.set_result, None)

        thread = threading.Thread(target=run, name="controller", daemon=True)
        thread.start()
        try:
            await ended
        finally:
            self.stop()
            await self._loop.run_in_executor(None, thread.join)

    # --- sessions, on the controller thread -------------------------------------------------------

    def _open_session(
        self, on_watch: Callable[[WatchEvent], None], on_end: Callable[[], None]
    ) -> Session:
        def on_state(state: SessionState) -> None:
            logger.info("ZooKeeper: %s", state.name.lower())
            if state is SessionState.LOST:
                on_end()

        session = KazooSession.open(self._options.zookeeper, on_watch=on_watch, on_state=on_state)
        logger.info("ZooKeeper: connected, session 0x%x", session.session_id)
        self._ward.report(session.session_id, session.password)
        self._session = session
        return session

    def _register(self, session_id: int) -> Exchange[None]:
        """Say where this node listens, and learn what the cluster is called."""
        yield from ensure_paths()
        assert self._desk.advertised is not None, "it is a controller and no broker"
        (own,) = self._desk.advertised.endpoints
        yield from register_controller(
            self._options.node_id,
            own,
            session_id=session_id,
            previous_session_id=self._previous_session_id,
        )
        self._previous_session_id = session_id
        self._desk.cluster_id = yield from read_cluster_id()

    # --- HTTP -------------------------------------------------------------------------------------

    async def _metrics_page(self) -> Page:
        readings = await self._desk.look(read_state)
        sources = Sources(
            self._inbox.events,
            self._driver.times,
            self._journal,
            self._channels.by_broker,
            self._is_connected,
        )
        return Page("200 OK", exposition(readings, sources), CONTENT_TYPE_LATEST)

    async def _health_page(self) -> Page:
        """Whether it could lead: a standby is as healthy as the one in office."""
        if not self._is_connected:
            return Page("503 Service Unavailable", b"no ZooKeeper session\n")
        return Page("200 OK", b"active\n" if self.controller.state.is_active else b"standby\n")
