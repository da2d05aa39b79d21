"""From the records of one partition back to its groups.

Later records replace earlier ones, so that a compacted log and a whole one give the same groups. A
record that cannot be read is passed over and named: an older one about the same thing stays, and
whatever else the partition holds is not lost.
"""

from collections.abc import Iterable

from regent.broker.groups.group import Group
from regent.broker.groups.group_effects import GroupRecord
from regent.broker.groups.group_member import GroupMember
from regent.broker.groups.group_states import STABLE
from regent.broker.groups.offsets_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    OffsetValue,
    RecordKey,
    read_group,
    read_key,
    read_offset,
)
from regent.errors import ProtocolError
from regent.model.group_requests import GroupProtocol
from regent.model.ids import TopicPartition


class PartitionLoad:
    """Takes records in the order of the log."""

    def __init__(self, partition: int) -> None:
        self.partition = partition
        #: What was wrong with records that were passed over.
        self.unreadable: list[str] = []
        #: A log that is not compacted has the same keys over and over.
        self._keys: dict[bytes, RecordKey | None] = {}
        self._groups: dict[str, GroupValue] = {}
        self._offsets: dict[str, dict[TopicPartition, OffsetValue]] = {}

    def add(self, records: Iterable[GroupRecord]) -> None:
        """Some more of them."""
        for record in records:
            try:
                self._take(record)
            except ProtocolError as error:
                self.unreadable.append(f"{error} (key {record.key[:64].hex()})")

    def _take(self, record: GroupRecord) -> None:
        if record.key not in self._keys:
            self._keys[record.key] = read_key(record.key)
        match self._keys[record.key], record.value:
            case OffsetKey(group_id=group_id, name=name), None:
                offsets = self._offsets.get(group_id, {})
                offsets.pop(name, None)
                if not offsets:
                    self._offsets.pop(group_id, None)
            case OffsetKey(group_id=group_id, name=name), bytes(content):
                self._offsets.setdefault(group_id, {})[name] = read_offset(content)
            case GroupKey(group_id=group_id), None:
                self._groups.pop(group_id, None)
            case GroupKey(group_id=group_id), bytes(content):
                value = read_group(content)
                _check(value)
                self._groups[group_id] = value
            case _:
                # Of a feature that is not here.
                pass

    def groups(self, now_ms: int) -> tuple[Group, ...]:
        """All groups that have members, a history or offsets. Sessions begin now."""
        return tuple(
            self._restore(group_id, now_ms) for group_id in {**self._groups, **self._offsets}
        )

    def _restore(self, group_id: str, now_ms: int) -> Group:
        group = Group(group_id, self.partition)
        group.offsets.stored = self._offsets.get(group_id, {})
        value = self._groups.get(group_id)
        if value is None:
            return group
        group.generation_id = value.generation_id
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol_name
        group.state_since_ms = value.state_since_ms
        for stored in value.members:
            assert value.protocol_name is not None, "checked when it was read"
            member = GroupMember(
                member_id=stored.member_id,
                group_instance_id=stored.group_instance_id,
                client_id=stored.client_id,
                client_host=stored.client_host,
                session_timeout_ms=stored.session_timeout_ms,
                rebalance_timeout_ms=stored.rebalance_timeout_ms,
                protocols=(GroupProtocol(value.protocol_name, stored.subscription),),
                assignment=stored.assignment,
            )
            member.heard_of(now_ms)
            group.add(member, value.protocol_type)
        if value.members:
            # Not a move: it was stable all along, and only its coordinator is new.
            group.state = STABLE
            if value.leader_id in group.members:
                group.leader_id = value.leader_id
        return group


def _check(value: GroupValue) -> None:
    """A group that contradicts itself would come apart later."""
    if value.members and value.protocol_name is None:
        raise ProtocolError("a group has members and no protocol")
    instances = [m.group_instance_id for m in value.members if m.group_instance_id is not None]
    for names in ([member.member_id for member in value.members], instances):
        if len(set(names)) < len(names):
            raise ProtocolError("a group has the same member twice")
