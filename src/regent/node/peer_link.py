"""A connection to another node: opened when it is needed, one question at a time.

Whatever goes wrong is no answer, and the next question opens a new connection. Records of answers
are views of what was received: nothing is copied on the way.
"""

import asyncio
import itertools
import logging
from contextlib import suppress
from typing import Any, Final, cast

from msgspec import Struct

from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.runtime.broker_line import LINE_FAILURES
from regent.wire.exchange import decode_answer, encode_request, to_call
from regent.wire.frames import FrameReader
from regent.wire.limits import DEFAULT_LIMITS
from regent.wire.strict_reader import Content

PLAINTEXT: Final = "PLAINTEXT"

logger = logging.getLogger(__name__)


def endpoint_of(broker: Broker) -> Endpoint | None:
    """Where another node can be called without TLS or SASL."""
    plain = (each for each in broker.endpoints if each.security_protocol == PLAINTEXT)
    return next(plain, None)


class PeerLink:
    """The way to one other node."""

    def __init__(self, peer_id: int, client_id: str) -> None:
        self._peer_id = peer_id
        self._client_id = client_id
        self._correlation_ids = itertools.count(1)
        self._turn = asyncio.Lock()
        self._endpoint: Endpoint | None = None
        self._line: _PeerLine | None = None
        self._is_in_trouble = False

    async def ask(
        self, endpoint: Endpoint, request: Struct, *, api_version: int, timeout_s: float
    ) -> Any | None:
        """The answer; None if there is none and will be none."""
        call = to_call(
            request,
            api_version=api_version,
            correlation_id=next(self._correlation_ids),
            client_id=self._client_id,
            timeout_ms=int(timeout_s * 1000),
        )
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    message = await self._exchange(endpoint, encode_request(call))
                answer = decode_answer(call, message)
            except (*LINE_FAILURES, ProtocolError) as error:
                self._complain(endpoint, error)
                self._hang_up()
                return None
            except asyncio.CancelledError:
                self._hang_up()
                raise
        if self._is_in_trouble:
            self._is_in_trouble = False
            logger.info("broker %d answers again", self._peer_id)
        return answer

    def close(self) -> None:
        """Hang up."""
        self._hang_up()

    async def _exchange(self, endpoint: Endpoint, frame: bytes) -> Content:
        line = self._line
        if line is None or line.is_over or self._endpoint != endpoint:
            self._hang_up()
            _, line = await asyncio.get_running_loop().create_connection(
                _PeerLine, endpoint.host, endpoint.port
            )
            self._line, self._endpoint = line, endpoint
        return await line.exchange(frame)

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.hang_up()
        self._endpoint = self._line = None

    def _complain(self, endpoint: Endpoint, error: Exception) -> None:
        """Aloud the first time; a broker that is away is not news ten times a second."""
        level = logging.DEBUG if self._is_in_trouble else logging.WARNING
        self._is_in_trouble = True
        reason = str(error) or type(error).__name__
        logger.log(
            level, "broker %d at %s:%d: %s", self._peer_id, endpoint.host, endpoint.port, reason
        )


class _PeerLine(asyncio.BufferedProtocol):
    """One connection, from `connection_made` to `connection_lost`."""

    def __init__(self) -> None:
        self.is_over = False
        self._frames = FrameReader(DEFAULT_LIMITS)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Content] | None = None

    async def exchange(self, frame: bytes) -> Content:
        """Send a frame and wait for the next message; OSError or ProtocolError if none comes."""
        assert self._transport is not None, "it has been made"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        return await self._answer

    def hang_up(self) -> None:
        """Nobody waits for anything any more."""
        self.is_over = True
        if self._transport is not None:
            with suppress(OSError, RuntimeError):
                self._transport.abort()

    # --- from the event loop ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The other node has taken the call."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Where bytes shall be received to."""
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        try:
            for message in self._frames.filled(nbytes):
                if self._answer is None or self._answer.done():
                    raise ProtocolError("it answers what was not asked")  # noqa: TRY301 - one way out
                self._answer.set_result(message)
        except ProtocolError as error:
            self._end(error)
            self.hang_up()

    def eof_received(self) -> bool:
        """The other node has hung up."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self.is_over = True
        self._end(exc or ConnectionResetError("it has hung up"))

    def _end(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
