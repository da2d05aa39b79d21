"""The desk: all that the node's listener sees of its controller.

Requests become events and wait their turn; readings happen between two events. Whoever stands
before the desk is on the event loop; the controller works in a thread of its own behind it.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from regent.core.events import Event
from regent.core.state import ControllerState
from regent.model.brokers import Broker
from regent.model.ids import BrokerId
from regent.runtime.producer_ids import ProducerIds
from regent.zookeeper.exchange import Exchange

T = TypeVar("T")


class Desk(Protocol):
    """Where callers of the Kafka protocol bring what they want of the controller."""

    @property
    def node_id(self) -> BrokerId:
        """Who is asked here."""

    @property
    def advertised(self) -> Broker | None:
        """The node as clients can reach it; None for one that is registered as a broker."""

    @property
    def cluster_id(self) -> str | None:
        """What `/cluster/id` says, if anybody has written it."""

    @property
    def producer_ids(self) -> ProducerIds:
        """What this node has for producers that ask it."""

    async def ask(self, to_event: Callable[[int, int], Event]) -> Any:
        """Make an event of the time and a request id, queue it, and wait for its answer."""

    async def look(self, reading: Callable[[ControllerState], T]) -> T:
        """Read the controller's state while no event is being handled."""

    async def run(self, exchange: Exchange[T]) -> T:
        """Carry out an exchange with ZooKeeper beside the controller's own."""
