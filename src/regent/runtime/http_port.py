"""The HTTP port: a few pages, each made when it is asked for.

So little of HTTP that a library for it would be the larger part: GET, one answer, close.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from regent.errors import BadInput

#: A request, headers and all, that is longer or slower than this is not one of ours.
REQUEST_BYTES_MAX: Final = 16_384
REQUEST_S_MAX: Final = 10

logger = logging.getLogger(__name__)


class Page(NamedTuple):
    """What a GET is answered with."""

    status: str
    content: bytes
    content_type: str = "text/plain; charset=utf-8"


Pages = Mapping[str, Callable[[], Awaitable[Page]]]

_NOT_FOUND: Final = "404 Not Found"
_NOT_ALLOWED: Final = "405 Method Not Allowed"


class HttpPort:
    """Serves pages by their paths."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None, "it has been started"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 is any that is free."""
        try:
            self._server = await asyncio.start_server(
                self._serve, host, port, limit=REQUEST_BYTES_MAX
            )
        except OSError as error:
            raise BadInput(
                f"cannot listen for HTTP on {host}:{port}: {error.strerror}; choose another with"
                " --metrics, or leave it out"
            ) from error

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Whoever asks wrongly or not at all loses the connection, and nothing else happens.
        with suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            async with asyncio.timeout(REQUEST_S_MAX):
                request = await reader.readuntil(b"\r\n\r\n")
                page = await self._page_for(request)
                writer.write(
                    b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n"
                    b"Connection: close\r\n\r\n%b"
                    % (
                        page.status.encode(),
                        page.content_type.encode(),
                        len(page.content),
                        page.content,
                    )
                )
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def _page_for(self, request: bytes) -> Page:
        words = request.split(b"\r\n", 1)[0].split(b" ")
        if words[0] != b"GET" or len(words) != 3:
            return Page(_NOT_ALLOWED, b"only GET is answered here\n")
        page = self._pages.get(words[1].split(b"?")[0].decode("latin-1"))
        if page is None:
            known = ", ".join(self._pages)
            return Page(_NOT_FOUND, f"there is {known}\n".encode())
        try:
            return await page()
        except Exception:
            logger.exception("%s could not be made", words[1])
            return Page("500 Internal Server Error", b"see the log\n")
