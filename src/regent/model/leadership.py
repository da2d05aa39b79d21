"""Who leads a partition, who is in sync, and how often that has changed."""

from msgspec import Struct

from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion


class Leadership(Struct, frozen=True, gc=False):
    """One value of a partition's state znode.

    `zk_version` is the version of the znode that holds (or, before a write, is expected to
    precede) this value. It is not in the JSON.
    """

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    #: Of the controller that made the last decision about this partition.
    controller_epoch: ControllerEpoch
    zk_version: ZkVersion
    #: The leader was elected uncleanly and has not said yet that it has recovered.
    recovering: bool = False

    def at(self, zk_version: ZkVersion) -> "Leadership":
        """The same, written: with the version that ZooKeeper returned, never a guessed one."""
        return Leadership(
            self.leader,
            self.leader_epoch,
            self.isr,
            self.controller_epoch,
            zk_version,
            self.recovering,
        )
