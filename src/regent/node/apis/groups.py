"""JoinGroup and all others that the coordinator of a group answers: keys 8, 9, 11 to 16, 42, 47."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from msgspec.structs import replace

from regent.broker.metadata_cache import MetadataCache
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    GroupAnswer,
    GroupRequest,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
)
from regent.model.ids import TopicPartition
from regent.node.services import Services
from regent.wire.apis import ApiKey
from regent.wire.exchange import Call

GROUP_APIS: Final = frozenset(
    {
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_DELETE,
    }
)
_UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

Ask: TypeAlias = Callable[[GroupRequest], Awaitable[GroupAnswer]]


async def answer(call: Call, peer: str, services: Services) -> GroupAnswer:
    """The coordinator says when; a join waits for the others."""
    client_host = "/" + peer.rpartition(":")[0]

    async def ask(request: GroupRequest) -> GroupAnswer:
        return await services.groups.ask(request, call.header.client_id or "", client_host)

    match call.request:
        case OffsetCommit() as commit:
            return await _commit(commit, services.host.core.metadata, ask)
        case OffsetDelete() as deletion:
            return await _delete(deletion, services.host.core.metadata, ask)
        case request:
            return await ask(request)


async def _commit(commit: OffsetCommit, metadata: MetadataCache, ask: Ask) -> GroupAnswer:
    """What a deleted topic left behind must not become the offsets of the next of its name."""
    names = [TopicPartition(each.topic, each.partition) for each in commit.offsets]
    known = tuple(
        each
        for each, name in zip(commit.offsets, names, strict=True)
        if name in metadata.partitions
    )
    if len(known) == len(names):
        return await ask(commit)
    results: dict[TopicPartition, ErrorCode] = {}
    if known:
        told = await ask(replace(commit, offsets=known))
        assert isinstance(told, OffsetCommitAnswer), "one answer for each kind of request"
        results.update(told.results)
    return OffsetCommitAnswer(tuple((name, results.get(name, _UNKNOWN)) for name in names))


async def _delete(deletion: OffsetDelete, metadata: MetadataCache, ask: Ask) -> GroupAnswer:
    names = deletion.partitions
    known = tuple(name for name in names if name in metadata.partitions)
    told = await ask(replace(deletion, partitions=known))
    assert isinstance(told, OffsetDeleteAnswer), "one answer for each kind of request"
    if told.error is not ErrorCode.NONE:
        return told
    results = dict(told.results)
    return OffsetDeleteAnswer(results=tuple((name, results.get(name, _UNKNOWN)) for name in names))
