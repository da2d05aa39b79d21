"""LeaderAndIsr: what it holds in versions 0 to 7, and to and from the model.

This is the plain way of writing it; `bulk_encoder` writes the same bytes faster.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from regent.model.assignment import Assignment
from regent.model.brokers import Endpoint
from regent.model.control_requests import ControlAnswer, LeaderAndIsr, LeaderAndIsrPartition
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import (
    broker_ids,
    by_topic,
    from_kio_error,
    from_uuid,
    to_kio_error,
    to_uuid,
)

# fmt: off
_PARTITION_STATE: Final = (
    WireField("topic_name",            "string",  until=1),
    WireField("partition_index",       "int32"),
    WireField("controller_epoch",      "int32"),
    WireField("leader",                "int32"),
    WireField("leader_epoch",          "int32"),
    WireField("isr",                   "[]int32"),
    WireField("partition_epoch",       "int32"),
    WireField("replicas",              "[]int32"),
    WireField("adding_replicas",       "[]int32", since=3),
    WireField("removing_replicas",     "[]int32", since=3),
    WireField("is_new",                "bool",    since=1),
    WireField("leader_recovery_state", "int8",    since=6),
)
_PARTITION_STATES: Final = Items("LeaderAndIsrPartitionState", _PARTITION_STATE)
_TOPIC_STATES: Final = Items("LeaderAndIsrTopicState", (
    WireField("topic_name",            "string"),
    WireField("topic_id",              "uuid", since=5),
    WireField("partition_states",      _PARTITION_STATES),
))
_LIVE_LEADERS: Final = Items("LeaderAndIsrLiveLeader", (
    WireField("broker_id",             "int32"),
    WireField("host_name",             "string"),
    WireField("port",                  "int32"),
))
REQUEST: Final = WireMessage("LeaderAndIsrRequest", ApiKey.LEADER_AND_ISR, (0, 7), 4, (
    WireField("controller_id",              "int32"),
    WireField("is_kraft_controller",        "bool",  since=7),
    WireField("controller_epoch",           "int32"),
    WireField("broker_epoch",               "int64", since=2),
    WireField("type",                       "int8",  since=5),
    WireField("ungrouped_partition_states", _PARTITION_STATES, until=1),
    WireField("topic_states",               _TOPIC_STATES,     since=2),
    WireField("live_leaders",               _LIVE_LEADERS),
))

_PARTITION_ERRORS: Final = Items("LeaderAndIsrPartitionError", (
    WireField("topic_name",            "string", until=4),
    WireField("partition_index",       "int32"),
    WireField("error_code",            "error_code"),
))
_TOPIC_ERRORS: Final = Items("LeaderAndIsrTopicError", (
    WireField("topic_id",              "uuid"),
    WireField("partition_errors",      _PARTITION_ERRORS),
))
RESPONSE: Final = WireMessage("LeaderAndIsrResponse", ApiKey.LEADER_AND_ISR, (0, 7), 4, (
    WireField("error_code",            "error_code"),
    WireField("partition_errors",      _PARTITION_ERRORS, until=4),
    WireField("topics",                _TOPIC_ERRORS,     since=5),
))
# fmt: on


def request_values(request: LeaderAndIsr, leader_endpoints: Mapping[BrokerId, Endpoint]) -> Values:
    """A live leader without an endpoint is left out: nobody could reach it."""
    topic_ids = dict(request.topic_ids)
    return {
        "controller_id": request.controller_id,
        "is_kraft_controller": False,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "type": 0,  # 1 and 2 belong to migrations to KRaft
        "ungrouped_partition_states": [_state_values(entry) for entry in request.partitions],
        "topic_states": [
            {
                "topic_name": topic,
                "topic_id": to_uuid(topic_ids.get(topic)),
                "partition_states": [_state_values(entry) for entry in entries],
            }
            for topic, entries in by_topic(request.partitions).items()
        ],
        "live_leaders": [
            {
                "broker_id": broker_id,
                "host_name": leader_endpoints[broker_id].host,
                "port": leader_endpoints[broker_id].port,
            }
            for broker_id in request.live_leaders
            if broker_id in leader_endpoints
        ],
    }


def _state_values(entry: LeaderAndIsrPartition) -> Values:
    leadership, assignment = entry.leadership, entry.assignment
    return {
        "topic_name": entry.topic,
        "partition_index": entry.partition,
        "controller_epoch": leadership.controller_epoch,
        "leader": leadership.leader,
        "leader_epoch": leadership.leader_epoch,
        "isr": leadership.isr,
        "partition_epoch": leadership.zk_version,
        "replicas": assignment.replicas,
        "adding_replicas": assignment.adding,
        "removing_replicas": assignment.removing,
        "is_new": entry.is_new,
        "leader_recovery_state": int(leadership.recovering),
    }


def request_from(payload: Any) -> LeaderAndIsr:
    """The addresses of the leaders are dropped: brokers have them from UpdateMetadata."""
    topics = getattr(payload, "topic_states", ())
    return LeaderAndIsr(
        controller_id=BrokerId(payload.controller_id),
        controller_epoch=ControllerEpoch(payload.controller_epoch),
        broker_epoch=BrokerEpoch(getattr(payload, "broker_epoch", BROKER_EPOCH_UNKNOWN)),
        partitions=tuple(
            [
                _entry_from(state.topic_name, state)
                for state in getattr(payload, "ungrouped_partition_states", ())
            ]
            + [_entry_from(topic.topic_name, s) for topic in topics for s in topic.partition_states]
        ),
        live_leaders=broker_ids(leader.broker_id for leader in payload.live_leaders),
        topic_ids=tuple(
            (topic.topic_name, topic_id)
            for topic in topics
            if (topic_id := from_uuid(getattr(topic, "topic_id", None))) is not None
        ),
    )


def _entry_from(topic: str, state: Any) -> LeaderAndIsrPartition:
    return LeaderAndIsrPartition(
        topic=topic,
        partition=state.partition_index,
        leadership=Leadership(
            leader=BrokerId(state.leader),
            leader_epoch=LeaderEpoch(state.leader_epoch),
            isr=state.isr,
            controller_epoch=ControllerEpoch(state.controller_epoch),
            zk_version=ZkVersion(state.partition_epoch),
            recovering=getattr(state, "leader_recovery_state", 0) == 1,
        ),
        assignment=Assignment(
            replicas=state.replicas,
            adding=getattr(state, "adding_replicas", ()),
            removing=getattr(state, "removing_replicas", ()),
        ),
        is_new=getattr(state, "is_new", False),
    )


def answer_values(answer: ControlAnswer, topic_ids: Mapping[str, str]) -> Values:
    """From version 5 on topics go by their ids; those without one fall together under zeros."""
    by_id: dict[str | None, list[Values]] = {}
    for (topic, partition), error in answer.partition_errors:
        entry = {"partition_index": partition, "error_code": to_kio_error(error)}
        by_id.setdefault(topic_ids.get(topic), []).append(entry)
    return {
        "error_code": to_kio_error(answer.error),
        "partition_errors": partition_error_values(answer),
        "topics": [
            {"topic_id": to_uuid(topic_id), "partition_errors": errors}
            for topic_id, errors in by_id.items()
        ],
    }


def partition_error_values(answer: ControlAnswer) -> list[Values]:
    """One code for each partition, by the topic's name."""
    return [
        {"topic_name": topic, "partition_index": partition, "error_code": to_kio_error(error)}
        for (topic, partition), error in answer.partition_errors
    ]


def answer_from(payload: Any, topic_ids: Mapping[str, str]) -> ControlAnswer:
    """Partitions of an id that the request did not name cannot be told apart and are left out."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    errors = list(partition_errors_from(getattr(payload, "partition_errors", ())))
    for topic in getattr(payload, "topics", ()):
        name = names.get(from_uuid(topic.topic_id) or "")
        if name is not None:
            errors += [
                (TopicPartition(name, entry.partition_index), from_kio_error(entry.error_code))
                for entry in topic.partition_errors
            ]
    return ControlAnswer(from_kio_error(payload.error_code), tuple(errors))


def partition_errors_from(entries: Any) -> Iterator[tuple[TopicPartition, ErrorCode]]:
    """What `partition_error_values` wrote."""
    for entry in entries:
        name = TopicPartition(entry.topic_name, entry.partition_index)
        yield name, from_kio_error(entry.error_code)
