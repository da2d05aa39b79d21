"""Creating partition states in bulk, with the znodes above them.

A round looks which parents are there, gives a verdict on the partitions that cannot be created,
and sends the rest in fenced multis, each state behind the parents it still needs. Whatever a multi
trips over, the next round's look explains.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from regent.core.asks import CreateLeaderships, LeadershipWrite, WriteFailure, WriteResult
from regent.model.ids import ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, read_many
from regent.zookeeper.fencing import BATCH_OPS, ROUNDS_MAX, Outcome, send_fenced
from regent.zookeeper.store import Create, Data
from regent.zookeeper.znodes import encode_leadership


class _Creation(Struct, frozen=True, eq=False):
    """How far a bulk creation is; the keys of all dicts but `present` are places in `writes`."""

    writes: Sequence[LeadershipWrite]
    results: dict[int, WriteResult] = {}
    #: An attempt at these was lost on the way, so a state may be there by our own hand.
    doubtful: dict[int, None] = {}
    #: The parents known to exist.
    present: dict[str, None] = {}

    def unsettled(self) -> list[int]:
        return [index for index in range(len(self.writes)) if index not in self.results]


class _PlannedOp(Struct, frozen=True):
    """One creation; `settles` is the write it completes, None for a parent."""

    op: Create
    settles: int | None = None


def create_leaderships(ask: CreateLeaderships) -> Exchange[Sequence[WriteResult]]:
    """Every partition by itself: one that exists, or whose topic is gone, stops no other."""
    creation = _Creation(ask.writes)
    for _ in range(ROUNDS_MAX):
        yield from _look(creation)
        batches = list(_plan(creation))
        if not batches:
            break
        ops = [[planned.op for planned in batch] for batch in batches]
        outcomes = yield from send_fenced(ask.fence, ops)
        for batch, outcome in zip(batches, outcomes, strict=True):
            _note(creation, batch, outcome)
    return [creation.results.get(index, WriteFailure.CONFLICT) for index in range(len(ask.writes))]


def _look(creation: _Creation) -> Exchange[None]:
    """Learn which parents are there, and settle what needs no write any more."""
    creation.present.clear()
    unsettled = creation.unsettled()
    topics = list(dict.fromkeys(creation.writes[index].partition.topic for index in unsettled))
    topic_paths = [paths.topic(topic) for topic in topics]
    topic_paths += [paths.partitions(topic) for topic in topics]
    yield from _note_present(creation, topic_paths)
    nested: list[int] = []
    for index in unsettled:
        topic = creation.writes[index].partition.topic
        if paths.topic(topic) not in creation.present:
            creation.results[index] = WriteFailure.MISSING
        elif paths.partitions(topic) in creation.present:
            nested.append(index)
    named = [creation.writes[index].partition for index in nested]
    yield from _note_present(creation, [paths.partition(p.topic, p.index) for p in named])
    states = yield from read_many([paths.partition_state(p.topic, p.index) for p in named])
    for index, state in zip(nested, states, strict=True):
        if state is not None:
            creation.results[index] = _judge(creation, index, state)


def _note_present(creation: _Creation, looked_at: list[str]) -> Exchange[None]:
    found = yield from read_many(looked_at)
    for path, znode in zip(looked_at, found, strict=True):
        if znode is not None:
            creation.present[path] = None


def _judge(creation: _Creation, index: int, state: Data) -> WriteResult:
    """A state that is there is a stranger's, unless our own attempt may have made it."""
    wanted = encode_leadership(creation.writes[index].leadership)
    if index in creation.doubtful and state.data == wanted and state.stat.version == 0:
        return ZkVersion(0)
    return WriteFailure.EXISTS


def _plan(creation: _Creation) -> Iterator[list[_PlannedOp]]:
    """The ops still needed in order, each partition's together, in batches for one multi."""
    planned = dict(creation.present)
    batch: list[_PlannedOp] = []
    for index in creation.unsettled():
        write = creation.writes[index]
        topic, number = write.partition.topic, write.partition.index
        parents = (paths.partitions(topic), paths.partition(topic, number))
        needed = [_PlannedOp(Create(path)) for path in parents if path not in planned]
        planned.update(dict.fromkeys(parents))
        state = Create(paths.partition_state(topic, number), encode_leadership(write.leadership))
        needed.append(_PlannedOp(state, settles=index))
        if len(batch) + len(needed) > BATCH_OPS:
            yield batch
            batch = []
        batch += needed
    if batch:
        yield batch


def _note(creation: _Creation, batch: Sequence[_PlannedOp], outcome: Outcome) -> None:
    for planned in batch:
        if planned.settles is None:
            continue
        if outcome.results:
            creation.results[planned.settles] = ZkVersion(0)
        elif outcome.lost:
            creation.doubtful[planned.settles] = None
