"""Brokers that Regent has not been tried with are refused before anything is written."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import pytest
from msgspec.structs import replace

from regent.cli.main import EXIT_USAGE
from regent.errors import BadInput
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.model.protocol_version import ProtocolVersion, RequestVersions, request_versions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.tried_brokers import complain_of, refuse_untried
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import decode_request, encode_api_versions_answer
from regent.wire.frames import LENGTH_BYTES, frame_length
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.registration import register_broker
from regent.zookeeper.writes import ensure_paths
from tests.support.controllers import Controllers, log_lines
from tests.support.whole_tree import whole_tree

WAIT_S = 60
HOST = "127.0.0.1"
LATEST = RequestVersions(7, 8, 4)
NONE = RequestVersions(-1, -1, -1)


@pytest.mark.parametrize(
    ("spoken", "protocol", "complaint"),
    [
        # LeaderAndIsr, UpdateMetadata, StopReplica
        (RequestVersions(7, 8, 4), "3.9", None),
        (RequestVersions(7, 8, 4), "2.4", None),
        (RequestVersions(6, 7, 3), "3.3", None),
        (RequestVersions(5, 7, 3), "2.8", None),
        (RequestVersions(4, 6, 3), "2.7", None),
        (RequestVersions(4, 6, 2), "2.4", None),
        (RequestVersions(2, 5, 1), "2.2", "has not been tried"),
        (RequestVersions(8, 9, 5), "3.9", "has not been tried"),
        (NONE, "3.9", "no LeaderAndIsr, no UpdateMetadata, no StopReplica"),
        (RequestVersions(5, 7, 3), "3.9", "older than the inter.broker.protocol.version"),
    ],
)
def test_brokers_are_known_by_the_control_requests_they_speak(
    spoken: RequestVersions, protocol: str, complaint: str | None
) -> None:
    wanted = request_versions(ProtocolVersion.from_text(protocol))

    said = complain_of(spoken, wanted)

    assert said is None if complaint is None else complaint in (said or "")


@asynccontextmanager
async def broker_speaking(versions: RequestVersions | None) -> AsyncIterator[Broker]:
    """A broker that says what it speaks; with None it answers with something else."""
    newest = {
        ApiKey.LEADER_AND_ISR: -1 if versions is None else versions.leader_and_isr,
        ApiKey.UPDATE_METADATA: -1 if versions is None else versions.update_metadata,
        ApiKey.STOP_REPLICA: -1 if versions is None else versions.stop_replica,
    }
    served = [
        replace(api, last_version=newest.get(api.key, api.last_version))
        for api in APIS.values()
        if newest.get(api.key, 0) >= 0
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = frame_length(await reader.readexactly(LENGTH_BYTES))
        call = decode_request(await reader.readexactly(length))
        garbage = (6).to_bytes(4) + b"\xff" * 6
        writer.write(
            garbage if versions is None else encode_api_versions_answer(call.header, served)
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield Broker(BrokerId(1), (Endpoint(HOST, server.sockets[0].getsockname()[1]),))


def survey(versions: RequestVersions | None) -> None:
    async def look() -> None:
        async with broker_speaking(versions) as broker:
            await refuse_untried([broker], ChannelSettings("me", LATEST))

    asyncio.run(look())


def test_a_broker_is_asked_over_its_listener() -> None:
    survey(LATEST)
    with pytest.raises(BadInput, match=r"broker 1 speaks LeaderAndIsr up to 2, .*not been tried"):
        survey(RequestVersions(2, 5, 1))
    with pytest.raises(BadInput, match=r"broker 1 speaks no LeaderAndIsr, .*nothing was changed"):
        survey(NONE)


def test_whoever_is_no_kafka_broker_is_refused() -> None:
    with pytest.raises(BadInput, match="does not speak Kafka's protocol"):
        survey(None)


def test_a_broker_that_does_not_answer_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """It may be dead, and there must be somebody to say so."""
    caplog.set_level(logging.WARNING)

    async def look() -> None:
        async with broker_speaking(LATEST) as broker:
            pass
        await refuse_untried([broker], ChannelSettings("me", LATEST))

    asyncio.run(look())

    assert "broker 1 at 127.0.0.1" in caplog.text
    assert "going on without" in caplog.text


def test_brokers_that_speak_only_over_tls_are_refused_untouched(controllers: Controllers) -> None:
    """The controller ends by itself, and ZooKeeper is as it was."""
    endpoint = Endpoint(HOST, 9093, listener="SSL", security_protocol="SSL")
    with closing(KazooSession.open(controllers.zookeeper)) as session:
        run(session, ensure_paths())
        run(
            session,
            register_broker(
                Broker(BrokerId(1), (endpoint,)),
                session_id=session.session_id,
                previous_session_id=None,
                now_ms=0,
            ),
        )
        before = whole_tree(controllers.zookeeper)

        process = controllers.start(100)

        assert process.process.wait(WAIT_S) == EXIT_USAGE
        assert whole_tree(controllers.zookeeper) == before
    (line,) = log_lines(process, "regent: ")
    assert "broker 1 listens on SSL:SSL, and Regent speaks to brokers over PLAINTEXT only" in line
