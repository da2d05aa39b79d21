"""The options that `regent controller` and `regent node` share, and what is made of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

import typer
from msgspec import Struct

from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    to_zookeeper_options,
)
from regent.errors import BadInput
from regent.model.ids import BrokerId
from regent.runtime.properties import NodeSettings
from regent.zookeeper.options import ZooKeeperOptions

if TYPE_CHECKING:
    from regent.runtime.node_options import NodeOptions

PORT_MAX: Final = 65_535
#: What stands for all addresses of a machine when one listens.
EVERY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - they are refused

T = TypeVar("T")

ListenOption: TypeAlias = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Where it listens; port 0 is any free one.")
]


# fmt: off
class MemberOptions(Struct, frozen=True, kw_only=True):
    """What a person says of any node, as it was typed."""

    zookeeper: ZooKeeperOption = None
    advertise: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="Where others reach it, if not at the host of --listen."),
    ] = None
    journal: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Required. Where every decision is written down."),
    ] = None
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve /metrics and /healthz over HTTP here."),
    ] = None
    session_timeout_ms: Annotated[
        int | None,
        typer.Option(min=1, metavar="MS", help="How long ZooKeeper waits for a silent node."),
    ] = None
    guard: Annotated[
        bool,
        typer.Option(
            "--guard", help="Run it as a child, whose place is free at once when it is killed."
        ),
    ] = False
    ca_file: CaOption = None
    certificate_file: CertificateOption = None
    key_file: KeyOption = None
# fmt: on


def to_node_options(  # noqa: PLR0913 - all but two have names
    command: str,
    member: MemberOptions,
    *,
    node_id: int | None,
    listen: str,
    settings: NodeSettings,
    takes_over: bool = False,
) -> "NodeOptions":
    """The same as a node takes it; what is missing or makes no sense is said."""
    from regent.runtime.node_options import NodeOptions  # noqa: PLC0415 - it loads the protocol

    return NodeOptions(
        node_id=BrokerId(needed(node_id, "--id N", command)),
        zookeeper=_to_zookeeper(command, member, settings),
        address=to_address(listen, "--listen"),
        advertised_host=to_advertised(listen, member.advertise),
        journal=needed(member.journal, "--journal DIR", command),
        metrics=None if member.metrics is None else to_address(member.metrics, "--metrics"),
        settings=settings,
        takes_over=takes_over,
    )


def _to_zookeeper(command: str, member: MemberOptions, settings: NodeSettings) -> ZooKeeperOptions:
    """With the timeouts that Kafka's settings name, and a chroot that is made if it is missing."""
    timeouts = {
        "session_timeout_ms": member.session_timeout_ms or settings.session_timeout_ms,
        "connect_timeout_ms": settings.connect_timeout_ms,
    }
    return to_zookeeper_options(
        needed(member.zookeeper, "--zookeeper HOST:PORT", command),
        ca_file=member.ca_file,
        certificate_file=member.certificate_file,
        key_file=member.key_file,
        creates_chroot=True,
        **{name: timeout for name, timeout in timeouts.items() if timeout is not None},
    )


def needed(value: T | None, option: str, command: str) -> T:
    """An option that has no default."""
    if value is None:
        raise BadInput(f"{option} is missing; `regent {command} --help` shows what there is")
    return value


def to_advertised(listen: str, advertise: str | None) -> str | None:
    """Kafka refuses it too: nobody can be called at an address that means all of them."""
    host, _ = to_address(listen, "--listen")
    if advertise is None and host in EVERY_ADDRESS:
        raise BadInput(
            f"--listen {listen} means all addresses of this machine; say with --advertise HOST"
            " at which of them brokers and clients reach it"
        )
    return advertise


def to_address(text: str, option: str) -> tuple[str, int]:
    """Host and port."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise BadInput(f"{option} {text}: write it like 127.0.0.1:9093; port 0 is any free one")
    return host.removeprefix("[").removesuffix("]"), int(port)
