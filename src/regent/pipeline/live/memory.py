"""What must be remembered of a cluster to judge its next record.

All of it is plain values that can be written to Spark's state and read back. Topics are kept one by
one, because a batch is about few of them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from msgspec import Struct, field

from regent.model.states import PartitionState
from regent.pipeline.live.rows import KnownAssignment, KnownLeadership, Source
from regent.pipeline.schemas import NO_LEADER


class Spell(Struct):
    """A time in which a partition cannot be used, from the record that began it."""

    controller_epoch: int
    sequence: int
    at_ms: int
    record: Source
    #: Who led before; None when nobody is known.
    leader_before: int | None
    #: Whether somebody was told.
    is_raised: bool = False


class PartitionMemory(Struct):
    """A partition as the journal has it so far; None is what nobody has said yet."""

    #: The epoch of the last controller that found it.
    found_epoch: int = 0
    topic_id: str | None = None
    state: PartitionState | None = None
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    last_leader: int | None = None
    #: The last leadership of this life of the partition.
    leadership: KnownLeadership | None = None
    assignment: KnownAssignment | None = None
    leaderless: Spell | None = None
    under_min_isr: Spell | None = None

    @property
    def is_leaderless(self) -> bool:
        """As `conditions.is_leaderless` has it."""
        unled = self.state in {PartitionState.NEW, PartitionState.OFFLINE}
        return self.state is not None and (self.leader == NO_LEADER or unled)

    def is_under(self, min_isr: int) -> bool:
        """As `conditions.is_under_min_isr` has it."""
        is_led = self.state is not None and not self.is_leaderless
        return is_led and self.isr is not None and len(self.isr) < min_isr


Partitions = dict[int, PartitionMemory]


class Heard(Struct, frozen=True):
    """The last record that a controller was heard to say."""

    controller_epoch: int
    sequence: int


class ClusterMemory(Struct):
    """A cluster as its journal has it so far, its topics apart."""

    #: The highest controller epoch; what older controllers still say changes nothing.
    controller_epoch: int = 0
    #: When the controller of that epoch was elected, if that was heard.
    elected_ms: int | None = None
    #: Whether it has found all there is.
    is_started: bool = False
    heard: dict[int, Heard] = field(default_factory=dict)
    #: The highest epoch of each controller in which records of it are missing.
    doubtful: dict[int, int] = field(default_factory=dict)
    #: When somebody is to be told that a partition has no leader: by topic and partition.
    deadlines: dict[str, dict[int, int]] = field(default_factory=dict)

    def next_deadline_ms(self) -> int | None:
        """The first of the deadlines."""
        return min((at for of in self.deadlines.values() for at in of.values()), default=None)

    def forget_deadline(self, topic: str, partition: int) -> None:
        """Nobody needs to be told any more."""
        of_topic = self.deadlines.get(topic, {})
        of_topic.pop(partition, None)
        if not of_topic:
            self.deadlines.pop(topic, None)


class Shelf:
    """The topics of a cluster: fetched when needed, and put back once if they were touched."""

    def __init__(
        self, fetch: Callable[[str], str | None], names: Callable[[], Iterable[str]]
    ) -> None:
        self._fetch = fetch
        self._names = names
        self._topics: dict[str, Partitions] = {}

    def partitions(self, topic: str) -> Partitions:
        """What is known of a topic's partitions; changing it changes the memory."""
        if topic not in self._topics:
            text = self._fetch(topic)
            self._topics[topic] = {} if text is None else _PARTITIONS.decode(text)
        return self._topics[topic]

    def all(self) -> list[str]:
        """The names of all topics."""
        return sorted({*self._names(), *self._topics})

    def touched(self) -> Iterator[tuple[str, str | None]]:
        """What is to be put back: the text of each topic, None for one that is gone."""
        for topic, partitions in self._topics.items():
            yield topic, msgspec.json.encode(partitions).decode() if partitions else None


_PARTITIONS: Final = msgspec.json.Decoder(Partitions)
_CLUSTER: Final = msgspec.json.Decoder(ClusterMemory)


def cluster_from(text: str | None) -> ClusterMemory:
    """What was remembered; nothing at first."""
    return ClusterMemory() if text is None else _CLUSTER.decode(text)


def cluster_text(memory: ClusterMemory) -> str:
    """What is to be remembered."""
    return msgspec.json.encode(memory).decode()
