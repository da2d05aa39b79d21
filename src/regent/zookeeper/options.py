"""How to reach a ZooKeeper: addresses, chroot, times, credentials."""

import ssl
from pathlib import Path
from typing import Final

from msgspec import Struct

from regent.errors import BadInput

DEFAULT_PORT: Final = 2181
#: What a server accepts in one request unless its `jute.maxbuffer` says otherwise.
JUTE_MAX_BUFFER_BYTES: Final = 0xFFFFF


class ZooKeeperTls(Struct, frozen=True):
    """The files that TLS needs. Without a certificate of our own, only the server shows one."""

    #: Who is trusted, as PEM; None: whom the system trusts.
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    verifies_hostname: bool = True

    def context(self) -> ssl.SSLContext:
        """What a socket is wrapped with; a file that cannot be used is named."""
        for path in (self.ca_file, self.certificate_file, self.key_file):
            if path is not None and not path.is_file():
                raise BadInput(f"{path} is not there: TLS to ZooKeeper needs it")
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            context.check_hostname = self.verifies_hostname
            if self.certificate_file is not None:
                context.load_cert_chain(self.certificate_file, self.key_file)
        except ssl.SSLError as error:
            raise BadInput(f"the TLS files for ZooKeeper cannot be used: {error}") from error
        return context


class ZooKeeperOptions(Struct, frozen=True, kw_only=True):
    """Where ZooKeeper is and how it is spoken to."""

    #: As in Kafka's `zookeeper.connect`: `host:port,host:port/chroot`.
    connect: str
    #: What is asked for; the server has the last word.
    session_timeout_ms: int = 18_000
    #: How long the opening of a session may take before its caller is told.
    connect_timeout_ms: int = 10_000
    #: `user:password` of the scheme "digest".
    digest: str | None = None
    tls: ZooKeeperTls | None = None
    #: Whether a chroot that is not there is made, as Kafka's brokers do it, or refused.
    creates_chroot: bool = False
    #: Must not be more than the server's `jute.maxbuffer`.
    request_bytes_max: int = JUTE_MAX_BUFFER_BYTES

    def __post_init__(self) -> None:
        self.addresses()  # What cannot be read is refused here and not at the first connection.
        if self.session_timeout_ms <= 0 or self.connect_timeout_ms <= 0:
            raise BadInput("the timeouts of ZooKeeper must be positive")
        if self.digest is not None and ":" not in self.digest:
            raise BadInput("the digest credentials of ZooKeeper are written user:password")

    @property
    def hosts(self) -> str:
        """The addresses without the chroot, as a person wrote them."""
        return self.connect.partition("/")[0]

    @property
    def chroot(self) -> str:
        """Below which znode everything lies; empty for the root."""
        _, slash, rest = self.connect.partition("/")
        return (slash + rest).rstrip("/")

    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Every server's host and port."""
        return tuple(_to_address(each.strip(), self.connect) for each in self.hosts.split(","))


def _to_address(written: str, connect: str) -> tuple[str, int]:
    host, colon, port = written.rpartition(":")
    if not colon or written.endswith("]"):
        host, port = written, str(DEFAULT_PORT)
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadInput(
            f"{connect!r} is not an address of ZooKeeper: expected host:port,host:port/chroot"
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
