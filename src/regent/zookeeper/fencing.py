"""Writing many znodes under one fence: batches, lost races and lost connections.

Every multi starts with a check of the controller epoch's version, so that a deposed controller
writes nothing at all. One stale znode fails its whole multi: the znodes of that multi are then
read, those that somebody else has touched get their verdict, and the others are written again.
After a connection loss nobody knows what was written, and the same look tells.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from regent.core.asks import Fence, WriteFailure, WriteResult
from regent.errors import ControllerMoved
from regent.model.ids import ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, is_lost, read_many, send, unexpected
from regent.zookeeper.store import (
    ANY_VERSION,
    Answered,
    Check,
    Create,
    Data,
    Delete,
    Done,
    Failed,
    Multi,
    MultiDone,
    MultiFailed,
    SetData,
    ZkError,
)

#: Writes in one multi, the check not counted: with the longest topic names and ISRs, partition
#: states stay far below the megabyte that a server accepts.
BATCH_OPS = 250
#: What is written in one multi; an assignment can be much longer than a state.
BATCH_BYTES = 512 * 1024
#: How often the rest of a bulk write is tried again. Each round settles at least one znode or
#: follows a connection loss; what is then still open is called a conflict and decided afresh.
ROUNDS_MAX = 100

Op: TypeAlias = Create | SetData | Delete

_FAILURES = {
    ZkError.BAD_VERSION: WriteFailure.CONFLICT,
    ZkError.NO_NODE: WriteFailure.MISSING,
    ZkError.NODE_EXISTS: WriteFailure.EXISTS,
    ZkError.NOT_EMPTY: WriteFailure.CONFLICT,
    ZkError.BAD_ARGUMENTS: WriteFailure.TOO_LARGE,
}


class Outcome(Struct, frozen=True):
    """What came of one fenced batch: its results, or the op that failed, or neither (lost)."""

    results: tuple[Done, ...] = ()
    failed_at: int | None = None
    error: ZkError = ZkError.OK

    @property
    def lost(self) -> bool:
        """Whether nobody knows if the batch was carried out."""
        return not self.results and self.failed_at is None


class Sight(Struct, frozen=True):
    """What a look at a znode showed, and whether an earlier write of ours may have arrived."""

    found: Data | None
    doubtful: bool


#: What a look says about the write of a znode: its result, or None, write it (again).
Verdict: TypeAlias = Callable[[Op, Sight], WriteResult | None]


def send_fenced(fence: Fence, batches: Sequence[Sequence[Op]]) -> Exchange[list[Outcome]]:
    """One multi for each batch, pipelined; a newer controller ends the exchange."""
    check = Check(paths.CONTROLLER_EPOCH, fence.zk_version)
    replies = yield from send([Multi((check, *batch)) for batch in batches])
    return [_to_outcome(reply, fence) for reply in replies]


def _to_outcome(reply: Answered, fence: Fence) -> Outcome:
    if isinstance(reply, MultiDone):
        return Outcome(results=reply.results[1:])
    if is_lost(reply):
        return Outcome()
    if isinstance(reply, Failed) and reply.error is ZkError.BAD_ARGUMENTS:
        # It was never sent. An op that is too large by itself is alone in its batch.
        return Outcome(failed_at=0, error=reply.error)
    if not isinstance(reply, MultiFailed):
        raise unexpected(reply)
    if reply.index == 0:
        raise ControllerMoved(
            f"{paths.CONTROLLER_EPOCH} is no longer at version {fence.zk_version}, "
            f"as it was for controller epoch {fence.controller_epoch}: {reply.error.name}"
        )
    if reply.error not in _FAILURES:
        raise unexpected(reply)
    return Outcome(failed_at=reply.index - 1, error=reply.error)


def write_fenced(fence: Fence, ops: Sequence[Op], verdict: Verdict) -> Exchange[list[WriteResult]]:
    """Carry out every op by itself, as far as others let us; one result for each, in order."""
    results: dict[int, WriteResult] = {}
    doubtful: dict[int, None] = {}
    for _ in range(ROUNDS_MAX):
        batches = list(_batched(ops, (i for i in range(len(ops)) if i not in results)))
        if not batches:
            break
        outcomes = yield from send_fenced(fence, [[ops[i] for i in batch] for batch in batches])
        unsettled: list[int] = []
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome.results:
                results.update(zip(batch, map(_version, outcome.results), strict=True))
                continue
            unsettled.extend(batch)
            if outcome.lost:
                doubtful.update(dict.fromkeys(batch))
        seen = yield from read_many([ops[index].path for index in unsettled])
        for index, found in zip(unsettled, seen, strict=True):
            settled = verdict(ops[index], Sight(found, index in doubtful))
            if settled is not None:
                results[index] = settled
        _settle_the_named(batches, outcomes, results)
    return [results.get(index, WriteFailure.CONFLICT) for index in range(len(ops))]


def _settle_the_named(
    batches: Sequence[Sequence[int]], outcomes: Sequence[Outcome], results: dict[int, WriteResult]
) -> None:
    """Let each refused batch make progress, even if the look found nothing wrong any more."""
    for batch, outcome in zip(batches, outcomes, strict=True):
        if outcome.failed_at is not None and not any(index in results for index in batch):
            results[batch[outcome.failed_at]] = _FAILURES[outcome.error]


def _version(result: Done) -> ZkVersion:
    """The version written; a deleted znode has none, and nobody asks."""
    stat = result.stat
    return ZkVersion(ANY_VERSION) if stat is None else stat.version  # type: ignore[return-value]


def _batched(ops: Sequence[Op], indexes: Iterator[int]) -> Iterator[list[int]]:
    """Places of ops for one multi each; an op that is too large by itself is left alone."""
    batch: list[int] = []
    size_bytes = 0
    for index in indexes:
        op_bytes = _size_bytes(ops[index])
        if batch and (len(batch) == BATCH_OPS or size_bytes + op_bytes > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(index)
        size_bytes += op_bytes
    if batch:
        yield batch


def _size_bytes(op: Op) -> int:
    content = None if isinstance(op, Delete) else op.data
    return len(op.path) + len(content or b"")
