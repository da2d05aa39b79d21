"""A controller in office as a process, its brokers on real sockets, and where it listens."""

from pathlib import Path

from tests.support.controllers import ControllerProcess, Controllers
from tests.support.obedient_broker import ObedientBrokers
from tests.support.waiting import eventually


class Leading:
    """One controller, the first and only one, until a test starts more."""

    def __init__(
        self, controllers: Controllers, brokers: ObedientBrokers, *options: str, node_id: int = 100
    ) -> None:
        self.controllers = controllers
        self.brokers = brokers
        self.process = controllers.start(node_id, *options)
        controllers.elected()
        self.bootstrap = address_of(self.process)

    @property
    def connect(self) -> str:
        """Its ZooKeeper."""
        return self.controllers.zookeeper.connect

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens, for a socket."""
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)


def address_of(process: ControllerProcess) -> str:
    """Where a controller says that it listens; waits for it."""
    return eventually(lambda: _address_in(process.log), "where it listens")


def _address_in(log: Path) -> str | None:
    _, _, rest = log.read_text().partition("listens on ")
    said, end, _ = rest.partition(";")
    return said.partition(",")[0] if end else None
