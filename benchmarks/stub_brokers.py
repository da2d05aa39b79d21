"""Brokers that read what they are told and say yes, in a process of their own.

`python -m benchmarks.stub_brokers HOST:PORT/CHROOT FIRST LAST` registers the brokers and says
`ready`; they are there until its standard input ends. They look at nothing but the header: how
fast a broker is, is not what is measured.
"""

import asyncio
import struct
import sys
from typing import Final

from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlAnswer, LeaderAndIsr
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from regent.wire.apis import ApiKey
from regent.wire.exchange import Call, encode_answer, encode_api_versions_answer
from regent.wire.frames import LENGTH_BYTES
from regent.wire.headers import RequestHeader
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.registration import register_broker
from regent.zookeeper.writes import ensure_paths

HOST: Final = "127.0.0.1"
READ_BYTES: Final = 1 << 20
#: API key, version, correlation id.
_HEADER: Final = struct.Struct(">hhi")
#: Whatever the request said, this is all that its answer needs to know of it.
_SAID: Final = LeaderAndIsr(BrokerId(0), ControllerEpoch(0), BrokerEpoch(0), ())


class YesSayer(asyncio.BufferedProtocol):
    """One connection: skips each request but for its header, and answers it."""

    def __init__(self) -> None:
        self._buffer = bytearray(READ_BYTES)
        self._begun = bytearray()
        #: Bytes of the message under way that are still to come and of no interest.
        self._to_skip = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport), "it is a stream"
        self._transport = transport

    def get_buffer(self, _sizehint: int) -> bytearray:
        """Always the same one."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Find the headers in what came, and let the rest pass."""
        at = 0
        while at < nbytes:
            if self._to_skip:
                skipped = min(self._to_skip, nbytes - at)
                self._to_skip -= skipped
                at += skipped
                if not self._to_skip:
                    self._answer()
                continue
            wanted = LENGTH_BYTES + _HEADER.size - len(self._begun)
            piece = self._buffer[at : min(nbytes, at + wanted)]
            self._begun += piece
            at += len(piece)
            if len(piece) == wanted:
                length = int.from_bytes(self._begun[:LENGTH_BYTES])
                self._to_skip = length - _HEADER.size

    def _answer(self) -> None:
        api_key, version, correlation_id = _HEADER.unpack_from(self._begun, LENGTH_BYTES)
        self._begun.clear()
        header = RequestHeader(ApiKey(api_key), version, correlation_id, None)
        if api_key == ApiKey.API_VERSIONS:
            self._transport.write(encode_api_versions_answer(header))
        else:
            self._transport.write(encode_answer(Call(header, _SAID), ControlAnswer()))


async def serve(connect: str, broker_ids: range) -> None:
    """Register, say so, and stay until nobody needs them any more."""
    loop = asyncio.get_running_loop()
    session = KazooSession.open(ZooKeeperOptions(connect=connect, session_timeout_ms=30_000))
    run(session, ensure_paths())
    servers = []
    for broker_id in broker_ids:
        server = await loop.create_server(YesSayer, HOST, 0)
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        broker = Broker(BrokerId(broker_id), (Endpoint(HOST, port),))
        registration = register_broker(
            broker, session_id=session.session_id, previous_session_id=None, now_ms=0
        )
        run(session, registration)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    session.close()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], range(int(sys.argv[2]), int(sys.argv[3]) + 1)))
