"""The writing asks of a controller: what each puts where, and how it knows its own hand again."""

from collections.abc import Sequence

from regent.core.asks import (
    DeleteIsrNotifications,
    DropController,
    EnsureFeatures,
    Fence,
    ReadControllerEpoch,
    TakeController,
    TopicWrite,
    WriteFailure,
    WriteLeaderships,
    WriteResult,
    WriteTopics,
)
from regent.errors import CorruptZnode, SessionLost
from regent.model.ids import BrokerId, ControllerEpoch, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.exchange import (
    RACES_MAX,
    RECONNECTS_MAX,
    Exchange,
    data_or_none,
    read,
    read_many,
    read_one,
    send,
    unexpected,
)
from regent.zookeeper.fencing import Op, Sight, send_fenced, write_fenced
from regent.zookeeper.reads import list_children, to_fence
from regent.zookeeper.store import (
    ANY_VERSION,
    Create,
    Data,
    Delete,
    Done,
    Failed,
    GetData,
    Multi,
    MultiDone,
    MultiFailed,
    SetData,
    ZkError,
)
from regent.zookeeper.znodes import (
    decode_controller,
    decode_controller_epoch,
    decode_feature,
    decode_topic,
    encode_controller,
    encode_controller_epoch,
    encode_feature,
    encode_leadership,
    encode_topic,
)

#: What a claim to the controller's role fails with when somebody else was faster.
_LOST_RACES = (ZkError.NODE_EXISTS, ZkError.BAD_VERSION, ZkError.NO_NODE)

# --- the controller -------------------------------------------------------------------------


def read_controller_epoch(_ask: ReadControllerEpoch) -> Exchange[Fence]:
    """A read that may have to write: an empty ZooKeeper gets epoch 0."""
    for _ in range(RACES_MAX):
        found = data_or_none((yield from read_one(GetData(paths.CONTROLLER_EPOCH))))
        if found is not None:
            return to_fence(found)
        first = encode_controller_epoch(ControllerEpoch(0))
        yield from _try_write(Create(paths.CONTROLLER_EPOCH, first))
    raise SessionLost(f"{paths.CONTROLLER_EPOCH} vanished {RACES_MAX} times in a row")


def take_controller(ask: TakeController) -> Exchange[Fence | None]:
    """Both znodes or none. A refusal may be the echo of an own attempt that got through."""
    controller_epoch = ControllerEpoch(ask.current.controller_epoch + 1)
    former = (Delete(paths.CONTROLLER),) if ask.deposes else ()
    claim = Multi(
        (
            *former,
            Create(
                paths.CONTROLLER,
                encode_controller(ask.controller_id, ask.now_ms),
                ephemeral=True,
            ),
            SetData(
                paths.CONTROLLER_EPOCH,
                encode_controller_epoch(controller_epoch),
                ask.current.zk_version,
            ),
        )
    )
    # A claim that was lost on the way is simply made again.
    reply = yield from read_one(claim)
    if isinstance(reply, MultiDone):
        stat = reply.results[-1].stat
        assert stat is not None, "a SetData is answered with the stat it made"
        return Fence(controller_epoch, ZkVersion(stat.version))
    if not isinstance(reply, MultiFailed) or reply.error not in _LOST_RACES:
        raise unexpected(reply)
    held, epoch = yield from read_many((paths.CONTROLLER, paths.CONTROLLER_EPOCH))
    if held and epoch and _is_claimed_by(ask.controller_id, controller_epoch, held, epoch):
        return Fence(controller_epoch, ZkVersion(epoch.stat.version))
    return None


def _is_claimed_by(
    controller_id: BrokerId, controller_epoch: ControllerEpoch, held: Data, epoch: Data
) -> bool:
    try:
        return (
            decode_controller(held.data).broker_id == controller_id
            and decode_controller_epoch(epoch.data) == controller_epoch
        )
    except CorruptZnode:
        return False


def drop_controller(ask: DropController) -> Exchange[None]:
    """Nothing else is written at resignation. Gone already is as good."""
    for _ in range(RECONNECTS_MAX):
        outcomes = yield from send_fenced(ask.fence, ((Delete(paths.CONTROLLER),),))
        if not outcomes[0].lost:
            return
    raise SessionLost(f"lost the connection {RECONNECTS_MAX} times in a row")


def ensure_features(ask: EnsureFeatures) -> Exchange[None]:
    """Unfenced, as in Kafka. Only controllers write it, so one that cannot be read is replaced."""
    content = encode_feature(enabled=ask.enabled)
    for _ in range(RACES_MAX):
        found = data_or_none((yield from read_one(GetData(paths.FEATURE))))
        if found is None:
            yield from _try_write(Create(paths.FEATURE, content))
        elif _has_status(found, enabled=ask.enabled):
            return
        else:
            yield from _try_write(SetData(paths.FEATURE, content, found.stat.version))
    raise SessionLost(f"could not write {paths.FEATURE} {RACES_MAX} times in a row")


def _has_status(found: Data, *, enabled: bool) -> bool:
    try:
        return decode_feature(found.data) is enabled
    except CorruptZnode:
        return False


def _try_write(op: Create | SetData) -> Exchange[None]:
    """Attempt a write; the caller looks what came of it, so a lost race is no news here."""
    (reply,) = yield from send((op,))
    races = (ZkError.NODE_EXISTS, ZkError.NO_NODE, ZkError.BAD_VERSION, ZkError.CONNECTION_LOSS)
    if not isinstance(reply, Done) and not (isinstance(reply, Failed) and reply.error in races):
        raise unexpected(reply)


# --- topics ---------------------------------------------------------------------------------


def write_topics(ask: WriteTopics) -> Exchange[tuple[WriteFailure | None, ...]]:
    """Each on top of what its znode says at that moment, whoever wrote that.

    Kafka lets the last writer win, and so can lose partitions that were added while it wrote.
    """
    failures: dict[int, WriteFailure | None] = {}
    waiting = list(range(len(ask.writes)))
    for _ in range(RACES_MAX):
        found = yield from read_many([paths.topic(ask.writes[i].topic) for i in waiting])
        ops: dict[int, SetData] = {}
        for index, znode in zip(waiting, found, strict=True):
            op = _to_topic_op(ask.writes[index], znode)
            if isinstance(op, SetData):
                ops[index] = op
            else:
                failures[index] = op
        results = yield from write_fenced(ask.fence, list(ops.values()), _judge_set)
        for index, result in zip(ops, results, strict=True):
            failures[index] = result if isinstance(result, WriteFailure) else None
        waiting = [index for index in ops if failures[index] is WriteFailure.CONFLICT]
        if not waiting:
            break
    return tuple(failures[index] for index in range(len(ask.writes)))


def _to_topic_op(write: TopicWrite, found: Data | None) -> SetData | WriteFailure:
    """The write, with the partitions that only the znode knows; what is unreadable is not lost."""
    path = paths.topic(write.topic)
    if found is None:
        return WriteFailure.MISSING
    partitions = write.partitions
    if not write.is_whole:
        try:
            read = decode_topic(path, found.data)
        except CorruptZnode:
            return WriteFailure.CONFLICT
        if read.malformed:
            return WriteFailure.CONFLICT
        partitions = read.partitions | write.partitions
    return SetData(path, encode_topic(write.topic_id, partitions), found.stat.version)


# --- leadership -----------------------------------------------------------------------------


def write_leaderships(ask: WriteLeaderships) -> Exchange[Sequence[WriteResult]]:
    """Each if its znode still has the version that the decision was made on."""
    state_paths = paths.partition_states([write.partition for write in ask.writes])
    ops = [
        SetData(path, encode_leadership(write.leadership), write.leadership.zk_version)
        for path, write in zip(state_paths, ask.writes, strict=True)
    ]
    return (yield from write_fenced(ask.fence, ops, _judge_set))


def _judge_set(op: Op, sight: Sight) -> WriteResult | None:
    """Ours if it has our content and, for a conditional write, the very next version."""
    assert isinstance(op, SetData), "only replacements are judged here"
    if sight.found is None:
        return WriteFailure.MISSING
    version = sight.found.stat.version
    is_next = op.version in (ANY_VERSION, version - 1)
    if sight.doubtful and is_next and sight.found.data == op.data:
        return ZkVersion(version)
    return None if op.version in (ANY_VERSION, version) else WriteFailure.CONFLICT


# --- notifications --------------------------------------------------------------------------


def delete_isr_notifications(ask: DeleteIsrNotifications) -> Exchange[None]:
    """Whether we or somebody else removed them does not matter."""
    names = ask.names
    if names is None:
        names = yield from list_children(paths.ISR_NOTIFICATIONS)
    ops = [Delete(paths.isr_notification(name)) for name in names]
    yield from write_fenced(ask.fence, ops, _judge_delete)


def _judge_delete(_op: Op, sight: Sight) -> WriteResult | None:
    return WriteFailure.MISSING if sight.found is None else None


# --- the ground to stand on -----------------------------------------------------------------


def ensure_paths() -> Exchange[None]:
    """Create the paths that every broker expects, with their parents; a node's first act."""
    wanted: dict[str, None] = {}
    for path in paths.PERSISTENT_PATHS:
        above = paths.parent(path)
        if above != "/":
            wanted[above] = None
        wanted[path] = None
    for reply in (yield from read([Create(path) for path in wanted])):
        exists = isinstance(reply, Failed) and reply.error is ZkError.NODE_EXISTS
        if not exists and not isinstance(reply, Done):
            raise unexpected(reply)
