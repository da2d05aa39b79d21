"""Which of Apache's brokers, and what differs between them that a test has to know."""

from typing import TypeAlias

from msgspec import Struct

Release: TypeAlias = tuple[int, ...]


def release_of(version: str) -> Release:
    """`2.8.2` as numbers."""
    return tuple(map(int, version.split(".")))


class ApacheMode(Struct, frozen=True):
    """Which brokers, and what they speak among themselves; None: what their version has."""

    version: str = "3.9.1"
    ibp: str | None = None
    #: Given to brokers in turn.
    racks: tuple[str, ...] = ()

    @property
    def protocol(self) -> str:
        """`inter.broker.protocol.version`, as it is in force."""
        return self.ibp or ".".join(self.version.split(".")[:2])

    @property
    def release(self) -> Release:
        """The version as numbers, to be compared."""
        return release_of(self.version)

    @property
    def finds_any_controller(self) -> bool:
        """Whether a broker that goes finds a controller that is not registered as a broker.

        2.8 looks it up in `/brokers/ids` and goes without; 3.9 asks its metadata.
        """
        return not self.version.startswith("2.")

    @property
    def forgets_cancelled_replicas(self) -> bool:
        """Whether a replica goes whose move is cancelled: not in 2.8, whoever is the controller.

        It takes the order to stop for an old one: no leader epoch lies between (KAFKA-13972).
        """
        return not self.version.startswith("2.")

    def __str__(self) -> str:
        return f"{self.version}-speaking-{self.protocol}"
