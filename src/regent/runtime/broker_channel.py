"""One broker's channel on the event loop: connect, send the head, wait for its answer, go on.

A failed exchange closes the connection and sends the same request again after a back-off, until
the broker's life is over (C2). What the broker speaks is asked on every new connection, because
it may have been upgraded in between (C4).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import astuple

from regent.core.channel import BACKOFF_MS, Channel, answer_event
from regent.core.events import Event
from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.protocol_version import RequestVersions
from regent.runtime.broker_line import LINE_FAILURES, BrokerLine, open_line, reason_of
from regent.wire.control_encoder import ControlRequestEncoder
from regent.wire.exchange import Call, decode_answer

logger = logging.getLogger(__name__)


class ChannelSettings(Struct, frozen=True):
    """How brokers are spoken to."""

    client_id: str
    versions: RequestVersions
    #: Where brokers speak to one another; None: the first that needs neither TLS nor SASL.
    listener: str | None = None
    #: Where they are told what to do; None: the same.
    control_listener: str | None = None
    #: How long a broker may take to connect or to answer (`controller.socket.timeout.ms`).
    timeout_ms: int = 30_000

    @property
    def timeout_s(self) -> float:
        """The same in seconds."""
        return self.timeout_ms / 1000

    @property
    def own_listener(self) -> str | None:
        """The listener that channels use."""
        return self.control_listener or self.listener

    def endpoint_of(self, broker: Broker) -> Endpoint | None:
        """Where to reach a broker; None if it has no listener that can be used."""
        return _plain_endpoint(broker, self.own_listener)

    def others_endpoint_of(self, broker: Broker) -> Endpoint | None:
        """Where other brokers reach it."""
        return _plain_endpoint(broker, self.listener)


def _plain_endpoint(broker: Broker, listener: str | None) -> Endpoint | None:
    for endpoint in broker.endpoints:
        if endpoint.security_protocol == "PLAINTEXT" and listener in (None, endpoint.listener):
            return endpoint
    return None


class Outgoing(Struct, frozen=True):
    """A request on its way: encoded for brokers that are up to date, and what others need."""

    call: Call
    parts: list[bytes]
    endpoints: Mapping[BrokerId, Endpoint]
    queued_at_s: float

    @property
    def request(self) -> ControlRequest:
        """What it says."""
        request: ControlRequest = self.call.request
        return request


class ChannelTimes(Struct):
    """What a channel shows of itself."""

    sent_count: int = 0
    failed_count: int = 0
    queue_s: float = 0.0
    answer_s: float = 0.0


class BrokerChannel:
    """Tells one life of one broker what there is to tell, in order."""

    def __init__(
        self,
        broker_id: BrokerId,
        broker_epoch: BrokerEpoch,
        endpoint: Endpoint,
        settings: ChannelSettings,
        put_event: Callable[[Event], object],
    ) -> None:
        self.endpoint = endpoint
        self.times = ChannelTimes()
        self._channel: Channel[Outgoing] = Channel(broker_id, broker_epoch)
        self._settings = settings
        self._put_event = put_event
        self._has_work = asyncio.Event()
        self._is_in_trouble = False
        self._task = asyncio.create_task(self._run(), name=f"channel to broker {broker_id}")

    def __len__(self) -> int:
        return len(self._channel)

    def put(self, outgoing: Outgoing) -> None:
        """Queue a request behind all others."""
        self._channel.put(outgoing)
        self._has_work.set()

    async def close(self) -> None:
        """The broker's life is over, or our reign is."""
        self._channel.close()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            await self._has_work.wait()
            try:
                await self._converse()
            except (*LINE_FAILURES, ProtocolError) as error:
                self._channel.failed()
                self.times.failed_count += 1
                self._complain(error)
                await asyncio.sleep(BACKOFF_MS / 1000)

    def _complain(self, error: Exception) -> None:
        """Aloud the first time; a broker that is away is not news three times a second."""
        level = logging.DEBUG if self._is_in_trouble else logging.WARNING
        self._is_in_trouble = True
        logger.log(
            level,
            "broker %d at %s:%d: %s; sending again every %d ms until it is no longer registered",
            self._channel.broker_id,
            self.endpoint.host,
            self.endpoint.port,
            reason_of(error, self._settings.timeout_s),
            BACKOFF_MS,
        )

    async def _converse(self) -> None:
        """Send and hear answers on one connection for as long as it holds."""
        async with open_line(self.endpoint, self._settings.timeout_s) as line:
            encoder = await self._negotiate(line)
            while True:
                await self._send_all(line, encoder)
                self._has_work.clear()
                await self._has_work.wait()
                if line.is_hung_up:
                    # Brokers close idle connections; nothing was lost, so nothing need wait.
                    return

    async def _send_all(self, line: BrokerLine, encoder: ControlRequestEncoder | None) -> None:
        while (outgoing := self._channel.next_to_send()) is not None:
            started_s, number = time.monotonic(), self._channel.head_number
            call, parts = outgoing.call, outgoing.parts
            if encoder is not None:
                call = encoder.to_call(outgoing.request, call.header.correlation_id)
                parts = encoder.encode(call, outgoing.endpoints)
            answer = decode_answer(call, await line.exchange(parts))
            if self._channel.answered(number) is None:
                return
            if self._is_in_trouble:
                self._is_in_trouble = False
                logger.info("broker %d answers again", self._channel.broker_id)
            self.times.sent_count += 1
            self.times.queue_s += started_s - outgoing.queued_at_s
            self.times.answer_s += time.monotonic() - started_s
            now_ms = time.time_ns() // 1_000_000
            self._put_event(answer_event(now_ms, self._channel, outgoing.request, answer))

    async def _negotiate(self, line: BrokerLine) -> ControlRequestEncoder | None:
        """An encoder of the broker's own, if it does not speak the versions we would choose."""
        spoken = await line.ask_versions(self._settings.client_id)
        wanted = self._settings.versions
        versions = RequestVersions(
            *(max(0, min(pair)) for pair in zip(astuple(wanted), astuple(spoken), strict=True))
        )
        if versions == wanted:
            return None
        logger.warning(
            "broker %d speaks older versions of the control requests: %s instead of %s",
            self._channel.broker_id,
            versions,
            wanted,
        )
        return ControlRequestEncoder(versions, client_id=self._settings.client_id)
