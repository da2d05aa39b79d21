"""The values inside Kafka's log lines: how each is printed, and which columns it fills.

Releases print the same value in different ways; a value here knows all of them. The pattern finds
where a value ends, the reader takes it apart. A reader that cannot make sense of a text says
False, or raises a ValueError; then the line as a whole is one that we do not know.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from regent.model.states import PartitionState, ReplicaState

#: Column name to value. A name that begins with `_` is a list that a line is split by.
Fields: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[str, Fields], bool]

BROKERS: Final = "_brokers"
PARTITIONS: Final = "_partitions"
TOPICS: Final = "_topics"


class Value(Struct, frozen=True):
    """How a value looks, and what it says."""

    pattern: str
    read: Reader
    #: For people, in the page on logs.
    shape: str


# --- numbers ----------------------------------------------------------------------------------

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1

#: A number that fits the columns, in JSON.
Int: TypeAlias = Annotated[int, Meta(ge=-_INT_MAX, le=_INT_MAX)]


def whole(text: str) -> int:
    """A number that fits the columns; a ValueError when it does not."""
    value = int(text)
    if not -_INT_MAX <= value <= _INT_MAX:
        raise ValueError(f"{value} is no number of Kafka's")
    return value


def _long(text: str) -> int:
    value = int(text)
    if not -_LONG_MAX <= value <= _LONG_MAX:
        raise ValueError(f"{value} is no epoch of a broker")
    return value


# --- lists ------------------------------------------------------------------------------------

_PARTITION: Final = re.compile(
    r"\[([\w.-]+),\s*(\d+)\]|([\w.-]+)-(\d+)(?=$|[,)\s])", flags=re.ASCII
)
_WRAPPED: Final = re.compile(r"\w+\((.*)\)", flags=re.ASCII | re.DOTALL)
_CACHED: Final = 65_536


@lru_cache(_CACHED)
def numbers(text: str) -> tuple[int, ...]:
    """`1,2` or `1, 2`, or nothing at all."""
    return tuple(map(whole, text.split(","))) if text else ()


@lru_cache(_CACHED)
def topic_partition(text: str) -> tuple[str, int]:
    """`[topic,3]` or `topic-3`; a topic may itself contain dashes."""
    if text.startswith("["):
        topic, _, partition = text[1:-1].rpartition(",")
    else:
        topic, _, partition = text.rpartition("-")
    return topic, whole(partition)


def unwrapped(text: str) -> str:
    """What is inside `Set(...)`, `HashSet(...)`, `Buffer(...)` and their like."""
    match = _WRAPPED.fullmatch(text)
    return match[1] if match else text


# --- readers ----------------------------------------------------------------------------------


def _number(column: str, convert: Callable[[str], int] = whole) -> Reader:
    def read(text: str, fields: Fields) -> bool:
        fields[column] = convert(text)
        return True

    return read


def _words(column: str) -> Reader:
    def read(text: str, fields: Fields) -> bool:
        fields[column] = text
        return True

    return read


def _nothing(text: str, fields: Fields) -> bool:  # noqa: ARG001 - the signature of a reader
    return True


def _numbers(column: str) -> Reader:
    def read(text: str, fields: Fields) -> bool:
        fields[column] = numbers(unwrapped(text).replace(" ", ""))
        return True

    return read


def _topic_partition(text: str, fields: Fields) -> bool:
    fields["topic"], fields["partition"] = topic_partition(text)
    return True


def _topic_partitions(text: str, fields: Fields) -> bool:
    fields[PARTITIONS] = [
        (old_topic or topic, whole(old_partition or partition))
        for old_topic, old_partition, topic, partition in _PARTITION.findall(unwrapped(text))
    ]
    return True


def _topics(text: str, fields: Fields) -> bool:
    inside = unwrapped(text)
    fields[TOPICS] = [topic.strip() for topic in inside.split(",")] if inside else []
    return True


def _leader_and_isr(text: str, fields: Fields) -> bool:
    match = _LEADER_AND_ISR.fullmatch(text)
    if match is None:
        return _leader_and_isr_json(text, fields)
    leader, leader_epoch, isr, states, recovery, zk_version = match.groups()
    fields["leader"] = whole(leader)
    fields["leader_epoch"] = whole(leader_epoch)
    fields["isr"] = numbers(",".join(_BROKER_ID.findall(states)) if isr is None else isr)
    fields["zk_version"] = whole(zk_version)
    _recovery(recovery, fields)
    return True


_LEADER_AND_ISR: Final = re.compile(
    r"LeaderAndIsr\(leader=(-?\d+), leaderEpoch=(-?\d+), "
    r"(?:isr=\w+\(([\d, ]*)\)|isrWithBrokerEpoch=\w+\(((?:BrokerState\([^()]*\)(?:, )?)*)\)), "
    r"(?:leaderRecoveryState=(\w+), )?(?:zkVersion|partitionEpoch)=(-?\d+)\)",
    flags=re.ASCII,
)
_BROKER_ID: Final = re.compile(r"brokerId=(\d+)", flags=re.ASCII)


class _OldLeaderAndIsr(Struct):
    """What a leadership was before 1.0: the JSON of its znode."""

    leader: Int
    leader_epoch: Int
    isr: tuple[Int, ...]


_json = msgspec.json.Decoder(_OldLeaderAndIsr)


def _leader_and_isr_json(text: str, fields: Fields) -> bool:
    try:
        old = _json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    fields.update(leader=old.leader, leader_epoch=old.leader_epoch, isr=old.isr)
    return True


def _recovery(word: str | None, fields: Fields) -> None:
    """Since 3.2: an election that could lose data leaves the leader alone and RECOVERING."""
    if word is not None:
        fields["recovering"] = word in {"RECOVERING", "1"}


def _written_leadership(text: str, fields: Fields) -> bool:
    match = _WRITTEN_LEADERSHIP.fullmatch(text)
    if match is None:
        return False
    leader, isr, recovery, leader_epoch, zk_version, written_epoch = match.groups()
    fields["leader"] = whole(leader)
    fields["isr"] = numbers(isr)
    fields["leader_epoch"] = whole(leader_epoch)
    fields["written_epoch"] = whole(written_epoch)
    if zk_version is not None:
        fields["zk_version"] = whole(zk_version)
    _recovery(recovery, fields)
    return True


_WRITTEN_LEADERSHIP: Final = re.compile(
    r"\(Leader:(-?\d+),ISR:((?:\d+(?:,\d+)*)?),(?:LeaderRecoveryState:(\w+),)?LeaderEpoch:(-?\d+),"
    r"(?:(?:ZkVersion|PartitionEpoch):(-?\d+),)?ControllerEpoch:(-?\d+)\)",
    flags=re.ASCII,
)


def _old_partition_info(text: str, fields: Fields) -> bool:
    match = _OLD_PARTITION_INFO.fullmatch(text)
    if match is None or not _written_leadership(match[1], fields):
        return False
    fields["replicas"] = numbers(match[2])
    return True


#: The parentheses do not balance; that is how it was printed.
_OLD_PARTITION_INFO: Final = re.compile(
    r"\(LeaderAndIsrInfo:(\(.*\)),ReplicationFactor:\d+\),AllReplicas:((?:\d+(?:,\d+)*)?)\)",
    flags=re.ASCII,
)


def _partition_state(text: str, fields: Fields) -> bool:
    if text.startswith("(LeaderAndIsrInfo"):
        return _old_partition_info(text, fields)
    if text.startswith("(Leader:"):
        return _written_leadership(text, fields)
    match = _PARTITION_STATE.fullmatch(text)
    if match is None:
        return False
    (topic, partition, written_epoch, leader, leader_epoch, isr, zk_version, replicas) = (
        match.groups()[:8]
    )
    adding, removing, recovery = match.groups()[8:]
    if topic is not None:
        fields["topic"] = topic
        fields["partition"] = whole(partition)
    fields["written_epoch"] = whole(written_epoch)
    fields["leader"] = whole(leader)
    fields["leader_epoch"] = whole(leader_epoch)
    fields["isr"] = numbers(isr)
    fields["zk_version"] = whole(zk_version)
    fields["replicas"] = numbers(replicas)
    if adding is not None:
        fields["adding"] = numbers(adding)
        fields["removing"] = numbers(removing)
    _recovery(recovery, fields)
    return True


_PARTITION_STATE: Final = re.compile(
    r"(?:LeaderAndIsr|UpdateMetadata)?PartitionState\("
    r"(?:topicName='([\w.-]*)', partitionIndex=(\d+), )?"
    r"controllerEpoch=(-?\d+), leader=(-?\d+), leaderEpoch=(-?\d+), isr=\[?([\d, ]*?)\]?, "
    r"(?:zkVersion|partitionEpoch)=(-?\d+), replicas=\[?([\d, ]*?)\]?"
    r"(?:, addingReplicas=\[([\d, ]*)\], removingReplicas=\[([\d, ]*)\])?"
    r"(?:, offlineReplicas=\[[\d, ]*\])?(?:, isNew=\w+)?(?:, leaderRecoveryState=(\d))?\)",
    flags=re.ASCII,
)


def _stop_state(text: str, fields: Fields) -> bool:
    match = _STOP_STATE.fullmatch(text)
    if match is None:
        return False
    fields["partition"] = whole(match[1])
    fields["leader_epoch"] = whole(match[2])
    fields["reason"] = f"delete={match[3]}"
    return True


_STOP_STATE: Final = re.compile(
    r"StopReplicaPartitionState\(partitionIndex=(\d+), leaderEpoch=(-?\d+),"
    r" deletePartition=(true|false)\)",
    flags=re.ASCII,
)


def _assignment(text: str, fields: Fields) -> bool:
    match = _ASSIGNMENT.fullmatch(text)
    if match is None:
        return False
    for column, found in zip(("replicas", "adding", "removing"), match.groups(), strict=True):
        fields[column] = numbers(found)
    return True


_ASSIGNMENT: Final = re.compile(
    r"ReplicaAssignment\(replicas=([\d,]*), addingReplicas=([\d,]*), removingReplicas=([\d,]*)\)",
    flags=re.ASCII,
)


def _node(text: str, fields: Fields) -> bool:
    match = _NODE.fullmatch(text)
    if match is None:
        return False
    fields["broker_id"] = whole(match[1] or match[2] or match[3])
    return True


_NODE: Final = re.compile(
    r".*\(id: (-?\d+) rack: [^()]*\)|id:(-?\d+),host:.*,port:\d+|(\d+)", flags=re.ASCII
)


def _leader_address(text: str, fields: Fields) -> bool:
    match = _LEADER_ADDRESS.fullmatch(text)
    if match is None:
        return False
    fields["leader"] = whole(match[1] or match[2])
    return True


_LEADER_ADDRESS: Final = re.compile(
    r"BrokerEndPoint\(id=(\d+), host=[^()]*\)|(-?\d+)", flags=re.ASCII
)


def _registration(text: str, fields: Fields) -> bool:
    """Brokers were printed in many ways; most begin with their id."""
    match = _REGISTRATION.match(text)
    if match is not None:
        fields["broker_id"] = whole(match[1])
    return True


_REGISTRATION: Final = re.compile(r"(?:\w+\()?(?:id[:=] ?)?(\d+)\b", flags=re.ASCII)


def _broker_epochs(text: str, fields: Fields) -> bool:
    fields[BROKERS] = [
        (whole(broker), _long(epoch)) for broker, epoch in _BROKER_EPOCH.findall(unwrapped(text))
    ]
    return True


_BROKER_EPOCH: Final = re.compile(r"(\d+) -> (-?\d+)", flags=re.ASCII)

#: What Kafka calls its control requests in responses, and what the journal calls them.
APIS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "LEADER_AND_ISR": "LeaderAndIsr",
        "UPDATE_METADATA": "UpdateMetadata",
        "STOP_REPLICA": "StopReplica",
        "LeaderAndIsr": "LeaderAndIsr",
        "UpdateMetadata": "UpdateMetadata",
        "StopReplica": "StopReplica",
        "LeaderAndIsrRequest": "LeaderAndIsr",
        "UpdateMetadataRequest": "UpdateMetadata",
        "StopReplicaRequest": "StopReplica",
    }
)


def _api(text: str, fields: Fields) -> bool:
    fields["api"] = APIS.get(text, text)
    return True


def _request(text: str, fields: Fields) -> bool:
    """A request printed whole: only which one it is can be relied on."""
    match = _REQUEST.search(text)
    if match is not None:
        fields["api"] = APIS[match[0]]
    return True


_REQUEST: Final = re.compile(
    r"LEADER_AND_ISR|UPDATE_METADATA|STOP_REPLICA|(?:LeaderAndIsr|UpdateMetadata|StopReplica)"
)


def _response(text: str, fields: Fields) -> bool:
    """An answer printed whole: only its own error, at the very front, can be relied on."""
    match = _RESPONSE.match(text)
    if match is not None:
        fields["error"] = whole(match[1])
    return True


_RESPONSE: Final = re.compile(r"(?:\w*\(|\{)error_?[cC]ode=(-?\d+)\b", flags=re.ASCII)

# --- all of them ------------------------------------------------------------------------------

_INT: Final = r"-?\d+"
_LIST: Final = r"(?:\d+(?:, ?\d+)*)?"
_TP: Final = r"\[[\w.-]+,\s*\d+\]|[\w.-]+-\d+"
_ANY: Final = r".*?"
_PARTITION_STATES: Final = "|".join(PartitionState)
_REPLICA_STATES: Final = "|".join(ReplicaState)

# fmt: off
VALUES: Final[Mapping[str, Value]] = MappingProxyType({
    # one number
    "broker":         Value(_INT, _number("broker_id"), "a broker's id"),
    "leader":         Value(_INT, _number("leader"), "a broker's id"),
    "leader_address": Value(_ANY, _leader_address, "`1` or `BrokerEndPoint(id=1, ...)`"),
    "leader_epoch":   Value(_INT, _number("leader_epoch"), "a number"),
    "zk_version":     Value(_INT, _number("zk_version"), "a number"),
    "controller":     Value(_INT, _number("controller_id"), "a broker's id"),
    "epoch":          Value(_INT, _number("controller_epoch"), "a controller epoch"),
    "correlation":    Value(_INT, _number("correlation_id"), "a correlation id"),
    "count":          Value(_INT, _number("partition_count"), "a number"),
    "more":           Value(_INT, _number("_more"), "a number, added to the other"),
    "broker_epoch":   Value(_INT, _number("broker_epoch", _long), "a broker epoch"),
    "number":         Value(_INT, _nothing, "a number that no column holds"),
    # words
    "tp":             Value(_TP, _topic_partition, "`[topic,0]` before 1.0, `topic-0` since"),
    "topic":          Value(r"[\w.-]+", _words("topic"), "a topic's name"),
    "before":         Value(_PARTITION_STATES, _words("before"), "a partition state"),
    "after":          Value(_PARTITION_STATES, _words("after"), "a partition state"),
    "replica_before": Value(_REPLICA_STATES, _words("replica_before"), "a replica state"),
    "replica_after":  Value(_REPLICA_STATES, _words("replica_after"), "a replica state"),
    "role":           Value("leader|follower", _words("reason"), "leader or follower"),
    "delete":         Value("true|false", _nothing, "true or false"),
    "api":            Value(r"\w+", _api, "a request's name"),
    "topic_id":       Value(r"[\w-]+", _words("topic_id"), "a topic id"),
    "some_topic_id":  Value(r"Some\([\w-]+\)|None", _nothing, "`Some(id)` or `None`"),
    "some_leader":    Value(r"Some\(-?\d+\)|None", _nothing, "`Some(1)` or `None`"),
    "why":            Value(_ANY, _words("reason"), "any text, kept"),
    "any":            Value(_ANY, _nothing, "any text, not kept"),
    # lists
    "replicas":       Value(_LIST, _numbers("replicas"), "`1,2`"),
    "isr":            Value(_LIST, _numbers("isr"), "`1,2`"),
    "adding":         Value(_LIST, _numbers("adding"), "`1,2`"),
    "removing":       Value(_LIST, _numbers("removing"), "`1,2`"),
    "replica_seq":    Value(_ANY, _numbers("replicas"), "`List(1, 2)` or `1,2`"),
    "brokers":        Value(_LIST, _numbers(BROKERS), "`1,2`"),
    "broker_set":     Value(r"\w+\([\d, ]*\)|[\d, ]*", _numbers(BROKERS),
                            "`Set(1, 2)`, `HashSet(1, 2)` or `1,2`"),
    "added":          Value(_LIST, _numbers("_added"), "`1,2`"),
    "deleted":        Value(_LIST, _numbers("_deleted"), "`1,2`"),
    "bounced":        Value(_LIST, _numbers("_bounced"), "`1,2`"),
    "live":           Value(_LIST, _numbers(BROKERS), "`1,2`"),
    "broker_epochs":  Value(r"\w*\(.*\)", _broker_epochs, "`Map(1 -> 55)`"),
    "tps":            Value(_ANY, _topic_partitions, "`topic-0,topic-1`, or in a `Set(...)`"),
    "topics":         Value(r"[\w.,() -]*?", _topics, "`one,two`, or in a `Set(...)`"),
    # structures
    "leader_and_isr": Value(r"LeaderAndIsr\(.*\)|\{.*\}", _leader_and_isr,
                            "JSON before 1.0, `LeaderAndIsr(...)` since"),
    "written":        Value(r"\(Leader:.*?\)", _written_leadership,
                            "`(Leader:1,ISR:1,2,LeaderEpoch:8,ControllerEpoch:12)`"),
    "partition_state": Value(r"\w*PartitionState\(.*\)|\(Leader.*\)", _partition_state,
                             "what a request says of a partition"),
    "stop_state":     Value(r"StopReplicaPartitionState\([^()]*\)", _stop_state,
                            "`StopReplicaPartitionState(...)`"),
    "assignment":     Value(r"ReplicaAssignment\([^()]*\)", _assignment,
                            "`ReplicaAssignment(...)`"),
    "node":           Value(_ANY, _node, "`host:9092 (id: 1 rack: null)`"),
    "registration":   Value(_ANY, _registration, "a broker, printed whole"),
    "request":        Value(_ANY, _request, "a request, printed whole"),
    "response":       Value(_ANY, _response, "an answer, printed whole"),
})
# fmt: on
