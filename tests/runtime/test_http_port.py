"""The HTTP port: pages by path, and nothing that a stranger sends does harm."""

import asyncio
import socket

import pytest

from regent.errors import BadInput
from regent.runtime.http_port import HttpPort, Page


async def hello() -> Page:
    return Page("200 OK", b"hello\n")


async def broken() -> Page:
    raise RuntimeError("no page today")


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def answers(*requests: bytes) -> list[bytes]:
    async def converse() -> list[bytes]:
        http = HttpPort({"/hello": hello, "/broken": broken})
        await http.start("127.0.0.1", 0)
        try:
            return [await ask(http.port, request) for request in requests]
        finally:
            await http.stop()

    return asyncio.run(converse())


@pytest.mark.parametrize(
    ("request_line", "status", "content"),
    [
        (b"GET /hello HTTP/1.1", b"200 OK", b"hello"),
        (b"GET /hello?x=1 HTTP/1.1", b"200 OK", b"hello"),
        (b"GET /elsewhere HTTP/1.1", b"404 Not Found", b"/hello"),
        (b"POST /hello HTTP/1.1", b"405 Method Not Allowed", b"GET"),
        (b"GET /broken HTTP/1.1", b"500 Internal Server Error", b"log"),
    ],
)
def test_a_page_is_found_by_its_path(request_line: bytes, status: bytes, content: bytes) -> None:
    """And what is wrong is said."""
    (answer,) = answers(request_line + b"\r\nHost: x\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 " + status)
    assert content in answer


def test_nonsense_ends_its_connection_and_nothing_else() -> None:
    """The next one is answered."""
    *nonsense, good = answers(
        b"", b"\x16\x03\x01" * 10, b"G" * 40_000, b"GET /hello HTTP/1.1\r\n\r\n"
    )

    assert nonsense == [b"", b"", b""]
    assert good.endswith(b"hello\n")


def test_a_port_in_use_is_said() -> None:
    """With what to do about it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"127.0.0.1:{port}.*--metrics"):
            asyncio.run(HttpPort({}).start("127.0.0.1", port))
