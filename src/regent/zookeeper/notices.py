"""The asks about what is left for a controller to find: elections, failed log dirs, configs.

Reading one sets the watch that tells of the next. What has been read is not gone: who removes it,
and when, is the core's decision; changed configs nobody removes but time.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from regent.core.asks import (
    DeleteElectionZnode,
    DeleteLogDirEvents,
    Malformed,
    ReadBrokerDefaults,
    ReadConfigChanges,
    ReadElectionZnode,
    ReadLogDirEvents,
    WriteFailure,
    WriteResult,
)
from regent.errors import CorruptZnode
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, data_or_none, read, read_many, read_one
from regent.zookeeper.fencing import Op, Sight, write_fenced
from regent.zookeeper.notice_znodes import (
    decode_config_change,
    decode_election,
    decode_log_dir_event,
)
from regent.zookeeper.reads import list_children
from regent.zookeeper.store import Delete, Exists, GetData
from regent.zookeeper.znodes import decode_config

Content = TypeVar("Content")


# --- elections --------------------------------------------------------------------------------


def read_election_znode(
    _ask: ReadElectionZnode,
) -> Exchange[tuple[TopicPartition, ...] | Malformed | None]:
    """Exists first: its watch is set whether or not anybody wants an election."""
    replies = yield from read((Exists(paths.ELECTION, watch=True), GetData(paths.ELECTION)))
    found = data_or_none(replies[1])
    if found is None:
        return None
    try:
        return decode_election(found.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


def delete_election_znode(ask: DeleteElectionZnode) -> Exchange[None]:
    """Whether we or somebody else removed it does not matter."""
    yield from write_fenced(ask.fence, (Delete(paths.ELECTION),), _judge_removal)


# --- failed log directories -------------------------------------------------------------------


def read_log_dir_events(
    _ask: ReadLogDirEvents,
) -> Exchange[tuple[tuple[str, BrokerId | Malformed], ...]]:
    """A broker that lost two directories is there twice."""
    return (yield from _read_queue(paths.LOG_DIR_EVENTS, decode_log_dir_event))


def delete_log_dir_events(ask: DeleteLogDirEvents) -> Exchange[None]:
    """Whether we or somebody else removed them does not matter."""
    names: Sequence[str] | None = ask.names
    if names is None:
        names = yield from list_children(paths.LOG_DIR_EVENTS)
    ops = [Delete(f"{paths.LOG_DIR_EVENTS}/{name}") for name in names]
    yield from write_fenced(ask.fence, ops, _judge_removal)


# --- configs ----------------------------------------------------------------------------------


def read_config_changes(
    _ask: ReadConfigChanges,
) -> Exchange[tuple[tuple[str, str | Malformed], ...]]:
    """All that time has not removed yet, those already seen included."""
    return (yield from _read_queue(paths.CONFIG_CHANGES, decode_config_change))


def read_broker_defaults(_ask: ReadBrokerDefaults) -> Exchange[dict[str, str] | Malformed]:
    """No znode means that nothing is set."""
    path = paths.broker_config(None)
    found = data_or_none((yield from read_one(GetData(path))))
    try:
        return decode_config(path, found.data if found else None)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


# --- what they have in common -----------------------------------------------------------------


def _read_queue(
    parent: str, decode: Callable[[str, bytes | None], Content]
) -> Exchange[tuple[tuple[str, Content | Malformed], ...]]:
    """The children of a watched path in the order of their making, each by itself."""
    names = sorted((yield from list_children(parent)), key=_sequence_number)
    children = [f"{parent}/{name}" for name in names]
    found = yield from read_many(children)
    queue: list[tuple[str, Content | Malformed]] = []
    for name, path, child in zip(names, children, found, strict=True):
        if child is None:
            continue  # Removed between the listing and the look.
        try:
            queue.append((name, decode(path, child.data)))
        except CorruptZnode as corrupt:
            queue.append((name, Malformed(corrupt.path, corrupt.reason)))
    return tuple(queue)


def _sequence_number(name: str) -> tuple[int, str]:
    digits = name.rpartition("_")[2]
    return (int(digits) if digits.isdecimal() else -1, name)


def _judge_removal(_op: Op, sight: Sight) -> WriteResult | None:
    return WriteFailure.MISSING if sight.found is None else None
