"""One connection to a broker on the event loop: one question at a time, each answered in time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from regent.model.brokers import Endpoint
from regent.model.protocol_version import RequestVersions
from regent.wire.apis import ApiKey
from regent.wire.exchange import Call, decode_answer, encode_request_values
from regent.wire.frames import LENGTH_BYTES, frame_length
from regent.wire.headers import RequestHeader

#: What can go wrong with a connection, whoever is to blame. The last two are for registrations
#: with a name that no host can have, or a port beyond all ports.
LINE_FAILURES: Final = (OSError, EOFError, TimeoutError, UnicodeError, OverflowError)
#: A broker that does not know a control request at all.
NOT_SPOKEN: Final = -1
#: What every broker that has ApiVersions answers.
_API_VERSIONS_VERSION: Final = 0
_PIECE_BYTES: Final = 256 * 1024


class BrokerLine:
    """Use `open_line`."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._timeout_s = timeout_s

    @property
    def is_hung_up(self) -> bool:
        """Whether the broker has closed it."""
        return self._reader.at_eof()

    async def exchange(self, parts: Sequence[bytes]) -> bytes:
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

    async def ask_versions(self, client_id: str) -> RequestVersions:
        """The newest versions of the control requests that the broker speaks."""
        header = RequestHeader(ApiKey.API_VERSIONS, _API_VERSIONS_VERSION, 0, client_id)
        message = await self.exchange([encode_request_values(header, {})])
        answer = decode_answer(Call(header, None), message)
        spoken = {int(api.api_key): int(api.max_version) for api in answer.api_keys}
        return RequestVersions(
            spoken.get(ApiKey.LEADER_AND_ISR, NOT_SPOKEN),
            spoken.get(ApiKey.UPDATE_METADATA, NOT_SPOKEN),
            spoken.get(ApiKey.STOP_REPLICA, NOT_SPOKEN),
        )


@asynccontextmanager
async def open_line(endpoint: Endpoint, timeout_s: float) -> AsyncIterator[BrokerLine]:
    """Connect, and hang up at the end."""
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    try:
        yield BrokerLine(reader, writer, timeout_s)
    finally:
        # Whoever closes in order waits until the broker has read what it was sent, if ever.
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def reason_of(error: Exception, timeout_s: float) -> str:
    """Why a connection was of no more use, in words."""
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout_s * 1000:g} ms"
    if isinstance(error, EOFError):
        return "it hung up"
    return str(error) or type(error).__name__
