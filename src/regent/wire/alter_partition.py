"""AlterPartition: versions 0 and 1, which kio does not have, and to and from the model.

A topic goes by its name up to version 1 and by its id from 2 on; the model has either as text.
"""

from typing import Any, Final

from regent.model.alter_partition import (
    AlterPartition,
    AlterPartitionAnswer,
    IsrProposal,
    IsrVerdict,
)
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, BrokerId, LeaderEpoch, ZkVersion
from regent.wire.apis import ApiKey
from regent.wire.message_tables import Items, Values, WireField, WireMessage
from regent.wire.values import (
    NOT_THROTTLED,
    broker_ids,
    by_topic,
    from_kio_error,
    from_uuid,
    to_kio_error,
    to_uuid,
)

# fmt: off
REQUEST: Final = WireMessage("AlterPartitionRequest", ApiKey.ALTER_PARTITION, (0, 1), 0, (
    WireField("broker_id",                 "int32"),
    WireField("broker_epoch",              "int64"),
    WireField("topics",                    Items("AlterPartitionTopic", (
        WireField("topic_name",            "string"),
        WireField("partitions",            Items("AlterPartitionProposal", (
            WireField("partition_index",       "int32"),
            WireField("leader_epoch",          "int32"),
            WireField("new_isr",               "[]int32"),
            WireField("leader_recovery_state", "int8", since=1),
            WireField("partition_epoch",       "int32"),
        ))),
    ))),
))
RESPONSE: Final = WireMessage("AlterPartitionResponse", ApiKey.ALTER_PARTITION, (0, 1), 0, (
    WireField("throttle_time",             "timedelta_i32"),
    WireField("error_code",                "error_code"),
    WireField("topics",                    Items("AlterPartitionTopicVerdicts", (
        WireField("topic_name",            "string"),
        WireField("partitions",            Items("AlterPartitionVerdict", (
            WireField("partition_index",       "int32"),
            WireField("error_code",            "error_code"),
            WireField("leader_id",             "int32"),
            WireField("leader_epoch",          "int32"),
            WireField("isr",                   "[]int32"),
            WireField("leader_recovery_state", "int8", since=1),
            WireField("partition_epoch",       "int32"),
        ))),
    ))),
))
# fmt: on


def request_values(request: AlterPartition) -> Values:
    """The content for all versions."""
    return {
        "broker_id": request.broker_id,
        "broker_epoch": request.broker_epoch,
        "topics": [
            {
                "topic_name": topic,
                "topic_id": to_uuid(topic),
                "partitions": list(map(_proposal_values, proposals)),
            }
            for topic, proposals in by_topic(request.proposals).items()
        ],
    }


def _proposal_values(proposal: IsrProposal) -> Values:
    return {
        "partition_index": proposal.partition,
        "leader_epoch": proposal.leader_epoch,
        "new_isr": proposal.isr,
        # A ZooKeeper controller does not look at these epochs.
        "new_isr_with_epochs": [
            {"broker_id": broker_id, "broker_epoch": BROKER_EPOCH_UNKNOWN}
            for broker_id in proposal.isr
        ],
        "leader_recovery_state": int(proposal.recovering),
        "partition_epoch": proposal.zk_version,
    }


def request_from(payload: Any, api_version: int) -> AlterPartition:
    """What a leader wants."""
    return AlterPartition(
        broker_id=BrokerId(payload.broker_id),
        broker_epoch=BrokerEpoch(payload.broker_epoch),
        proposals=tuple(
            _proposal_from(_topic_of(topic), partition)
            for topic in payload.topics
            for partition in topic.partitions
        ),
        version=api_version,
    )


def _topic_of(topic: Any) -> str:
    """Its name or its id; zeros are the id of no topic, and so is an empty text."""
    return topic.topic_name if hasattr(topic, "topic_name") else from_uuid(topic.topic_id) or ""


def _proposal_from(topic: str, partition: Any) -> IsrProposal:
    if hasattr(partition, "new_isr"):
        isr = broker_ids(partition.new_isr)
    else:
        isr = broker_ids(member.broker_id for member in partition.new_isr_with_epochs)
    return IsrProposal(
        topic=topic,
        partition=partition.partition_index,
        leader_epoch=LeaderEpoch(partition.leader_epoch),
        isr=isr,
        zk_version=ZkVersion(partition.partition_epoch),
        recovering=getattr(partition, "leader_recovery_state", 0) == 1,
    )


def answer_values(answer: AlterPartitionAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "topics": [
            {
                "topic_name": topic,
                "topic_id": to_uuid(topic),
                "partitions": list(map(_verdict_values, verdicts)),
            }
            for topic, verdicts in by_topic(answer.verdicts).items()
        ],
    }


def _verdict_values(verdict: IsrVerdict) -> Values:
    return {
        "partition_index": verdict.partition,
        "error_code": to_kio_error(verdict.error),
        "leader_id": verdict.leader,
        "leader_epoch": verdict.leader_epoch,
        "isr": verdict.isr,
        "leader_recovery_state": int(verdict.recovering),
        "partition_epoch": verdict.zk_version,
    }


def answer_from(payload: Any) -> AlterPartitionAnswer:
    """What `answer_values` wrote."""
    return AlterPartitionAnswer(
        from_kio_error(payload.error_code),
        tuple(
            _verdict_from(_topic_of(topic), partition)
            for topic in payload.topics
            for partition in topic.partitions
        ),
    )


def _verdict_from(topic: str, partition: Any) -> IsrVerdict:
    return IsrVerdict(
        topic=topic,
        partition=partition.partition_index,
        error=from_kio_error(partition.error_code),
        leader=BrokerId(partition.leader_id),
        leader_epoch=LeaderEpoch(partition.leader_epoch),
        isr=broker_ids(partition.isr),
        zk_version=ZkVersion(partition.partition_epoch),
        recovering=getattr(partition, "leader_recovery_state", 0) == 1,
    )
