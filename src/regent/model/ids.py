"""The numbers that name things, kept apart by type so that no epoch is taken for another."""

from typing import Final, NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
#: How many controllers there have been; the fence of every controller write and request.
ControllerEpoch = NewType("ControllerEpoch", int)
#: How often the controller has changed one partition's leadership.
LeaderEpoch = NewType("LeaderEpoch", int)
#: The czxid of a broker's registration: which life of the broker this is.
BrokerEpoch = NewType("BrokerEpoch", int)
#: A znode's data version. For a partition's state znode Kafka calls it the partition epoch.
ZkVersion = NewType("ZkVersion", int)

NO_LEADER: Final = BrokerId(-1)
#: Stands for the leader in UpdateMetadata while a topic is deleted: brokers drop the partition.
LEADER_DURING_DELETE: Final = BrokerId(-2)
#: In StopReplica: overrides any leader epoch, because the whole topic goes.
LEADER_EPOCH_DURING_DELETE: Final = LeaderEpoch(-2)
#: In StopReplica: skips the check, because nobody ever led the partition.
LEADER_EPOCH_UNKNOWN: Final = LeaderEpoch(-1)
#: In a control request: the receiver skips the check of its own epoch.
BROKER_EPOCH_UNKNOWN: Final = BrokerEpoch(-1)
FIRST_LEADER_EPOCH: Final = LeaderEpoch(0)
NO_CONTROLLER_EPOCH: Final = ControllerEpoch(0)


class TopicPartition(NamedTuple):
    """A partition's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
