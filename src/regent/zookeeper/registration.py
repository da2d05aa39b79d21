"""What a broker does in ZooKeeper by itself: register, and (if it is old) write ISRs directly.

None of it is fenced by the controller epoch. What protects it is the owner of an ephemeral, the
version of a znode, or that doing it twice does no harm.
"""

from collections.abc import Sequence

from regent.core.asks import Malformed
from regent.errors import BrokerIdTaken, SessionLost
from regent.model.brokers import Broker
from regent.model.ids import BrokerEpoch, BrokerId, TopicPartition, ZkVersion
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import encode_broker
from regent.zookeeper.ephemerals import hold_ephemeral
from regent.zookeeper.exchange import (
    RECONNECTS_MAX,
    Exchange,
    data_or_none,
    is_lost,
    read_one,
    send,
    unexpected,
)
from regent.zookeeper.notice_znodes import encode_log_dir_event
from regent.zookeeper.reads import to_leadership
from regent.zookeeper.store import (
    Answered,
    Create,
    Done,
    Failed,
    GetData,
    SetData,
    ZkError,
)
from regent.zookeeper.znodes import encode_isr_change, encode_leadership


def register_broker(
    broker: Broker, *, session_id: int, previous_session_id: int | None, now_ms: int
) -> Exchange[BrokerEpoch]:
    """Create the broker's ephemeral and learn which life of the broker this is."""
    path = paths.broker(broker.broker_id)
    czxid = yield from hold_ephemeral(
        path,
        # In two steps, as Kafka does since 2.2: a fresh registration has data version 1.
        (Create(path, ephemeral=True), SetData(path, encode_broker(broker, now_ms), version=0)),
        session_id=session_id,
        previous_session_id=previous_session_id,
        taken=lambda found: BrokerIdTaken(broker.broker_id, found.stat.ephemeral_owner),
    )
    return BrokerEpoch(czxid)


def write_isr_directly(name: TopicPartition, leadership: Leadership) -> Exchange[ZkVersion | None]:
    """A leader's own conditional write of its state, as before AlterPartition; None: refused.

    A version that does not match may be the echo of an own earlier write, so the content decides.
    """
    path = paths.partition_state(name.topic, name.partition)
    write = SetData(path, encode_leadership(leadership), leadership.zk_version)
    for _ in range(RECONNECTS_MAX):
        (reply,) = yield from send((write,))
        if isinstance(reply, Done) and reply.stat is not None:
            return ZkVersion(reply.stat.version)
        if not is_lost(reply) and not _is_refused(reply):
            raise unexpected(reply)
        found = data_or_none((yield from read_one(GetData(path))))
        if found is None:
            return None
        stored = to_leadership(path, found)
        if stored is not None and not isinstance(stored, Malformed):
            if _decided(stored) == _decided(leadership):
                return stored.zk_version
            if is_lost(reply) and stored.zk_version == leadership.zk_version:
                continue
        return None
    raise SessionLost(f"lost the connection {RECONNECTS_MAX} times in a row")


def _is_refused(reply: Answered) -> bool:
    refusals = (ZkError.BAD_VERSION, ZkError.NO_NODE)
    return isinstance(reply, Failed) and reply.error in refusals


def _decided(leadership: Leadership) -> tuple[object, ...]:
    """What the stored and the wanted leadership must have in common to be the same write."""
    return (
        leadership.leader,
        leadership.leader_epoch,
        leadership.isr,
        leadership.controller_epoch,
    )


def announce_isr_changes(partitions: Sequence[TopicPartition]) -> Exchange[str]:
    """Leave a notification for the controller; the name it got. Two of them do no harm."""
    prefix = paths.isr_notification(paths.ISR_NOTIFICATION_PREFIX)
    return (yield from _announce(prefix, encode_isr_change(partitions)))


def announce_log_dir_failure(broker_id: BrokerId) -> Exchange[str]:
    """Tell the controller that this broker lost a log directory. Saying it twice does no harm."""
    prefix = f"{paths.LOG_DIR_EVENTS}/{paths.LOG_DIR_EVENT_PREFIX}"
    return (yield from _announce(prefix, encode_log_dir_event(broker_id)))


def _announce(prefix: str, content: bytes) -> Exchange[str]:
    reply = yield from read_one(Create(prefix, content, sequential=True))
    if not isinstance(reply, Done):
        raise unexpected(reply)
    return reply.path.rpartition("/")[2]
