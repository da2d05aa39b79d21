"""The controller's settings under Kafka's own names, from a file of properties.

Whoever has a broker's `server.properties` can point at it: what concerns a controller is taken,
and the rest is named once in the log.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from regent.core.config import ControllerConfig
from regent.errors import BadInput
from regent.model.protocol_version import ProtocolVersion


class NodeSettings(Struct, frozen=True, kw_only=True):
    """All that a file of properties can say."""

    controller: ControllerConfig = ControllerConfig()
    #: `zookeeper.session.timeout.ms`; None: what the command line or the default says.
    session_timeout_ms: int | None = None
    #: `inter.broker.listener.name`
    listener: str | None = None
    #: `controller.socket.timeout.ms`
    socket_timeout_ms: int = 30_000
    #: Names that mean nothing to a controller.
    unused: tuple[str, ...] = ()


class Property(NamedTuple):
    """Where a property goes, and how its text is read."""

    field: str
    read: Callable[[str], Any]


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.lower() == "true"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("expected a whole number above 0")
    return int(text)


def _seconds(text: str) -> int:
    return _positive(text) * 1000


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("expected a whole number")
    return int(text)


# fmt: off
CONTROLLER_PROPERTIES: Final[Mapping[str, Property]] = {
    "unclean.leader.election.enable":          Property("unclean_election_default", _flag),
    "delete.topic.enable":                     Property("deletes_topics", _flag),
    "auto.leader.rebalance.enable":            Property("balances_leaders", _flag),
    "leader.imbalance.check.interval.seconds": Property("balance_interval_ms", _seconds),
    "leader.imbalance.per.broker.percentage":  Property("imbalance_percent", _count),
    "num.partitions":                          Property("partition_count_default", _positive),
    "default.replication.factor":              Property("replication_factor_default", _positive),
    "inter.broker.protocol.version":           Property("protocol", ProtocolVersion.from_text),
}

NODE_PROPERTIES: Final[Mapping[str, Property]] = {
    "zookeeper.session.timeout.ms":            Property("session_timeout_ms", _positive),
    "inter.broker.listener.name":              Property("listener", str),
    "controller.socket.timeout.ms":            Property("socket_timeout_ms", _positive),
}
# fmt: on


def read_properties(path: Path) -> NodeSettings:
    """The settings in a file; a value that cannot be used is named with its line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the settings in {path}: {error}") from error
    controller: dict[str, Any] = {}
    node: dict[str, Any] = {}
    unused: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        name, equals, value = stripped.partition("=")
        name, value = name.strip(), value.strip()
        if not equals:
            raise BadInput(f"{path}, line {number}: expected name=value, found {stripped!r}")
        for table, found in ((CONTROLLER_PROPERTIES, controller), (NODE_PROPERTIES, node)):
            if name in table:
                try:
                    found[table[name].field] = table[name].read(value)
                except ValueError as error:
                    raise BadInput(f"{path}, line {number}: {name}={value}: {error}") from error
                break
        else:
            unused.append(name)
    return NodeSettings(
        controller=replace(ControllerConfig(), **controller), **node, unused=tuple(unused)
    )
