"""A node that is a controller and nothing else: every part of it, put together.

The event loop has the sockets, the controller thread has the decisions, the journal has a thread
of its own. A node stops in the order in which others depend on it: it gives the role up, closes
its session so that its place is free at once, and only then its ports.
"""

from collections.abc import Callable

from regent.core.controller import Controller
from regent.model.brokers import Endpoint, RegisteredBroker
from regent.runtime.controller_side import ControllerSide
from regent.runtime.driver import mint_uuid
from regent.runtime.guardian import Ward
from regent.runtime.http_port import HttpPort
from regent.runtime.listener import Listener, bind
from regent.runtime.node_options import NodeOptions
from regent.zookeeper.cluster_id import take_cluster_id
from regent.zookeeper.controller_znodes import register_controller
from regent.zookeeper.exchange import Exchange
from regent.zookeeper.survey import survey_cluster
from regent.zookeeper.writes import ensure_paths


class ControllerNode:
    """One running controller. Made on the event loop that it will live on."""

    def __init__(self, options: NodeOptions, ward: Ward) -> None:
        self._options = options
        self._socket = bind(*options.address)
        self._own = Endpoint(options.advertised_host or options.address[0], self.port)
        try:
            self._side = ControllerSide(options, ward, own=self._own, register=self._register)
        except BaseException:
            self._socket.close()
            raise
        self._listener = Listener(self._side.desk)
        pages = {"/metrics": self._side.metrics_page, "/healthz": self._side.health_page}
        self._http = HttpPort(pages)
        #: The session that this node had before, whose ephemerals it may replace.
        self._previous_session_id: int | None = None

    @property
    def controller(self) -> Controller:
        """What decides."""
        return self._side.controller

    @property
    def port(self) -> int:
        """Where it listens for Kafka's protocol."""
        port: int = self._socket.getsockname()[1]
        return port

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
            await self._side.run()
        finally:
            await self._listener.stop()
            await self._http.stop()
            self._socket.close()
            await self._side.close()

    def stop(self) -> None:
        """Give the role up and end. From any thread, and as often as one likes."""
        self._side.stop()

    # --- on the controller thread -----------------------------------------------------------------

    def _register(self, session_id: int) -> Exchange[None]:
        """Say where this node listens, and learn what the cluster is called.

        The first time after a look around: a cluster that cannot be led from here stays untouched.
        """
        if self._previous_session_id is None:
            registered = yield from survey_cluster()
            self._side.refuse_untried(
                found.broker for found in registered.values() if isinstance(found, RegisteredBroker)
            )
        yield from ensure_paths()
        yield from register_controller(
            self._options.node_id,
            self._own,
            session_id=session_id,
            previous_session_id=self._previous_session_id,
        )
        if self._options.takes_over and self._previous_session_id is None:
            self._side.take_over()
        self._previous_session_id = session_id
        self._side.desk.cluster_id = yield from take_cluster_id(mint_uuid())
