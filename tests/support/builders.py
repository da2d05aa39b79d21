"""Brokers, leaderships and requests with defaults, so that a test shows only what it is about.

All of them take plain numbers: which kind of number it is, the builder knows.
"""

from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.ids import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    """Broker ids."""
    return tuple(BrokerId(number) for number in numbers)


def assignment(
    *replicas: int, adding: tuple[int, ...] = (), removing: tuple[int, ...] = ()
) -> Assignment:
    """The replicas in order, and those coming and going."""
    return Assignment(ids(*replicas), ids(*adding), ids(*removing))


def broker(broker_id: int, *, port: int = 9092, rack: str | None = None) -> Broker:
    """A broker on a host of its own."""
    return Broker(BrokerId(broker_id), (Endpoint(f"broker-{broker_id}", port),), rack)


def registered(
    broker_id: int, *, life: int = 1, port: int = 9092, rack: str | None = None
) -> RegisteredBroker:
    """One life of a broker; a later life has a larger broker epoch."""
    return RegisteredBroker(broker(broker_id, port=port, rack=rack), broker_epoch(broker_id, life))


def broker_epoch(broker_id: int, life: int = 1) -> BrokerEpoch:
    """The epoch that `registered` gives this life of this broker."""
    return BrokerEpoch(1_000 * life + broker_id)


def leadership(  # noqa: PLR0913 - it has that many fields, all of them named
    leader: int,
    isr: tuple[int, ...],
    *,
    leader_epoch: int = 0,
    controller_epoch: int = 1,
    zk_version: int = 0,
    recovering: bool = False,
) -> Leadership:
    """What a state znode says."""
    return Leadership(
        BrokerId(leader),
        LeaderEpoch(leader_epoch),
        ids(*isr),
        ControllerEpoch(controller_epoch),
        ZkVersion(zk_version),
        recovering,
    )


def name(topic: str, index: int) -> TopicPartition:
    """A partition's name."""
    return TopicPartition(topic, index)


def proposal(
    *isr: int,
    topic: str = "id-of-t",
    index: int = 0,
    leader_epoch: int = 0,
    zk_version: int = 0,
    recovering: bool = False,
) -> IsrProposal:
    """The ISR that a leader wants for a partition, by default of topic t."""
    return IsrProposal(
        topic, index, LeaderEpoch(leader_epoch), ids(*isr), ZkVersion(zk_version), recovering
    )


def alter_partition(
    broker_id: int, *proposals: IsrProposal, life: int = 1, version: int = 3
) -> AlterPartition:
    """One leader's wishes, from its first life unless said otherwise."""
    epoch = broker_epoch(broker_id, life)
    return AlterPartition(BrokerId(broker_id), epoch, tuple(proposals), version)
