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


class _Batch(Struct, frozen=True, eq=False):
    """What is created in one multi, and the writes that are complete with it."""

    ops: list[Create] = []
    settles: list[int] = []


def create_leaderships(ask: CreateLeaderships) -> Exchange[Sequence[WriteResult]]:
    """Every partition by itself: one that exists, or whose topic is gone, stops no other."""
    creation = _Creation(ask.writes)
    for _ in range(ROUNDS_MAX):
        yield from _look(creation)
        batches = list(_plan(creation))
        if not batches:
            break
        outcomes = yield from send_fenced(ask.fence, [batch.ops for batch in batches])
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


def _plan(creation: _Creation) -> Iterator[_Batch]:
    """The ops still needed in order, each partition's together, in batches for one multi."""
    present, planned = creation.present, dict[str, None]()
    batch = _Batch()
    for index in creation.unsettled():
        write = creation.writes[index]
        above = paths.partitions(write.partition.topic)
        # What `paths.partition` and `partition_state` would say, without two calls for each.
        parent = f"{above}/{write.partition.index}"
        needed = [Create(f"{parent}/state", encode_leadership(write.leadership))]
        if parent not in present:
            needed.insert(0, Create(parent))
            if above not in present and above not in planned:
                planned[above] = None
                needed.insert(0, Create(above))
        if len(batch.ops) + len(needed) > BATCH_OPS:
            yield batch
            batch = _Batch()
        batch.ops.extend(needed)
        batch.settles.append(index)
    if batch.ops:
        yield batch


def _note(creation: _Creation, batch: _Batch, outcome: Outcome) -> None:
    if outcome.results:
        creation.results.update(dict.fromkeys(batch.settles, ZkVersion(0)))
    elif outcome.lost:
        creation.doubtful.update(dict.fromkeys(batch.settles))
