"""What the LeaderAndIsr of each broker will say, gathered from partition to partition.

An entry is the same for all replicas of its partition, so it is made once for the batch, and a
broker's page only notes its place. Nothing here decides who is told.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from regent.core.effects import Send
from regent.core.state import ControllerState, Partition
from regent.model.control_requests import BrokerEntries, LeaderAndIsr, LeaderAndIsrPartition
from regent.model.ids import BrokerEpoch, BrokerId
from regent.model.leadership import Leadership


class _Page(NamedTuple):
    """For one broker: which entries of the batch, and who leads them."""

    places: list[int]
    leaders: dict[BrokerId, None]


class _Circle(NamedTuple):
    """For brokers that are told together: what notes a place on each one's page, and who leads."""

    notes: tuple[Callable[[int], None], ...]
    leaders: dict[BrokerId, None]


class BrokerPages:
    """The entries of a batch, and a page for each broker that can be told."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state
        self._entries: list[LeaderAndIsrPartition] = []
        #: The topic of each entry, because the entries themselves lie further apart in memory.
        self._topics: list[str] = []
        self._pages = {broker_id: _Page([], {}) for broker_id in state.brokers}
        # Few circles of brokers are shared by many partitions: each is looked up once.
        self._circles: dict[tuple[BrokerId, ...], _Circle] = {}

    def write(
        self,
        told: tuple[BrokerId, ...],
        partition: Partition,
        leadership: Leadership,
        *,
        is_new: bool,
    ) -> None:
        """Put a partition's entry on the page of each replica that can be told."""
        circle = self._circles.get(told)
        if circle is None:
            circle = self._circles[told] = self._to_circle(told)
        entries, topic = self._entries, partition.topic
        place = len(entries)
        entries.append(
            LeaderAndIsrPartition(topic, partition.index, leadership, partition.assignment, is_new)
        )
        self._topics.append(topic)
        notes, leaders = circle
        for note in notes:
            note(place)
        leaders[leadership.leader] = None

    def _to_circle(self, told: tuple[BrokerId, ...]) -> _Circle:
        pages = [self._pages[broker_id] for broker_id in told if broker_id in self._pages]
        return _Circle(tuple(page.places.append for page in pages), {})

    def to_sends(self, addressees: Iterable[tuple[BrokerId, BrokerEpoch]]) -> Iterator[Send]:
        """A request for each of these brokers that is told anything."""
        state, batch = self._state, tuple(self._entries)
        topic_of = self._topics.__getitem__
        topic_ids = {pair[0]: pair for pair in state.topic_ids_of(self._topics)}
        self._gather_leaders()
        for broker_id, broker_epoch in addressees:
            page = self._pages[broker_id]
            if page.places:
                topics = dict.fromkeys(map(topic_of, page.places))
                request = LeaderAndIsr(
                    controller_id=state.controller_id,
                    controller_epoch=state.controller_epoch,
                    broker_epoch=broker_epoch,
                    partitions=BrokerEntries(batch, page.places),
                    live_leaders=tuple(sorted(b for b in page.leaders if b in state.brokers)),
                    topic_ids=tuple(topic_ids[topic] for topic in topics if topic in topic_ids),
                )
                yield Send(broker_id, request)

    def _gather_leaders(self) -> None:
        for told, circle in self._circles.items():
            for broker_id in told:
                if broker_id in self._pages:
                    self._pages[broker_id].leaders.update(circle.leaders)
