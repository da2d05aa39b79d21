"""A connection to another node: opened when it is needed, one question at a time.

Whatever goes wrong is no answer, and the next question opens a new connection.
"""

import asyncio
import itertools
import logging
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from regent.errors import ProtocolError
from regent.model.brokers import Broker, Endpoint
from regent.wire.exchange import decode_answer, encode_request, to_call
from regent.wire.frames import LENGTH_BYTES, frame_length

#: How much may arrive before somebody reads it.
BUFFER_BYTES: Final = 4 * 1024 * 1024
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
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
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
            except (OSError, EOFError, TimeoutError, ProtocolError) as error:
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

    async def _exchange(self, endpoint: Endpoint, frame: bytes) -> bytes:
        if self._endpoint != endpoint or self._reader is None or self._reader.at_eof():
            self._hang_up()
            self._reader, self._writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, limit=BUFFER_BYTES
            )
            self._endpoint = endpoint
        assert self._writer is not None, "a connection has two directions"
        self._writer.write(frame)
        length = frame_length(await self._reader.readexactly(LENGTH_BYTES))
        return await self._reader.readexactly(length)

    def _hang_up(self) -> None:
        if self._writer is not None:
            with suppress(OSError, RuntimeError):
                self._writer.transport.abort()
        self._endpoint = self._reader = self._writer = None

    def _complain(self, endpoint: Endpoint, error: Exception) -> None:
        """Aloud the first time; a broker that is away is not news ten times a second."""
        level = logging.DEBUG if self._is_in_trouble else logging.WARNING
        self._is_in_trouble = True
        reason = str(error) or type(error).__name__
        logger.log(
            level, "broker %d at %s:%d: %s", self._peer_id, endpoint.host, endpoint.port, reason
        )
