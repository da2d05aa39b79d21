"""The controller of a node, whatever else the node is: its thread, its session, its journal.

Both a node that is a controller and nothing else and one that is a broker, too, are built around
it. What such a node writes into ZooKeeper to be found there is its own affair (`register`).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec.structs import replace
from prometheus_client import CONTENT_TYPE_LATEST

from regent.core.controller import Controller
from regent.core.events import TakeOverRequested
from regent.journal.writer import JournalWriter
from regent.model.brokers import Broker, Endpoint
from regent.model.protocol_version import request_versions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.channels import BrokerChannels
from regent.runtime.controller_desk import ControllerDesk
from regent.runtime.driver import ControllerDriver
from regent.runtime.guardian import Ward
from regent.runtime.http_port import Page
from regent.runtime.inbox import Inbox, now_ms
from regent.runtime.journal_thread import JournalThread
from regent.runtime.metrics import Sources, exposition, read_state
from regent.runtime.node_options import NodeOptions
from regent.runtime.tried_brokers import refuse_untried
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import Session, WatchEvent

#: How long a node that is to end waits for ZooKeeper to take its resignation. After that its
#: session, and the role with it, ends by its timeout.
GRACE_S: Final = 5.0

logger = logging.getLogger(__name__)


def ignore_watch(_fired: WatchEvent) -> None:
    """For nodes in which only the controller watches anything."""


class ControllerSide:
    """Made on the event loop that its node lives on."""

    def __init__(
        self,
        options: NodeOptions,
        ward: Ward,
        *,
        own: Endpoint | None,
        register: Callable[[int], Exchange[Any]],
        on_watch: Callable[[WatchEvent], None] = ignore_watch,
    ) -> None:
        """`own` is where a controller listens that is no broker; `register` gets a session id."""
        self._options = options
        self._ward = ward
        self._on_watch = on_watch
        self._loop = asyncio.get_running_loop()
        writer = JournalWriter(options.journal, options.node_id)
        settings = options.settings
        config = replace(settings.controller, own_endpoint=own)
        self.controller = Controller(options.node_id, config)
        self._inbox = Inbox()
        self._journal = JournalThread(writer)
        self._channel_settings = ChannelSettings(
            client_id=str(options.node_id),
            versions=request_versions(config.protocol),
            listener=settings.listener,
            control_listener=settings.control_listener,
            timeout_ms=settings.socket_timeout_ms,
        )
        self._channels = BrokerChannels(self._loop, self._channel_settings, self._inbox.put)
        self.desk = ControllerDesk(
            options.node_id,
            self._inbox,
            self.controller.state,
            advertised=None if own is None else Broker(options.node_id, (own,)),
            session=lambda: self._driver.session,
        )
        self._driver = ControllerDriver(
            self.controller,
            self._inbox,
            open_session=self._open_session,
            register=register,
            channels=self._channels,
            journal=self._journal,
            reply=self.desk.reply,
        )
        self._session: KazooSession | None = None

    @property
    def is_connected(self) -> bool:
        """Whether ZooKeeper can be reached at the moment."""
        return self._session is not None and self._session.state is SessionState.CONNECTED

    # --- life -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until somebody calls `stop`; raises what ended the thread, if it was not that."""
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

    def take_over(self) -> None:
        """Take the role from whoever has it, in the session of now and not again in a later one."""
        self._inbox.put(TakeOverRequested(now_ms()))

    def stop(self) -> None:
        """Give the role up and end. From any thread, and as often as one likes."""
        self._inbox.stop()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hurry)

    def _hurry(self) -> None:
        """A ZooKeeper that never answered is not waited for, and one that is silent not long."""
        if self._session is not None and self._session.session_id:
            self._loop.call_later(GRACE_S, self._session.give_up)
        elif self._session is not None:
            self._session.give_up()

    async def close(self) -> None:
        """Hang up on the brokers, and end the journal."""
        await self._channels.stop()
        self._journal.close()

    # --- sessions, on the controller thread -------------------------------------------------------

    def refuse_untried(self, brokers: Iterable[Broker]) -> None:
        """BadInput if Regent has not been tried with one of these; it asks them."""
        asking = refuse_untried(brokers, self._channel_settings)
        asyncio.run_coroutine_threadsafe(asking, self._loop).result()

    def _open_session(
        self, on_watch: Callable[[WatchEvent], None], on_end: Callable[[], None]
    ) -> Session:
        def on_state(state: SessionState) -> None:
            logger.info("ZooKeeper: %s", state.name.lower())
            if state is SessionState.LOST:
                on_end()

        def on_any_watch(fired: WatchEvent) -> None:
            on_watch(fired)
            self._on_watch(fired)

        if self._session is None:
            logger.info("ZooKeeper: looking for %s", self._options.zookeeper.connect)
        session = KazooSession.open(
            self._options.zookeeper,
            on_watch=on_any_watch,
            on_state=on_state,
            on_attempt=self._attempt,
        )
        logger.info("ZooKeeper: connected, session 0x%x", session.session_id)
        self._ward.report(session.session_id, session.password)
        return session

    def _attempt(self, session: KazooSession) -> None:
        self._session = session
        if self._inbox.is_stopping:
            # `stop` may have come a moment too early to see it.
            session.give_up()

    # --- HTTP -------------------------------------------------------------------------------------

    async def metrics_page(self) -> Page:
        """What it shows of itself to Prometheus."""
        events = self._inbox.events
        readings = await self.desk.look(lambda state: read_state(state, events, now_ms()))
        sources = Sources(
            events,
            self._driver.times,
            self._journal,
            self._channels.by_broker,
            self.is_connected,
        )
        return Page("200 OK", exposition(readings, sources), CONTENT_TYPE_LATEST)

    async def health_page(self) -> Page:
        """Whether it could lead: a standby is as healthy as the one in office."""
        if not self.is_connected:
            return Page("503 Service Unavailable", b"no ZooKeeper session\n")
        return Page("200 OK", b"active\n" if self.controller.state.is_active else b"standby\n")
