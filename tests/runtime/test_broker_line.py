"""One connection to a broker that is not as it should be."""

import asyncio

import pytest

from regent.model.admin_requests import ControlledShutdown
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.model.protocol_version import RequestVersions
from regent.node.peer_link import PeerLink
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.broker_line import LINE_FAILURES, open_line
from regent.runtime.tried_brokers import refuse_untried
from tests.support.closing_server import close_server

PATIENCE_S = 30.0
#: More than all buffers on the way take.
MUCH = bytes(32 * 1024 * 1024)
NOWHERE = [Endpoint("a..b", 9092), Endpoint("127.0.0.1", 70_000)]


def test_who_hangs_up_does_not_wait_for_a_broker_that_reads_nothing() -> None:
    """Else one of them would keep the controller from ending."""

    async def script() -> None:
        connected: list[asyncio.StreamWriter] = []

        def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            reader._transport.pause_reading()  # type: ignore[attr-defined]
            connected.append(writer)

        server = await asyncio.start_server(ignore, "127.0.0.1", 0, limit=1024)
        endpoint = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(TimeoutError):
                async with open_line(endpoint, 0.2) as line:
                    await line.exchange([MUCH])
        for writer in connected:
            writer.transport.abort()
        await close_server(server)

    asyncio.run(script())


@pytest.mark.parametrize("endpoint", NOWHERE, ids=["no such name", "no such port"])
def test_an_address_that_cannot_be_is_a_broker_that_does_not_answer(endpoint: Endpoint) -> None:
    """Whoever registered it; the others are led."""

    async def script() -> None:
        with pytest.raises(LINE_FAILURES):
            async with open_line(endpoint, PATIENCE_S):
                pass
        settings = ChannelSettings(client_id="1", versions=RequestVersions(7, 8, 4))
        await refuse_untried([Broker(BrokerId(2), (endpoint,))], settings)
        link = PeerLink(BrokerId(2), "1")
        request = ControlledShutdown(BrokerId(1))
        answer = await link.ask(endpoint, request, api_version=3, timeout_s=PATIENCE_S)
        assert answer is None

    asyncio.run(script())
