"""What the suite asks of every library: to write, to read, to share a group, to administer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final, Self

#: Long enough for one that waits in vain to be no accident; it is a matter of moments otherwise.
PATIENCE_S: Final = 90.0
#: So long a member looks for records before others get their turn.
LOOK_S: Final = 0.2
#: How often members show that they live, and hear that others have come.
HEARTBEAT_MS: Final = 200
#: A member that has left is waited for if its coordinator dies before it has told that to anybody.
SESSION_MS: Final = 10_000


class ClientMember(ABC):
    """A consumer in a group. Whoever leaves in order has committed what it has read."""

    @abstractmethod
    def poll(self) -> list[tuple[int, bytes]]:
        """What comes within a moment: partitions and values."""

    @abstractmethod
    def assigned(self) -> set[int]:
        """The partitions of its topic that are its own now."""

    @abstractmethod
    def commit(self) -> None:
        """Commit what it has read; at the latest when it is closed, where it cannot be told to."""

    @abstractmethod
    def close(self) -> None:
        """Leave the group."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()


class ClientAdmin(ABC):
    """What an administrator does through a library."""

    @abstractmethod
    def create_topic(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """With three replicas."""

    @abstractmethod
    def grow_topic(self, name: str, partitions: int) -> None:
        """To so many in all."""

    @abstractmethod
    def config(self, topic: str, name: str) -> str:
        """The value that holds for a topic."""

    @abstractmethod
    def delete_topic(self, name: str) -> None:
        """For good."""

    @abstractmethod
    def committed(self, group: str) -> dict[int, int]:
        """The next offset of each partition, of a group that reads one topic."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""


class ClientLibrary(ABC):
    """A library with the address of a cluster; each call is a client of its own."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    @abstractmethod
    def topics(self) -> dict[str, int]:
        """Their names, and how many partitions each has."""

    @abstractmethod
    def produce(
        self,
        topic: str,
        values: Iterable[bytes],
        *,
        partition: int = 0,
        compression: str = "none",
        is_idempotent: bool = False,
    ) -> None:
        """Write them; all replicas in sync have them when this returns."""

    @abstractmethod
    def read(self, topic: str, count: int) -> list[bytes]:
        """The first records of partition 0, without a group."""

    @abstractmethod
    def join(self, group: str, topic: str) -> ClientMember:
        """A member that begins where the group has committed, or else at the beginning."""

    def close(self) -> None:  # noqa: B027 - most have nothing
        """Let go of what it keeps between calls."""


class AdministeringLibrary(ClientLibrary):
    """One that has requests for administrators, too."""

    @abstractmethod
    def admin(self) -> ClientAdmin:
        """A client for them."""
