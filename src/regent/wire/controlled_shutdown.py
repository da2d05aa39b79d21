"""ControlledShutdown: what it holds in versions 0 to 3, and to and from the model."""

from typing import Any, Final

from regent.model.admin_requests import ControlledShutdown, ControlledShutdownAnswer
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, BrokerId, TopicPartition
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import from_kio_error, to_kio_error

# fmt: off
REQUEST: Final = WireMessage("ControlledShutdownRequest", ApiKey.CONTROLLED_SHUTDOWN, (0, 3), 3, (
    WireField("broker_id",            "int32"),
    WireField("broker_epoch",         "int64", since=2),
))
RESPONSE: Final = WireMessage("ControlledShutdownResponse", ApiKey.CONTROLLED_SHUTDOWN, (0, 3), 3, (
    WireField("error_code",           "error_code"),
    WireField("remaining_partitions", Items("RemainingPartition", (
        WireField("topic_name",       "string"),
        WireField("partition_index",  "int32"),
    ))),
))
# fmt: on


def request_values(request: ControlledShutdown) -> Values:
    """The content for all versions."""
    return {"broker_id": request.broker_id, "broker_epoch": request.broker_epoch}


def request_from(payload: Any) -> ControlledShutdown:
    """Before version 2 no broker epoch was told."""
    broker_epoch = getattr(payload, "broker_epoch", BROKER_EPOCH_UNKNOWN)
    return ControlledShutdown(BrokerId(payload.broker_id), BrokerEpoch(broker_epoch))


def answer_values(answer: ControlledShutdownAnswer) -> Values:
    """The content for all versions."""
    return {
        "error_code": to_kio_error(answer.error),
        "remaining_partitions": [
            {"topic_name": topic, "partition_index": partition}
            for topic, partition in answer.remaining
        ],
    }


def answer_from(payload: Any) -> ControlledShutdownAnswer:
    """What `answer_values` wrote."""
    return ControlledShutdownAnswer(
        from_kio_error(payload.error_code),
        tuple(
            TopicPartition(entry.topic_name, entry.partition_index)
            for entry in payload.remaining_partitions
        ),
    )
