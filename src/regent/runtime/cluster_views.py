"""What a client may know of the cluster, from the controller in office or from ZooKeeper.

The one in office answers from its own state, so that what it has just decided is to be seen. The
others have no state, and read.
"""

from collections.abc import Sequence
from typing import Final

from regent.core.state import ControllerState, Partition, Topic
from regent.core.topic_rules import misnamed
from regent.model.brokers import Broker, Endpoint
from regent.model.cluster_requests import (
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, LeaderEpoch
from regent.model.known_cluster import KnownCluster, KnownPartition
from regent.runtime.desk import Desk
from regent.zookeeper.cluster_reads import read_cluster

INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state")
PLAINTEXT: Final = "PLAINTEXT"
#: Since when a leader that has no address for the client is told from one that is not there.
LISTENER_ERRORS_SINCE: Final = 6

#: Kafka's numbers of operations, as bits: what anybody may do where nobody is forbidden anything.
CLUSTER_OPERATIONS: Final = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
TOPIC_OPERATIONS: Final = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
_NOBODY: Final[tuple[BrokerId, ...]] = ()


# --- finding out --------------------------------------------------------------------------------


async def know_cluster(desk: Desk, topics: Sequence[str] | None) -> KnownCluster:
    """The cluster with these topics, or with None all, as this node can know it."""
    known = await desk.look(lambda state: known_in_office(state, topics))
    return await desk.run(read_cluster(topics)) if known is None else known


def known_in_office(state: ControllerState, topics: Sequence[str] | None) -> KnownCluster | None:
    """What the controller knows; None if this node is not it.

    Called in the controller's own thread, so only what cannot change is taken along.
    """
    if not state.is_active:
        return None
    names = state.topics if topics is None else dict.fromkeys(topics)
    return KnownCluster(
        state.controller_id,
        {broker_id: each.broker for broker_id, each in sorted(state.brokers.items())},
        state.electable,
        {},
        {
            name: _known(state, state.topics[name])
            for name in names
            # Brokers, too, are told to forget a topic as soon as it is to be deleted.
            if name in state.topics and not state.is_being_deleted(name)
        },
    )


def _known(state: ControllerState, topic: Topic) -> tuple[KnownPartition, ...]:
    """With as little work as can be: while it is done, nothing is decided."""
    partitions = topic.partitions.values()
    if not state.offline_dirs:
        return tuple([KnownPartition(p.index, p.assignment, p.leadership) for p in partitions])
    return tuple(
        KnownPartition(p.index, p.assignment, p.leadership, _failed_on(state, p))
        for p in partitions
    )


def _failed_on(state: ControllerState, partition: Partition) -> tuple[BrokerId, ...]:
    replicas = partition.assignment.replicas
    return tuple(each for each in replicas if state.is_in_failed_dir(each, partition))


# --- telling ------------------------------------------------------------------------------------


def addresses(known: KnownCluster, advertised: Broker | None) -> dict[BrokerId, NodeAddress]:
    """Where a client reaches the live brokers and the controller, whether it is one or not."""
    listener = advertised.endpoints[0].listener if advertised else PLAINTEXT
    found = {
        broker_id: address
        for broker_id, broker in known.brokers.items()
        if (address := _address(broker, listener)) is not None
    }
    holder = known.controller_id
    if holder is not None and holder not in found:
        if advertised is not None and holder == advertised.broker_id:
            own = _address(advertised, listener)
            assert own is not None, "it listens where it says"
            found[holder] = own
        elif holder in known.controllers:
            found[holder] = known.controllers[holder]
    return found


def _address(broker: Broker, listener: str) -> NodeAddress | None:
    """At the listener of the same name as ours, or else at any that a plain client can use."""

    def fitness(endpoint: Endpoint) -> int:
        return 2 * (endpoint.listener == listener) + (endpoint.security_protocol == PLAINTEXT)

    best = max(broker.endpoints, key=fitness, default=None)
    if best is None or fitness(best) == 0:
        return None
    return NodeAddress(broker.broker_id, best.host, best.port, broker.rack)


class TopicDescriber:
    """Describes topics of one known cluster to clients of one version of Metadata."""

    def __init__(
        self, known: KnownCluster, nodes: dict[BrokerId, NodeAddress], api_version: int
    ) -> None:
        self._known = known
        self._nodes = nodes
        self._version = api_version
        #: Few lists of replicas are shared by many partitions.
        self._offline: dict[tuple[BrokerId, ...], tuple[BrokerId, ...]] = {}

    def describe(self, name: str, operations: int) -> TopicDescription:
        """A topic that is known, or why it is not."""
        partitions = self._known.topics.get(name)
        if partitions is None:
            is_possible = misnamed(name) is None
            return TopicDescription(
                name,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if is_possible
                else ErrorCode.INVALID_TOPIC_EXCEPTION,
                operations=operations,
            )
        return TopicDescription(
            name,
            is_internal=name in INTERNAL_TOPICS,
            partitions=tuple(map(self._describe, partitions)),
            operations=operations,
        )

    def _describe(self, partition: KnownPartition) -> PartitionDescription:
        """A partition without a leader has an error; clients look again after a while."""
        leadership, replicas = partition.leadership, partition.assignment.replicas
        leader, leader_epoch, isr = NO_LEADER, LeaderEpoch(-1), _NOBODY
        if leadership is not None:
            leader, leader_epoch, isr = leadership.leader, leadership.leader_epoch, leadership.isr
        error = self._leader_error(leader)
        if self._version == 0:  # its clients trip over brokers that are not in the list
            present = tuple(each for each in replicas if each in self._nodes)
            present_isr = tuple(each for each in isr if each in self._nodes)
            if error is ErrorCode.NONE and (present, present_isr) != (replicas, isr):
                error = ErrorCode.REPLICA_NOT_AVAILABLE
            replicas, isr = present, present_isr
        return PartitionDescription(
            partition.partition,
            error,
            leader if leader in self._nodes else NO_LEADER,
            leader_epoch,
            replicas,
            isr,
            self._offline_replicas(partition),
        )

    def _leader_error(self, leader: BrokerId) -> ErrorCode:
        if leader in self._nodes:
            return ErrorCode.NONE
        if leader in self._known.brokers and self._version >= LISTENER_ERRORS_SINCE:
            return ErrorCode.LISTENER_NOT_FOUND
        return ErrorCode.LEADER_NOT_AVAILABLE

    def _offline_replicas(self, partition: KnownPartition) -> tuple[BrokerId, ...]:
        replicas, electable = partition.assignment.replicas, self._known.electable
        offline = self._offline.get(replicas)
        if offline is None:
            offline = self._offline[replicas] = tuple(r for r in replicas if r not in electable)
        if not partition.failed_on:
            return offline
        return tuple(r for r in replicas if r in offline or r in partition.failed_on)
