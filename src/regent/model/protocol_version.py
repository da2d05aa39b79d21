"""Kafka's inter-broker protocol versions, and what each of them switched on.

Facts from Kafka 3.9's `MetadataVersion.java` and `ControllerChannelManager.scala`.
"""

import re
from typing import Final

from msgspec import Struct

_FORM: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:-IV(\d+))?\Z")
#: A version named without its internal number means the last one of its line.
_LAST_INTERNAL: Final = 1_000


class ProtocolVersion(Struct, frozen=True, order=True):
    """A point in the history of the protocol; later ones compare greater."""

    major: int
    minor: int
    patch: int
    internal: int

    @classmethod
    def from_text(cls, text: str) -> "ProtocolVersion":
        """Read `2.6-IV0`, `0.10.2-IV0` or plain `3.9`."""
        matched = _FORM.match(text)
        if matched is None:
            raise ValueError(f"{text!r} is not a protocol version; try one like 2.8 or 2.7-IV2")
        major, minor, patch, internal = matched.groups()
        return cls(
            int(major), int(minor), int(patch or 0), int(internal) if internal else _LAST_INTERNAL
        )


LATEST: Final = ProtocolVersion.from_text("3.9")

# fmt: off
#: Since which protocol version the controller does what.
FEATURES_SINCE: Final = ProtocolVersion.from_text("2.7-IV0")      # the /feature znode is enabled
ALTER_ISR_SINCE: Final = ProtocolVersion.from_text("2.7-IV2")     # leaders ask for ISR changes
TOPIC_IDS_SINCE: Final = ProtocolVersion.from_text("2.8-IV0")     # every topic has an id
RECOVERY_SINCE: Final = ProtocolVersion.from_text("3.2-IV0")      # unclean leaders are marked

#: Request versions by protocol, newest first: since, LeaderAndIsr, UpdateMetadata, StopReplica.
REQUEST_VERSIONS: Final = tuple(
    (ProtocolVersion.from_text(since), leader_and_isr, update_metadata, stop_replica)
    for since, leader_and_isr, update_metadata, stop_replica in (
        ("3.4-IV0",    7, 8, 4),
        ("3.2-IV0",    6, 7, 3),
        ("2.8-IV1",    5, 7, 3),
        ("2.6-IV0",    4, 6, 3),
        ("2.4-IV1",    4, 6, 2),
        ("2.4-IV0",    3, 5, 1),
        ("2.2-IV0",    2, 5, 1),
        ("1.0-IV0",    1, 4, 0),
        ("0.10.2-IV0", 0, 3, 0),
        ("0.10.0-IV1", 0, 2, 0),
        ("0.9.0",      0, 1, 0),
        ("0.8.0",      0, 0, 0),
    )
)
# fmt: on


class RequestVersions(Struct, frozen=True):
    """The versions of the three control requests that a protocol version speaks."""

    leader_and_isr: int
    update_metadata: int
    stop_replica: int


def request_versions(protocol: ProtocolVersion) -> RequestVersions:
    """What a controller sends to brokers of this protocol version."""
    for since, *versions in REQUEST_VERSIONS:
        if protocol >= since:
            return RequestVersions(*versions)
    raise ValueError(f"no broker speaks protocol {protocol}")
