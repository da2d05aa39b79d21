"""OffsetCommit, OffsetFetch and OffsetDelete."""

from collections.abc import Iterable
from typing import Final

from regent.broker.groups.group import Group
from regent.broker.groups.group_config import GroupConfig
from regent.broker.groups.group_effects import GroupRecord
from regent.broker.groups.group_outbox import GroupOutbox
from regent.broker.groups.group_states import COMMIT_VERDICTS, DEAD, EMPTY
from regent.broker.groups.offsets_records import OffsetKey, OffsetValue, write_key, write_offset
from regent.broker.groups.pending_appends import (
    OFFSET_APPEND_ERRORS,
    PendingCommit,
    PendingForgetting,
)
from regent.broker.groups.subscriptions import CONSUMER_PROTOCOL
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    NO_MEMBER_ID,
    FetchedOffset,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
)
from regent.model.ids import TopicPartition

#: The last moment that fits into a record.
_TIME_MAX_MS: Final = 2**63 - 1


class OffsetRequests:
    """A commit is answered when it is in the log, and seen by others no earlier."""

    def __init__(self, config: GroupConfig, outbox: GroupOutbox) -> None:
        self._config = config
        self._outbox = outbox

    def commit(self, group: Group, request_id: int, request: OffsetCommit, now_ms: int) -> None:
        """Store offsets for a member, or for whoever asks if the group has none."""
        error = commit_refusal(group, request)
        if error is not ErrorCode.NONE:
            self._outbox.answer(request_id, refused_commit(request, error))
            return
        if request.member_id in group.members:
            group.members[request.member_id].heard_of(now_ms)
        keep_ms = request.retention_ms
        expire_ms = None if keep_ms is None else min(now_ms + keep_ms, _TIME_MAX_MS)
        offsets: dict[TopicPartition, OffsetValue] = {}
        verdicts = []
        for each in request.offsets:
            name = TopicPartition(each.topic, each.partition)
            metadata = each.metadata or ""
            if len(metadata) > self._config.offset_metadata_max:
                verdicts.append((name, ErrorCode.OFFSET_METADATA_TOO_LARGE))
                continue
            verdicts.append((name, ErrorCode.NONE))
            offsets[name] = OffsetValue(each.offset, each.leader_epoch, metadata, now_ms, expire_ms)
        if not offsets:
            self._outbox.answer(request_id, OffsetCommitAnswer(tuple(verdicts)))
            return
        records = (
            GroupRecord(write_key(OffsetKey(group.group_id, name)), write_offset(value))
            for name, value in offsets.items()
        )
        pending = PendingCommit(
            group=group, request_id=request_id, offsets=offsets, verdicts=tuple(verdicts)
        )
        append_id = self._outbox.append(group.partition, records, pending)
        group.offsets.asked(append_id, offsets)

    def commit_stored(self, pending: PendingCommit, append_id: int, error: ErrorCode) -> None:
        """The offsets count from now on, or not at all."""
        if error is ErrorCode.NONE:
            pending.group.offsets.confirmed(append_id, pending.offsets)
        else:
            pending.group.offsets.refused(append_id, pending.offsets)
        results = _with_outcome(pending.verdicts, error)
        self._outbox.answer(pending.request_id, OffsetCommitAnswer(results))

    def delete(self, group: Group, request_id: int, request: OffsetDelete) -> None:
        """Forget offsets that no member is interested in."""
        error = _delete_refusal(group)
        if error is not ErrorCode.NONE:
            self._outbox.answer(request_id, OffsetDeleteAnswer(error))
            return
        # If members' subscriptions cannot be read, they may be to anything.
        topics = {} if group.state is EMPTY else group.subscribed_topics()
        verdicts = tuple(
            (name, ErrorCode.NONE)
            if topics is not None and name.topic not in topics
            else (name, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
            for name in request.partitions
        )
        known = group.offsets.names()
        names = tuple(n for n, verdict in verdicts if verdict is ErrorCode.NONE and n in known)
        if names:
            pending = PendingForgetting(
                group=group, names=names, request_id=request_id, verdicts=verdicts
            )
            self.forget(group, pending)
        else:
            self._outbox.answer(request_id, OffsetDeleteAnswer(results=verdicts))

    def forget(self, group: Group, pending: PendingForgetting) -> None:
        """Have the offsets of these partitions deleted."""
        self._outbox.append(group.partition, tombstones(group, pending.names), pending)

    def forgetting_stored(
        self, pending: PendingForgetting, append_id: int, error: ErrorCode
    ) -> None:
        """They are gone, or stay until somebody tries again."""
        if error is ErrorCode.NONE:
            pending.group.offsets.forgotten(append_id, pending.names)
        if pending.request_id is not None:
            results = _with_outcome(pending.verdicts, error)
            self._outbox.answer(pending.request_id, OffsetDeleteAnswer(results=results))


def fetch(group: Group | None, request: OffsetFetch) -> OffsetFetchAnswer:
    """What is stored, whatever the group does: some only keep their offsets here."""
    stored = {} if group is None else group.offsets.stored
    names = stored if request.partitions is None else request.partitions
    offsets = []
    for name in names:
        value = stored.get(name)
        offsets.append(
            FetchedOffset(*name)
            if value is None
            else FetchedOffset(*name, value.offset, value.leader_epoch, value.metadata)
        )
    return OffsetFetchAnswer(offsets=tuple(offsets))


def commit_refusal(group: Group, request: OffsetCommit) -> ErrorCode:
    """Why these offsets are not the caller's to commit."""
    if group.state is DEAD:
        return COMMIT_VERDICTS[DEAD]
    if request.generation_id < 0 and group.state is EMPTY:
        # A consumer without a group, or an administrator.
        return ErrorCode.NONE
    claims_nothing = (
        request.generation_id < 0
        and request.member_id == NO_MEMBER_ID
        and request.group_instance_id is None
    )
    if claims_nothing:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = group.refusal(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return COMMIT_VERDICTS[group.state]


def refused_commit(request: OffsetCommit, error: ErrorCode) -> OffsetCommitAnswer:
    """One error for all of them."""
    return OffsetCommitAnswer(
        tuple((TopicPartition(each.topic, each.partition), error) for each in request.offsets)
    )


def tombstones(group: Group, names: Iterable[TopicPartition]) -> Iterable[GroupRecord]:
    """Records that delete the offsets of these partitions."""
    return (GroupRecord(write_key(OffsetKey(group.group_id, name)), None) for name in names)


def _delete_refusal(group: Group) -> ErrorCode:
    if group.state is DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is EMPTY or group.protocol_type == CONSUMER_PROTOCOL:
        return ErrorCode.NONE
    return ErrorCode.NON_EMPTY_GROUP


def _with_outcome(
    verdicts: tuple[tuple[TopicPartition, ErrorCode], ...], error: ErrorCode
) -> tuple[tuple[TopicPartition, ErrorCode], ...]:
    outcome = OFFSET_APPEND_ERRORS.get(error, error)
    return tuple(
        (name, outcome if verdict is ErrorCode.NONE else verdict) for name, verdict in verdicts
    )
