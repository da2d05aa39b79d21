"""TLS to ZooKeeper: a session over an encrypted connection, and whom we do not trust."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.errors import ZooKeeperUnreachable
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper, free_port
from regent.zookeeper.embedded_java import find_java
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions, ZooKeeperTls
from regent.zookeeper.session_ending import SessionEnding, end_session
from regent.zookeeper.session_state import SessionState
from regent.zookeeper.store import Create, Data, GetData, GetMany, Many
from tests.support.tcp_proxy import TcpProxy


def keytool(*arguments: str) -> None:
    """Java's tool for keys; where Java is, it is."""
    command = [str(find_java().resolve().with_name("keytool")), *arguments, "-storepass", "secret"]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own command


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the key of a server that vouches for itself, and its certificate."""
    folder = tmp_path_factory.mktemp("keys")
    store = ("-keystore", str(folder / "server.p12"), "-storetype", "PKCS12", "-alias", "server")
    keytool(
        *("-genkeypair", *store, "-keyalg", "EC", "-dname", "CN=localhost", "-validity", "3650"),
        *("-ext", "san=dns:localhost"),
    )
    keytool("-exportcert", "-rfc", *store, "-file", str(folder / "server.pem"))
    return folder


@pytest.fixture(scope="module")
def secure_port(keys: Path) -> Iterator[int]:
    port = free_port()
    settings = EmbeddedSettings(
        syncs_to_disk=False,
        extra={
            "secureClientPort": str(port),
            "secureClientPortAddress": "127.0.0.1",
            "ssl.keyStore.location": str(keys / "server.p12"),
            "ssl.keyStore.password": "secret",
            "ssl.clientAuth": "none",
        },
        properties={
            "zookeeper.serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory"
        },
    )
    with EmbeddedZooKeeper(settings=settings):
        # Java's first handshake takes seconds on a busy machine; it is none of the tests'.
        warm = ZooKeeperOptions(
            connect=f"localhost:{port}", tls=ZooKeeperTls(ca_file=keys / "server.pem")
        )
        KazooSession.open(warm).close()
        yield port


def test_a_session_over_tls_does_what_others_do(secure_port: int, keys: Path) -> None:
    """Large answers come in many records, which a plain socket does not have."""
    options = ZooKeeperOptions(
        connect=f"localhost:{secure_port}", tls=ZooKeeperTls(ca_file=keys / "server.pem")
    )
    session = KazooSession.open(options)
    session.call([Create("/a", b"x" * 100_000)])

    (one, many) = session.call([GetData("/a"), GetMany(("/a",) * 50)])

    assert isinstance(one, Data)
    assert many == Many((one,) * 50)
    session.abandon()
    assert end_session(options, session.session_id, session.password) is SessionEnding.ENDED


def test_a_server_that_never_shows_a_certificate_is_asked_again(
    secure_port: int, keys: Path
) -> None:
    """Before there is TLS there is no session whose end could wake anybody."""
    with TcpProxy(("127.0.0.1", secure_port)) as proxy:
        proxy.ignore_next()
        options = ZooKeeperOptions(
            connect=proxy.address.replace("127.0.0.1", "localhost"),
            tls=ZooKeeperTls(ca_file=keys / "server.pem"),
            session_timeout_ms=12_000,
            connect_timeout_ms=11_000,
        )

        session = KazooSession.open(options)

        assert session.state is SessionState.CONNECTED
        session.close()


def test_a_server_that_nobody_vouches_for_is_not_spoken_to(secure_port: int) -> None:
    """And the message says that it was the certificate."""
    options = ZooKeeperOptions(
        connect=f"localhost:{secure_port}", tls=ZooKeeperTls(), connect_timeout_ms=3000
    )

    with pytest.raises(ZooKeeperUnreachable, match=r"(?i)certificate verify failed"):
        KazooSession.open(options)


def test_a_certificate_for_another_name_is_not_enough(secure_port: int, keys: Path) -> None:
    """Whoever has some certificate of ours is not yet our ZooKeeper."""
    tls = ZooKeeperTls(ca_file=keys / "server.pem")
    options = ZooKeeperOptions(connect=f"127.0.0.1:{secure_port}", tls=tls, connect_timeout_ms=3000)

    with pytest.raises(ZooKeeperUnreachable, match=r"(?i)certificate verify failed"):
        KazooSession.open(options)
