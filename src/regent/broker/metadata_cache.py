"""What a broker believes about the cluster, all of it from UpdateMetadata."""

from regent.model.brokers import Broker
from regent.model.control_requests import PartitionMetadata, UpdateMetadata
from regent.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition


class MetadataCache:
    """Empty at the start of every life: a broker knows nobody until a controller speaks."""

    def __init__(self) -> None:
        #: Replaced whole by each update; a broker that is not in it counts as dead.
        self.live_brokers: dict[BrokerId, Broker] = {}
        #: Merged from each update, which lists only what changed.
        self.partitions: dict[TopicPartition, PartitionMetadata] = {}
        #: The same by topic, which is how clients ask.
        self.topics: dict[str, dict[int, PartitionMetadata]] = {}
        self._controller_id: BrokerId | None = None

    @property
    def controller_id(self) -> BrokerId | None:
        """The controller, if it is known and its address is: it must be among the live."""
        return self._controller_id if self._controller_id in self.live_brokers else None

    def is_alive(self, broker_id: BrokerId) -> bool:
        """Whether the last update listed that broker."""
        return broker_id in self.live_brokers

    def update(self, request: UpdateMetadata) -> None:
        """Take over the brokers, and merge the partitions; leader -2 drops one."""
        self._controller_id = request.controller_id if request.controller_id >= 0 else None
        self.live_brokers = {broker.broker_id: broker for broker in request.live_brokers}
        for metadata in request.partitions:
            name = TopicPartition(metadata.topic, metadata.partition)
            if metadata.leader == LEADER_DURING_DELETE:
                self._forget(name)
            else:
                self.partitions[name] = metadata
                self.topics.setdefault(name.topic, {})[name.partition] = metadata

    def _forget(self, name: TopicPartition) -> None:
        if self.partitions.pop(name, None) is not None:
            partitions = self.topics[name.topic]
            del partitions[name.partition]
            if not partitions:
                del self.topics[name.topic]
