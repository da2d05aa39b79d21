"""The cluster as one node knows it, whether from its own reign or from a look at ZooKeeper."""

from msgspec import Struct

from regent.model.assignment import Assignment
from regent.model.brokers import Broker
from regent.model.cluster_requests import NodeAddress
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership


class KnownPartition(Struct, frozen=True, gc=False):
    """Where a partition is, and who leads it if anybody ever did."""

    partition: int
    assignment: Assignment
    leadership: Leadership | None
    #: The brokers on which it lies in a failed log directory.
    failed_on: tuple[BrokerId, ...] = ()


class KnownCluster(Struct, frozen=True):
    """Everything that a client may ask about."""

    #: None while there is no controller.
    controller_id: BrokerId | None
    brokers: dict[BrokerId, Broker]
    #: Those of the brokers that may lead: alive, and not about to go.
    electable: frozenset[BrokerId]
    #: Controllers that are no brokers, and where they listen.
    controllers: dict[BrokerId, NodeAddress]
    #: Those asked for, without the ones that are being deleted.
    topics: dict[str, tuple[KnownPartition, ...]]
