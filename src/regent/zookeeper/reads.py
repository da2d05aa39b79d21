"""The reading asks: which znodes they look at, in which order, and with which watches.

A watch is set before, or together with, the read that it guards. A znode that cannot be used is
an answer of its own and spoils no other. What vanishes between a listing and a look is left out.
"""

from regent.core.asks import (
    Fence,
    IsrNotification,
    LeadershipRead,
    ListTopicDeletions,
    ListTopics,
    Malformed,
    ReadBrokers,
    ReadController,
    ReadIsrNotifications,
    ReadLeaderships,
    ReadTopicConfigs,
    ReadTopics,
    TopicRead,
    WatchBrokers,
    WatchLeaderships,
)
from regent.errors import CorruptZnode
from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerEpoch, BrokerId, ZkVersion
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import decode_broker
from regent.zookeeper.exchange import (
    Exchange,
    data_or_none,
    read,
    read_many,
    read_one,
    unexpected,
)
from regent.zookeeper.store import Children, Data, Exists, Failed, GetChildren, GetData, ZkError
from regent.zookeeper.znodes import (
    decode_config,
    decode_controller,
    decode_controller_epoch,
    decode_isr_change,
    decode_leadership,
    decode_topic,
)

# --- the controller -------------------------------------------------------------------------


def read_controller(_ask: ReadController) -> Exchange[BrokerId | Malformed | None]:
    """Exists first: its watch is set whether or not there is a controller."""
    replies = yield from read((Exists(paths.CONTROLLER, watch=True), GetData(paths.CONTROLLER)))
    found = data_or_none(replies[1])
    if found is None:
        return None
    try:
        holder = decode_controller(found.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)
    if holder.kraft_controller_epoch > 0:
        return Malformed(
            paths.CONTROLLER,
            f"expected a ZooKeeper controller, found that KRaft controller {holder.broker_id} "
            f"has claimed the cluster at its epoch {holder.kraft_controller_epoch}",
        )
    return holder.broker_id


def to_fence(found: Data) -> Fence:
    """The controller epoch as it was read."""
    return Fence(decode_controller_epoch(found.data), ZkVersion(found.stat.version))


# --- brokers --------------------------------------------------------------------------------


def read_brokers(_ask: ReadBrokers) -> Exchange[dict[BrokerId, RegisteredBroker | Malformed]]:
    """A broker that went between the listing and the look will be heard of by the watch."""
    names = yield from list_children(paths.BROKER_IDS)
    # What is not a number is nobody's registration, and Kafka never puts it here.
    broker_ids = sorted(BrokerId(int(name)) for name in names if name.isdecimal())
    found = yield from read_many([paths.broker(broker_id) for broker_id in broker_ids])
    return {
        broker_id: _to_broker(broker_id, registration)
        for broker_id, registration in zip(broker_ids, found, strict=True)
        if registration is not None
    }


def watch_brokers(
    ask: WatchBrokers,
) -> Exchange[dict[BrokerId, RegisteredBroker | Malformed | None]]:
    """A broker that is gone has no watch; its coming back shows in the list of ids."""
    requests = [GetData(paths.broker(broker_id), watch=True) for broker_id in ask.broker_ids]
    replies = yield from read(requests)
    answer: dict[BrokerId, RegisteredBroker | Malformed | None] = {}
    for broker_id, reply in zip(ask.broker_ids, replies, strict=True):
        found = data_or_none(reply)
        answer[broker_id] = None if found is None else _to_broker(broker_id, found)
    return answer


def _to_broker(broker_id: BrokerId, found: Data) -> RegisteredBroker | Malformed:
    try:
        broker = decode_broker(broker_id, found.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)
    return RegisteredBroker(broker, BrokerEpoch(found.stat.czxid))


# --- topics ---------------------------------------------------------------------------------


def list_topics(_ask: ListTopics) -> Exchange[tuple[str, ...]]:
    """Sorted by the store."""
    return (yield from list_children(paths.TOPICS))


def list_topic_deletions(_ask: ListTopicDeletions) -> Exchange[tuple[str, ...]]:
    """Sorted by the store."""
    return (yield from list_children(paths.TOPIC_DELETIONS))


def read_topics(ask: ReadTopics) -> Exchange[dict[str, TopicRead | Malformed | None]]:
    """One pipelined batch; each read sets its own watch."""
    requests = [GetData(paths.topic(topic), watch=True) for topic in ask.topics]
    replies = yield from read(requests)
    answer: dict[str, TopicRead | Malformed | None] = {}
    for topic, request, reply in zip(ask.topics, requests, replies, strict=True):
        found = data_or_none(reply)
        answer[topic] = None if found is None else _to_topic(request.path, found)
    return answer


def _to_topic(path: str, found: Data) -> TopicRead | Malformed:
    try:
        return decode_topic(path, found.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


def read_topic_configs(ask: ReadTopicConfigs) -> Exchange[dict[str, dict[str, str] | Malformed]]:
    """A topic without a config znode has nothing set on it."""
    config_paths = [paths.topic_config(topic) for topic in ask.topics]
    found = yield from read_many(config_paths)
    answer: dict[str, dict[str, str] | Malformed] = {}
    for topic, path, config in zip(ask.topics, config_paths, found, strict=True):
        try:
            answer[topic] = decode_config(path, config.data if config else None)
        except CorruptZnode as corrupt:
            answer[topic] = Malformed(corrupt.path, corrupt.reason)
    return answer


# --- leadership -----------------------------------------------------------------------------


def read_leaderships(ask: ReadLeaderships) -> Exchange[list[LeadershipRead]]:
    """Every partition by itself; None where nobody has led yet."""
    state_paths = paths.partition_states(ask.partitions)
    found = yield from read_many(state_paths)
    return [
        None if state is None else to_leadership(path, state)
        for path, state in zip(state_paths, found, strict=True)
    ]


def watch_leaderships(ask: WatchLeaderships) -> Exchange[list[LeadershipRead]]:
    """One pipelined batch; each read sets its own watch, where there is something to watch."""
    state_paths = paths.partition_states(ask.partitions)
    replies = yield from read([GetData(path, watch=True) for path in state_paths])
    found = map(data_or_none, replies)
    return [
        None if state is None else to_leadership(path, state)
        for path, state in zip(state_paths, found, strict=True)
    ]


def to_leadership(path: str, found: Data) -> LeadershipRead:
    """A state znode as it was read."""
    try:
        return decode_leadership(path, found.data, found.stat.version)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


def read_isr_notifications(_ask: ReadIsrNotifications) -> Exchange[tuple[IsrNotification, ...]]:
    """In the order of their numbers, which is the order of their making."""
    names = sorted((yield from list_children(paths.ISR_NOTIFICATIONS)), key=_sequence_number)
    found = yield from read_many([paths.isr_notification(name) for name in names])
    return tuple(
        _to_notification(name, notification)
        for name, notification in zip(names, found, strict=True)
        if notification is not None
    )


def _sequence_number(name: str) -> tuple[int, str]:
    digits = name.removeprefix(paths.ISR_NOTIFICATION_PREFIX)
    return (int(digits) if digits.isdecimal() else -1, name)


def _to_notification(name: str, found: Data) -> IsrNotification:
    try:
        return IsrNotification(name, decode_isr_change(paths.isr_notification(name), found.data))
    except CorruptZnode as corrupt:
        return IsrNotification(name, Malformed(corrupt.path, corrupt.reason))


# --- lists ----------------------------------------------------------------------------------


def list_children(path: str) -> Exchange[tuple[str, ...]]:
    """The names below a path, watched. `ensure_paths` sees to it that the path is there."""
    reply = yield from read_one(GetChildren(path, watch=True))
    if isinstance(reply, Children):
        return reply.names
    if isinstance(reply, Failed) and reply.error is ZkError.NO_NODE:
        return ()
    raise unexpected(reply)
