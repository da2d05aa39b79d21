"""How a leader asks the controller for another ISR (Kafka's AlterPartition, once AlterIsr)."""

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    NO_LEADER,
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)


class IsrProposal(Struct, frozen=True):
    """The ISR that the leader of one partition wants.

    `topic` is a name below request version 2 and a topic id from then on.
    """

    topic: str
    partition: int
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    #: The partition epoch that the leader believes in.
    zk_version: ZkVersion
    recovering: bool = False


class AlterPartition(Struct, frozen=True):
    """One leader's wishes; its broker epoch must be the registered one."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    proposals: tuple[IsrProposal, ...]
    version: int = 3


class IsrVerdict(Struct, frozen=True):
    """What became of one wish; the state is the current one, whether changed or not."""

    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    leader: BrokerId = NO_LEADER
    leader_epoch: LeaderEpoch = LeaderEpoch(-1)
    isr: tuple[BrokerId, ...] = ()
    zk_version: ZkVersion = ZkVersion(-1)
    recovering: bool = False

    @property
    def name(self) -> TopicPartition:
        """The partition, where `topic` is a name."""
        return TopicPartition(self.topic, self.partition)


class AlterPartitionAnswer(Struct, frozen=True):
    """A verdict for each wish, or one error for all."""

    error: ErrorCode = ErrorCode.NONE
    verdicts: tuple[IsrVerdict, ...] = ()
