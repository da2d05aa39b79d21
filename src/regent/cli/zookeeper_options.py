"""The options that every command which speaks to a ZooKeeper has, and a session made of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from regent.core.asks import Ask
from regent.zookeeper.exchange import Correspondent, run
from regent.zookeeper.options import ZooKeeperOptions, ZooKeeperTls
from regent.zookeeper.performer import perform

#: Where the credentials are looked for: a command line can be read by every user of a machine.
DIGEST_VARIABLE: Final = "REGENT_ZOOKEEPER_DIGEST"

# fmt: off
ZooKeeperOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT[/CHROOT]",
        help=f"The cluster's ZooKeeper. Credentials, as user:password, from {DIGEST_VARIABLE}.",
    ),
]
CaOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--zookeeper-ca", metavar="FILE", help="TLS to ZooKeeper: whom to trust (PEM)."),
]
CertificateOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--zookeeper-cert", metavar="FILE", help="TLS to ZooKeeper: who we are (PEM)."),
]
KeyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--zookeeper-key", metavar="FILE", help="The key of that certificate (PEM)."),
]
# fmt: on


def to_zookeeper_options(
    connect: str,
    *,
    ca_file: Path | None = None,
    certificate_file: Path | None = None,
    key_file: Path | None = None,
    **others: Any,
) -> ZooKeeperOptions:
    """What a person typed, as options."""
    wants_tls = any(file is not None for file in (ca_file, certificate_file, key_file))
    return ZooKeeperOptions(
        connect=connect,
        digest=os.environ.get(DIGEST_VARIABLE),
        tls=ZooKeeperTls(ca_file, certificate_file, key_file) if wants_tls else None,
        **others,
    )


@contextmanager
def onlooking(options: ZooKeeperOptions) -> Iterator[Correspondent]:
    """A session for the length of a command that only looks, or does one thing."""
    from regent.zookeeper.kazoo_session import KazooSession  # noqa: PLC0415 - kazoo is slow to load

    session = KazooSession.open(options)
    try:
        yield session
    finally:
        session.close()


def answer(session: Correspondent, ask: Ask[Any]) -> Any:
    """What ZooKeeper says to one ask of the core."""
    return run(session, perform(ask))
