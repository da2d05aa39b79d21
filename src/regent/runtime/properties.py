"""The controller's settings under Kafka's own names, from a file of properties.

Whoever has a broker's `server.properties` can point at it: what concerns a controller is taken,
and the rest is named once in the log.
"""

from collections.abc import Callable, Iterator, Mapping
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
    #: `zookeeper.connection.timeout.ms`; None: the default.
    connect_timeout_ms: int | None = None
    #: `inter.broker.listener.name`
    listener: str | None = None
    #: `control.plane.listener.name`
    control_listener: str | None = None
    #: `controller.socket.timeout.ms`
    socket_timeout_ms: int = 30_000
    #: Names that mean nothing to a controller.
    unused: tuple[str, ...] = ()


class Property(NamedTuple):
    """Where a property goes, and how its text is read."""

    field: str
    read: Callable[[str], Any]


def to_flag(text: str) -> bool:
    """As Kafka writes it."""
    if text.lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return text.lower() == "true"


def to_positive(text: str) -> int:
    """1 or more."""
    if not text.isdecimal() or int(text) == 0:
        raise ValueError("expected a whole number above 0")
    return int(text)


def _seconds(text: str) -> int:
    return to_positive(text) * 1000


def to_count(text: str) -> int:
    """0 or more."""
    if not text.isdecimal():
        raise ValueError("expected a whole number")
    return int(text)


# fmt: off
CONTROLLER_PROPERTIES: Final[Mapping[str, Property]] = {
    "unclean.leader.election.enable":          Property("unclean_election_default", to_flag),
    "delete.topic.enable":                     Property("deletes_topics", to_flag),
    "auto.leader.rebalance.enable":            Property("balances_leaders", to_flag),
    "leader.imbalance.check.interval.seconds": Property("balance_interval_ms", _seconds),
    "leader.imbalance.per.broker.percentage":  Property("imbalance_percent", to_count),
    "num.partitions":                          Property("partition_count_default", to_positive),
    "default.replication.factor":              Property("replication_factor_default", to_positive),
    "controller.quota.window.num":             Property("quota_samples", to_positive),
    "controller.quota.window.size.seconds":    Property("quota_sample_s", to_positive),
    "inter.broker.protocol.version":           Property("protocol", ProtocolVersion.from_text),
}

NODE_PROPERTIES: Final[Mapping[str, Property]] = {
    "zookeeper.session.timeout.ms":            Property("session_timeout_ms", to_positive),
    "zookeeper.connection.timeout.ms":         Property("connect_timeout_ms", to_positive),
    "inter.broker.listener.name":              Property("listener", str),
    "control.plane.listener.name":             Property("control_listener", str),
    "controller.socket.timeout.ms":            Property("socket_timeout_ms", to_positive),
}
# fmt: on


class PropertyLine(NamedTuple):
    """One setting as it stands in a file."""

    where: str
    name: str
    value: str

    def read_as(self, wanted: Property) -> Any:
        """The value; `BadInput` if it cannot be used."""
        try:
            return wanted.read(self.value)
        except ValueError as error:
            raise BadInput(f"{self.where}: {self.name}={self.value}: {error}") from error


def property_lines(path: Path) -> Iterator[PropertyLine]:
    """All settings in a file, in order."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the settings in {path}: {error}") from error
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        name, equals, value = stripped.partition("=")
        name, value = name.strip(), value.strip()
        if not equals:
            raise BadInput(f"{path}, line {number}: expected name=value, found {stripped!r}")
        yield PropertyLine(f"{path}, line {number}", name, value)


def read_properties(*paths: Path) -> NodeSettings:
    """The settings in files, of which the later ones win."""
    controller: dict[str, Any] = {}
    node: dict[str, Any] = {}
    unused: list[str] = []
    for line in (line for path in paths for line in property_lines(path)):
        for table, found in ((CONTROLLER_PROPERTIES, controller), (NODE_PROPERTIES, node)):
            if line.name in table:
                wanted = table[line.name]
                found[wanted.field] = line.read_as(wanted)
                break
        else:
            unused.append(line.name)
    return NodeSettings(
        controller=replace(ControllerConfig(), **controller), **node, unused=tuple(unused)
    )
