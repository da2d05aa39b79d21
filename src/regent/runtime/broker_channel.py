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
from typing import Final

from msgspec import Struct

from regent.core.channel import BACKOFF_MS, Channel, answer_event
from regent.core.events import Event
from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.protocol_version import RequestVersions
from regent.wire.apis import ApiKey
from regent.wire.control_encoder import ControlRequestEncoder
from regent.wire.exchange import Call, decode_answer, encode_request_values
from regent.wire.frames import LENGTH_BYTES, frame_length
from regent.wire.headers import RequestHeader

#: What every broker that has ApiVersions answers.
_API_VERSIONS_VERSION: Final = 0
_PIECE_BYTES: Final = 256 * 1024

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
            except (OSError, EOFError, TimeoutError, ProtocolError) as error:
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
            self._reason(error),
            BACKOFF_MS,
        )

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no answer within {self._settings.timeout_ms} ms"
        if isinstance(error, EOFError):
            return "it hung up"
        return str(error) or type(error).__name__

    async def _converse(self) -> None:
        """Send and hear answers on one connection for as long as it holds."""
        async with asyncio.timeout(self._settings.timeout_ms / 1000):
            reader, writer = await asyncio.open_connection(self.endpoint.host, self.endpoint.port)
        line = _Line(reader, writer, self._settings.timeout_ms / 1000)
        try:
            encoder = await self._negotiate(line)
            while True:
                await self._send_all(line, encoder)
                self._has_work.clear()
                await self._has_work.wait()
                if reader.at_eof():
                    # Brokers close idle connections; nothing was lost, so nothing need wait.
                    return
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _send_all(self, line: "_Line", encoder: ControlRequestEncoder | None) -> None:
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

    async def _negotiate(self, line: "_Line") -> ControlRequestEncoder | None:
        """An encoder of the broker's own, if it does not speak the versions we would choose."""
        header = RequestHeader(
            ApiKey.API_VERSIONS, _API_VERSIONS_VERSION, 0, self._settings.client_id
        )
        message = await line.exchange([encode_request_values(header, {})])
        answer = decode_answer(Call(header, None), message)
        spoken = {int(api.api_key): int(api.max_version) for api in answer.api_keys}
        wanted = self._settings.versions
        versions = RequestVersions(
            min(wanted.leader_and_isr, spoken.get(ApiKey.LEADER_AND_ISR, 0)),
            min(wanted.update_metadata, spoken.get(ApiKey.UPDATE_METADATA, 0)),
            min(wanted.stop_replica, spoken.get(ApiKey.STOP_REPLICA, 0)),
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


class _Line:
    """One connection, one question at a time."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._timeout_s = timeout_s

    async def exchange(self, parts: list[bytes]) -> bytes:
        """Send a frame and wait for the one that answers it."""
        async with asyncio.timeout(self._timeout_s):
            for part in parts:
                await self._write(memoryview(part))
            length = frame_length(await self._reader.readexactly(LENGTH_BYTES))
            return await self._reader.readexactly(length)

    async def _write(self, content: memoryview) -> None:
        """Piece by piece: what a socket does not take at once is copied, again and again."""
        for start in range(0, len(content), _PIECE_BYTES):
            self._writer.write(content[start : start + _PIECE_BYTES])
            await self._writer.drain()
