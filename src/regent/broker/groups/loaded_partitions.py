"""The partitions of the offsets topic that this broker leads, and the groups that live in them.

A broker coordinates the groups of the partitions it leads, and only once it has read them. The
leader epoch tells orders apart that come late: a load that was overtaken changes nothing.
"""

from collections.abc import Iterable

from regent.broker.groups.group import Group
from regent.broker.groups.offsets_partitions import partition_of
from regent.broker.groups.partition_load import PartitionLoad
from regent.model.error_codes import ErrorCode
from regent.model.ids import LeaderEpoch


class LoadedPartitions:
    """Says for each group whether it is here, somewhere else, or on its way."""

    def __init__(self, partition_count: int) -> None:
        #: Of the offsets topic; where groups belong changes with it.
        self.partition_count = partition_count
        self.loading: dict[int, PartitionLoad] = {}
        self._loaded: dict[int, dict[str, Group]] = {}
        self._leader_epochs: dict[int, LeaderEpoch] = {}

    def group(self, group_id: str) -> Group | None:
        """The group, if it is here and exists."""
        return self._loaded.get(self._place(group_id), {}).get(group_id)

    def create(self, group_id: str) -> Group:
        """The group, made if there is none."""
        partition = self._place(group_id)
        groups = self._loaded[partition]
        group = groups.get(group_id)
        if group is None:
            group = groups[group_id] = Group(group_id, partition)
        return group

    def drop(self, group: Group) -> None:
        """It is deleted."""
        del self._loaded[group.partition][group.group_id]

    def groups(self) -> tuple[Group, ...]:
        """All that are here; they may be dropped while one walks through them."""
        return tuple(group for groups in self._loaded.values() for group in groups.values())

    def refusal(self, group_id: str) -> ErrorCode:
        """Why this broker cannot speak for a group."""
        partition = self._place(group_id)
        if partition in self.loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if partition in self._loaded else ErrorCode.NOT_COORDINATOR

    def load_started(self, partition: int, leader_epoch: LeaderEpoch) -> bool:
        """From now on this broker leads it; False if there is nothing to read for that."""
        known_epoch = self._leader_epochs.get(partition)
        is_overtaken = known_epoch is not None and leader_epoch < known_epoch
        is_repeated = leader_epoch == known_epoch and partition in self.loading
        if is_overtaken or is_repeated:
            return False
        self._leader_epochs[partition] = leader_epoch
        if partition in self._loaded:
            # It has led all the while: what is known here is what the log says.
            return False
        self.loading[partition] = PartitionLoad(partition)
        return True

    def load_of(self, partition: int, leader_epoch: LeaderEpoch) -> PartitionLoad | None:
        """The load under way, if it is this one."""
        is_current = self._leader_epochs.get(partition) == leader_epoch
        return self.loading.get(partition) if is_current else None

    def load_finished(self, partition: int, groups: Iterable[Group]) -> None:
        """The groups of the partition can be spoken for."""
        del self.loading[partition]
        self._loaded[partition] = {group.group_id: group for group in groups}

    def unload(self, partition: int, leader_epoch: LeaderEpoch | None) -> tuple[Group, ...]:
        """Somebody else leads it; these were its groups. An order that is overtaken does nothing.

        Without an epoch the partition itself is no more, and one of its name begins again at 0.
        """
        if leader_epoch is None:
            self._leader_epochs.pop(partition, None)
        elif leader_epoch < self._leader_epochs.get(partition, leader_epoch):
            return ()
        else:
            self._leader_epochs[partition] = leader_epoch
        self.loading.pop(partition, None)
        return tuple(self._loaded.pop(partition, {}).values())

    def _place(self, group_id: str) -> int:
        return partition_of(group_id, self.partition_count)
