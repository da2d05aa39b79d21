"""How offsets and groups end: by order, with their topics, or when nobody has come for too long.

A group that goes is dead while its tombstones are on their way, so that nobody joins what is being
deleted; if they cannot be stored it is empty again. Kafka answers DeleteGroups without waiting for
the log; here nothing is acknowledged before it is there.
"""

from collections.abc import Container, Iterable

from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_effects import GroupRecord
from regent.broker.groups.group_outbox import GroupOutbox
from regent.broker.groups.group_states import DEAD, EMPTY, STABLE
from regent.broker.groups.loaded_partitions import LoadedPartitions
from regent.broker.groups.offset_requests import OffsetRequests, tombstones
from regent.broker.groups.offsets_records import GroupKey, OffsetValue, write_key
from regent.broker.groups.pending_appends import (
    OFFSET_APPEND_ERRORS,
    DeletionTally,
    PendingDeletion,
    PendingForgetting,
)
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import DeleteGroups, DeleteGroupsAnswer
from regent.model.ids import TopicPartition


class GroupRemoval:
    """Deletes in the log first, and in memory when that is confirmed."""

    def __init__(
        self,
        config: GroupConfig,
        outbox: GroupOutbox,
        partitions: LoadedPartitions,
        offset_requests: OffsetRequests,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._partitions = partitions
        self._offset_requests = offset_requests

    # --- by order -----------------------------------------------------------------------------

    def delete(self, request_id: int, request: DeleteGroups, now_ms: int) -> None:
        """Each group by itself; the answer waits for the last of them."""
        tally = DeletionTally(request_id, dict.fromkeys(request.group_ids))
        for group_id in tally.results:
            error, group = self._deletable(group_id)
            if group is None:
                tally.results[group_id] = error
            elif not self._remove(group, tally, now_ms):
                tally.results[group_id] = ErrorCode.NONE
        self._answer_if_complete(tally)

    def _deletable(self, group_id: str) -> tuple[ErrorCode, Group | None]:
        error = self._partitions.refusal(group_id)
        if error is not ErrorCode.NONE:
            return error, None
        group = self._partitions.group(group_id)
        if group is None or group.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND, None
        if group.state is not EMPTY:
            return ErrorCode.NON_EMPTY_GROUP, None
        return ErrorCode.NONE, group

    def deletion_stored(self, pending: PendingDeletion, error: ErrorCode, now_ms: int) -> None:
        """The group is gone, or is what it was."""
        group, tally = pending.group, pending.tally
        # Another one of the same name is not meant: this one was unloaded while we waited.
        if self._partitions.group(group.group_id) is group:
            if error is ErrorCode.NONE:
                self._partitions.drop(group)
            else:
                since_ms = group.state_since_ms
                group.move(EMPTY, now_ms)
                group.state_since_ms = since_ms
        if tally is not None:
            tally.results[group.group_id] = OFFSET_APPEND_ERRORS.get(error, error)
            self._answer_if_complete(tally)

    def _answer_if_complete(self, tally: DeletionTally) -> None:
        results = tuple((id_, error) for id_, error in tally.results.items() if error is not None)
        if len(results) == len(tally.results):
            self._outbox.answer(tally.request_id, DeleteGroupsAnswer(results))

    def _remove(self, group: Group, tally: DeletionTally | None, now_ms: int) -> bool:
        """Says whether there is an append to wait for."""
        records = list(tombstones(group, group.offsets.names()))
        if group.generation_id > 0:
            # One that never had a generation has left no other record.
            records.append(GroupRecord(write_key(GroupKey(group.group_id)), None))
        since_ms = group.state_since_ms
        group.pending_members.clear()
        group.move(DEAD, now_ms)
        # A deletion that fails must not put the group's expiry off.
        group.state_since_ms = since_ms
        if not records:
            self._partitions.drop(group)
            return False
        self._outbox.append(group.partition, records, PendingDeletion(group, tally))
        return True

    # --- with their topics --------------------------------------------------------------------

    def topics_deleted(self, names: Container[TopicPartition], now_ms: int) -> None:
        """Offsets in partitions that are no more mean nothing; a new topic begins at 0."""
        for group in self._partitions.groups():
            gone = tuple(name for name in group.offsets.names() if name in names)
            if gone:
                self._forget(group, gone, now_ms)

    # --- by time ------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Forget the offsets whose time is over, and empty groups that have no others."""
        for group in self._partitions.groups():
            expired = self._expired(group, now_ms)
            if expired or not group.offsets:
                self._forget(group, expired, now_ms)

    def _expired(self, group: Group, now_ms: int) -> tuple[TopicPartition, ...]:
        """Time counts from the last commit, but only once the group has no use for the offset."""
        retention_ms = self._config.offsets_retention_ms
        if group.protocol_type is None:
            return group.offsets.expired(now_ms, retention_ms, base_ms=_commit_ms)
        if group.state is EMPTY:
            since_ms = group.state_since_ms
            return group.offsets.expired(
                now_ms,
                retention_ms,
                base_ms=_commit_ms if since_ms is None else lambda _: since_ms,
            )
        topics = group.subscribed_topics() if group.state is STABLE else None
        if topics is None:
            return ()
        return group.offsets.expired(now_ms, retention_ms, base_ms=_commit_ms, kept_topics=topics)

    def _forget(self, group: Group, names: Iterable[TopicPartition], now_ms: int) -> None:
        names = tuple(names)
        has_others = len(names) < len(group.offsets.names())
        if group.state is EMPTY and not group.pending_members and not has_others:
            self._remove(group, None, now_ms)
        elif names and group.state is not DEAD:
            self._offset_requests.forget(group, PendingForgetting(group=group, names=names))


def _commit_ms(value: OffsetValue) -> int:
    return value.commit_ms
