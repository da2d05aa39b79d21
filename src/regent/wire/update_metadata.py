"""UpdateMetadata: what it holds in versions 0 to 8, and to and from the model.

This is the plain way of writing it; `bulk_encoder` writes the same bytes faster.
"""

from typing import Any, Final

from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlAnswer, PartitionMetadata, UpdateMetadata
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ZkVersion,
)
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import (
    SECURITY_PROTOCOLS,
    by_topic,
    from_kio_error,
    from_security_number,
    from_uuid,
    to_kio_error,
    to_uuid,
)

# fmt: off
_PARTITION_STATES: Final = Items("UpdateMetadataPartitionState", (
    WireField("topic_name",         "string",  until=4),
    WireField("partition_index",    "int32"),
    WireField("controller_epoch",   "int32"),
    WireField("leader",             "int32"),
    WireField("leader_epoch",       "int32"),
    WireField("isr",                "[]int32"),
    WireField("zk_version",         "int32"),
    WireField("replicas",           "[]int32"),
    WireField("offline_replicas",   "[]int32", since=4),
))
_TOPIC_STATES: Final = Items("UpdateMetadataTopicState", (
    WireField("topic_name",         "string"),
    WireField("topic_id",           "uuid",    since=7),
    WireField("partition_states",   _PARTITION_STATES),
))
_ENDPOINTS: Final = Items("UpdateMetadataEndpoint", (
    WireField("port",               "int32"),
    WireField("host",               "string"),
    WireField("listener",           "string",  since=3),
    WireField("security_protocol",  "int16"),
))
_LIVE_BROKERS: Final = Items("UpdateMetadataBroker", (
    WireField("id",                 "int32"),
    WireField("v0_host",            "string",  until=0),
    WireField("v0_port",            "int32",   until=0),
    WireField("endpoints",          _ENDPOINTS, since=1),
    WireField("rack",               "string",  since=2, is_nullable=True),
))
REQUEST: Final = WireMessage("UpdateMetadataRequest", ApiKey.UPDATE_METADATA, (0, 8), 6, (
    WireField("controller_id",              "int32"),
    WireField("is_kraft_controller",        "bool",  since=8),
    WireField("type",                       "int8",  since=8, tag=0),
    WireField("controller_epoch",           "int32"),
    WireField("broker_epoch",               "int64", since=5),
    WireField("ungrouped_partition_states", _PARTITION_STATES, until=4),
    WireField("topic_states",               _TOPIC_STATES,     since=5),
    WireField("live_brokers",               _LIVE_BROKERS),
))
RESPONSE: Final = WireMessage("UpdateMetadataResponse", ApiKey.UPDATE_METADATA, (0, 8), 6, (
    WireField("error_code",                 "error_code"),
))
# fmt: on

_NOWHERE: Final = Endpoint(host="", port=-1)


def request_values(request: UpdateMetadata) -> Values:
    """The content for all versions."""
    topic_ids = dict(request.topic_ids)
    return {
        "controller_id": request.controller_id,
        "is_kraft_controller": False,
        "type": 0,  # 1 and 2 belong to migrations to KRaft
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "ungrouped_partition_states": [_state_values(entry) for entry in request.partitions],
        "topic_states": [
            {
                "topic_name": topic,
                "topic_id": to_uuid(topic_ids.get(topic)),
                "partition_states": [_state_values(entry) for entry in entries],
            }
            for topic, entries in by_topic(request.partitions).items()
        ],
        "live_brokers": [broker_values(broker) for broker in request.live_brokers],
    }


def _state_values(entry: PartitionMetadata) -> Values:
    return {
        "topic_name": entry.topic,
        "partition_index": entry.partition,
        "controller_epoch": entry.controller_epoch,
        "leader": entry.leader,
        "leader_epoch": entry.leader_epoch,
        "isr": entry.isr,
        "zk_version": entry.zk_version,
        "replicas": entry.replicas,
        "offline_replicas": entry.offline_replicas,
    }


def broker_values(broker: Broker) -> Values:
    """An endpoint of a security protocol that Kafka does not have cannot be told and is left out.

    Version 0 has room for one address only, and it is the plaintext one.
    """
    known = [e for e in broker.endpoints if e.security_protocol in SECURITY_PROTOCOLS]
    plaintext = [e for e in known if e.security_protocol == "PLAINTEXT"]
    only = (plaintext or [_NOWHERE])[0]
    return {
        "id": broker.broker_id,
        "v0_host": only.host,
        "v0_port": only.port,
        "endpoints": [
            {
                "port": endpoint.port,
                "host": endpoint.host,
                "listener": endpoint.listener,
                "security_protocol": SECURITY_PROTOCOLS[endpoint.security_protocol],
            }
            for endpoint in known
        ],
        "rack": broker.rack,
    }


def request_from(payload: Any) -> UpdateMetadata:
    """What a broker makes of it."""
    topics = getattr(payload, "topic_states", ())
    return UpdateMetadata(
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
        live_brokers=tuple(map(_broker_from, payload.live_brokers)),
        topic_ids=tuple(
            (topic.topic_name, topic_id)
            for topic in topics
            if (topic_id := from_uuid(getattr(topic, "topic_id", None))) is not None
        ),
    )


def _entry_from(topic: str, state: Any) -> PartitionMetadata:
    return PartitionMetadata(
        topic=topic,
        partition=state.partition_index,
        controller_epoch=ControllerEpoch(state.controller_epoch),
        leader=BrokerId(state.leader),
        leader_epoch=LeaderEpoch(state.leader_epoch),
        isr=state.isr,
        zk_version=ZkVersion(state.zk_version),
        replicas=state.replicas,
        offline_replicas=getattr(state, "offline_replicas", ()),
    )


def _broker_from(entry: Any) -> Broker:
    if hasattr(entry, "v0_host"):
        endpoints: tuple[Endpoint, ...] = (Endpoint(entry.v0_host, entry.v0_port),)
    else:
        endpoints = tuple(map(_endpoint_from, entry.endpoints))
    return Broker(BrokerId(entry.id), endpoints, getattr(entry, "rack", None))


def _endpoint_from(entry: Any) -> Endpoint:
    """Before version 3 a listener had no name but that of its security protocol."""
    security_protocol = from_security_number(entry.security_protocol)
    listener = getattr(entry, "listener", security_protocol)
    return Endpoint(entry.host, entry.port, listener, security_protocol)


def answer_values(answer: ControlAnswer) -> Values:
    """One code and no more."""
    return {"error_code": to_kio_error(answer.error)}


def answer_from(payload: Any) -> ControlAnswer:
    """One code and no more."""
    return ControlAnswer(from_kio_error(payload.error_code))
