"""A controller's sessions with a real ZooKeeper: how one ends, and how the next one begins."""

import socket
from pathlib import Path

import pytest
from msgspec.structs import replace

from regent.model.admin_requests import DeleteTopics
from regent.model.error_codes import ErrorCode
from regent.wire.exchange import decode_answer, encode_request
from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_ending import end_session
from tests.runtime.listener.served_node import read_message, to_request
from tests.support.controllers import Controllers, log_lines, wait_for_log
from tests.support.leading import address_of
from tests.support.obedient_broker import ObedientBrokers
from tests.support.real_zookeeper import SETTINGS
from tests.support.tcp_proxy import TcpProxy
from tests.support.topics import write_topic
from tests.support.waiting import eventually

WAIT_S = 60
#: Nobody gives it up by himself within a test.
LONG_SESSION = ("--session-timeout-ms", "60000")


@pytest.mark.behaviour("fov-009")
@pytest.mark.fault("F16")
def test_a_session_that_ends_under_a_decision_is_resigned_from_and_the_next_one_begins(
    controllers: Controllers,
) -> None:
    """The end waits for the decision, and the decision for answers that will not come (KAFKA-6879).

    Whoever asked for it is told to ask the next one in office.
    """
    address, _, chroot = controllers.zookeeper.connect.partition("/")
    host, _, port = address.partition(":")
    with (
        ObedientBrokers(controllers.zookeeper, range(1, 2)) as brokers,
        TcpProxy((host, int(port))) as way,
    ):
        write_topic(controllers.session, "orders", {0: (1,)})
        process = controllers.start(101, *LONG_SESSION, connect=f"{way.address}/{chroot}")
        epoch = controllers.elected().controller_epoch
        eventually(lambda: brokers.by_id[1].partitions or None, "the topic's first leader")
        first = process.credentials()
        call = to_request(DeleteTopics(("orders",)), timeout_ms=WAIT_S * 1000)
        own_host, _, own_port = address_of(process).partition(":")
        with socket.create_connection((own_host, int(own_port)), timeout=WAIT_S) as link:
            way.hold_replies()
            before = way.heard_bytes
            link.sendall(encode_request(call))
            eventually(lambda: way.heard_bytes > before, "what the decision asks of ZooKeeper")
            end_session(controllers.zookeeper, first.session_id, first.password, tries=10)
            way.cut()
            message = read_message(link)

        assert message is not None
        (result,) = decode_answer(call, message).results
        assert result.error is ErrorCode.NOT_CONTROLLER
        assert process.credentials().session_id != first.session_id
        assert controllers.elected(after=epoch).node_id == 101


#: With this, a server does not know the only scheme that we have credentials for.
NO_DIGEST = {"zookeeper.DigestAuthenticationProvider.enabled": "false"}


@pytest.mark.behaviour("fov-012")
def test_a_login_that_is_refused_for_a_while_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session goes with its connection; what comes then is another session, when it can be."""
    monkeypatch.setenv("REGENT_ZOOKEEPER_DIGEST", "me:secret")
    znodes = tmp_path / "zookeeper"
    server = EmbeddedZooKeeper(znodes, settings=SETTINGS)
    server.start()
    port = server.port
    options = ZooKeeperOptions(
        connect=f"{server.address}/kafka", creates_chroot=True, session_timeout_ms=60_000
    )
    try:
        with Controllers(options, tmp_path) as controllers:
            process = controllers.start(101)
            epoch = controllers.elected().controller_epoch
            server.close()
            refusing = replace(SETTINGS, properties=NO_DIGEST)
            with EmbeddedZooKeeper(znodes, port=port, settings=refusing):
                refused = "refuses the credentials that it was given; trying again"
                wait_for_log(process, refused)
            server = EmbeddedZooKeeper(znodes, port=port, settings=SETTINGS)
            server.start()

            assert controllers.elected(after=epoch).node_id == 101
            assert log_lines(process, "Traceback") == []
    finally:
        server.close()
