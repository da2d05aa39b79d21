"""StopReplica: what it holds in versions 0 to 4, and to and from the model.

Up to version 2 a request deletes all of its partitions or none; from 3 on each says for itself.
"""

from typing import Any, Final

from regent.errors import ProtocolError
from regent.model.control_requests import ControlAnswer, StopReplica, StopReplicaPartition
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    LEADER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
)
from regent.wire.apis import ApiKey
from regent.wire.leader_and_isr import partition_error_values, partition_errors_from
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import by_topic, from_kio_error, to_kio_error

MIXED_SINCE: Final = 3

# fmt: off
_UNGROUPED_PARTITIONS: Final = Items("StopReplicaPartitionV0", (
    WireField("topic_name",           "string"),
    WireField("partition_index",      "int32"),
))
_TOPICS: Final = Items("StopReplicaTopicV1", (
    WireField("name",                 "string"),
    WireField("partition_indexes",    "[]int32"),
))
_TOPIC_STATES: Final = Items("StopReplicaTopicState", (
    WireField("topic_name",           "string"),
    WireField("partition_states",     Items("StopReplicaPartitionState", (
        WireField("partition_index",  "int32"),
        WireField("leader_epoch",     "int32"),
        WireField("delete_partition", "bool"),
    ))),
))
REQUEST: Final = WireMessage("StopReplicaRequest", ApiKey.STOP_REPLICA, (0, 4), 2, (
    WireField("controller_id",        "int32"),
    WireField("is_kraft_controller",  "bool",  since=4),
    WireField("controller_epoch",     "int32"),
    WireField("broker_epoch",         "int64", since=1),
    WireField("delete_partitions",    "bool",  until=2),
    WireField("ungrouped_partitions", _UNGROUPED_PARTITIONS, until=0),
    WireField("topics",               _TOPICS,               since=1, until=2),
    WireField("topic_states",         _TOPIC_STATES,         since=MIXED_SINCE),
))
RESPONSE: Final = WireMessage("StopReplicaResponse", ApiKey.STOP_REPLICA, (0, 4), 2, (
    WireField("error_code",           "error_code"),
    WireField("partition_errors",     Items("StopReplicaPartitionError", (
        WireField("topic_name",       "string"),
        WireField("partition_index",  "int32"),
        WireField("error_code",       "error_code"),
    ))),
))
# fmt: on


def request_values(request: StopReplica, api_version: int) -> Values:
    """The content for all versions, as far as the version can say it."""
    deletes = {entry.delete for entry in request.partitions}
    if api_version < MIXED_SINCE and len(deletes) > 1:
        raise ProtocolError(f"StopReplica {api_version} deletes all of its partitions or none")
    groups = by_topic(request.partitions)
    return {
        "controller_id": request.controller_id,
        "is_kraft_controller": False,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "delete_partitions": True in deletes,
        "ungrouped_partitions": [
            {"topic_name": entry.topic, "partition_index": entry.partition}
            for entry in request.partitions
        ],
        "topics": [
            {"name": topic, "partition_indexes": tuple(entry.partition for entry in entries)}
            for topic, entries in groups.items()
        ],
        "topic_states": [
            {"topic_name": topic, "partition_states": list(map(_state_values, entries))}
            for topic, entries in groups.items()
        ],
    }


def _state_values(entry: StopReplicaPartition) -> Values:
    return {
        "partition_index": entry.partition,
        "leader_epoch": entry.leader_epoch,
        "delete_partition": entry.delete,
    }


def request_from(payload: Any) -> StopReplica:
    """Before version 3 no leader epoch was told, which is as good as an unknown one."""
    deletes = getattr(payload, "delete_partitions", False)
    ungrouped = [
        (entry.topic_name, entry.partition_index, LEADER_EPOCH_UNKNOWN, deletes)
        for entry in getattr(payload, "ungrouped_partitions", ())
    ]
    grouped = [
        (topic.name, partition, LEADER_EPOCH_UNKNOWN, deletes)
        for topic in getattr(payload, "topics", ())
        for partition in topic.partition_indexes
    ]
    mixed = [
        (topic.topic_name, s.partition_index, LeaderEpoch(s.leader_epoch), s.delete_partition)
        for topic in getattr(payload, "topic_states", ())
        for s in topic.partition_states
    ]
    return StopReplica(
        controller_id=BrokerId(payload.controller_id),
        controller_epoch=ControllerEpoch(payload.controller_epoch),
        broker_epoch=BrokerEpoch(getattr(payload, "broker_epoch", BROKER_EPOCH_UNKNOWN)),
        partitions=tuple(StopReplicaPartition(*entry) for entry in ungrouped + grouped + mixed),
    )


def answer_values(answer: ControlAnswer) -> Values:
    """One code for all, then one for each partition."""
    return {
        "error_code": to_kio_error(answer.error),
        "partition_errors": partition_error_values(answer),
    }


def answer_from(payload: Any) -> ControlAnswer:
    """What `answer_values` wrote."""
    errors = tuple(partition_errors_from(payload.partition_errors))
    return ControlAnswer(from_kio_error(payload.error_code), errors)
