"""Metadata and DescribeCluster to and from the model; kio has the messages."""

from collections.abc import Iterable
from typing import Any

from regent.model.cluster_requests import (
    NO_CONTROLLER,
    OPERATIONS_UNTOLD,
    DescribeCluster,
    DescribeClusterAnswer,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.ids import BrokerId, LeaderEpoch
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, broker_ids, from_kio_error, to_kio_error

# --- Metadata -----------------------------------------------------------------------------------


def metadata_values(request: Metadata, api_version: int) -> Values:
    """The content for all versions; in version 0 an empty list meant all topics."""
    topics: list[Values] | None = None
    if request.topics is not None or api_version == 0:
        topics = [{"name": name} for name in request.topics or ()]
    return {
        "topics": topics,
        "allow_auto_topic_creation": request.may_create,
        "include_cluster_authorized_operations": request.with_cluster_operations,
        "include_topic_authorized_operations": request.with_topic_operations,
    }


def metadata_from(payload: Any, api_version: int) -> Metadata:
    """Before version 4 a missing topic was always created."""
    is_for_all = payload.topics is None or (api_version == 0 and not payload.topics)
    return Metadata(
        topics=None if is_for_all else tuple(topic.name for topic in payload.topics),
        may_create=getattr(payload, "allow_auto_topic_creation", True),
        with_cluster_operations=getattr(payload, "include_cluster_authorized_operations", False),
        with_topic_operations=getattr(payload, "include_topic_authorized_operations", False),
    )


def metadata_answer_values(answer: MetadataAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "brokers": _nodes_values(answer.nodes, "node_id"),
        "cluster_id": answer.cluster_id,
        "controller_id": answer.controller_id,
        "topics": list(map(_topic_values, answer.topics)),
        "cluster_authorized_operations": answer.cluster_operations,
    }


def _topic_values(topic: TopicDescription) -> Values:
    return {
        "error_code": to_kio_error(topic.error),
        "name": topic.topic,
        "is_internal": topic.is_internal,
        "partitions": [
            {
                "error_code": to_kio_error(partition.error),
                "partition_index": partition.partition,
                "leader_id": partition.leader,
                "leader_epoch": partition.leader_epoch,
                "replica_nodes": partition.replicas,
                "isr_nodes": partition.isr,
                "offline_replicas": partition.offline_replicas,
            }
            for partition in topic.partitions
        ],
        "topic_authorized_operations": topic.operations,
    }


def metadata_answer_from(payload: Any) -> MetadataAnswer:
    """Version 0 did not say who the controller is, nor version 1 which cluster it is."""
    return MetadataAnswer(
        nodes=_nodes_from(payload.brokers, "node_id"),
        cluster_id=getattr(payload, "cluster_id", None),
        controller_id=BrokerId(getattr(payload, "controller_id", NO_CONTROLLER)),
        topics=tuple(map(_topic_from, payload.topics)),
        cluster_operations=getattr(payload, "cluster_authorized_operations", OPERATIONS_UNTOLD),
    )


def _topic_from(topic: Any) -> TopicDescription:
    return TopicDescription(
        topic=topic.name,
        error=from_kio_error(topic.error_code),
        is_internal=getattr(topic, "is_internal", False),
        partitions=tuple(
            PartitionDescription(
                partition=partition.partition_index,
                error=from_kio_error(partition.error_code),
                leader=BrokerId(partition.leader_id),
                leader_epoch=LeaderEpoch(getattr(partition, "leader_epoch", -1)),
                replicas=broker_ids(partition.replica_nodes),
                isr=broker_ids(partition.isr_nodes),
                offline_replicas=broker_ids(getattr(partition, "offline_replicas", ())),
            )
            for partition in topic.partitions
        ),
        operations=getattr(topic, "topic_authorized_operations", OPERATIONS_UNTOLD),
    )


# --- DescribeCluster ----------------------------------------------------------------------------


def cluster_values(request: DescribeCluster) -> Values:
    """The content for all versions."""
    return {
        "include_cluster_authorized_operations": request.with_operations,
        "endpoint_type": request.endpoint_type,
    }


def cluster_from(payload: Any) -> DescribeCluster:
    """Version 0 was about brokers only."""
    return DescribeCluster(
        payload.include_cluster_authorized_operations, getattr(payload, "endpoint_type", 1)
    )


def cluster_answer_values(answer: DescribeClusterAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "error_message": answer.message,
        "endpoint_type": answer.endpoint_type,
        "cluster_id": answer.cluster_id,
        "controller_id": answer.controller_id,
        "brokers": _nodes_values(answer.nodes, "broker_id"),
        "cluster_authorized_operations": answer.operations,
    }


def cluster_answer_from(payload: Any) -> DescribeClusterAnswer:
    """What `cluster_answer_values` wrote."""
    return DescribeClusterAnswer(
        error=from_kio_error(payload.error_code),
        message=payload.error_message,
        endpoint_type=getattr(payload, "endpoint_type", 1),
        cluster_id=payload.cluster_id,
        controller_id=BrokerId(payload.controller_id),
        nodes=_nodes_from(payload.brokers, "broker_id"),
        operations=payload.cluster_authorized_operations,
    )


# --- nodes --------------------------------------------------------------------------------------


def _nodes_values(nodes: Iterable[NodeAddress], id_field: str) -> list[Values]:
    return [
        {id_field: node.node_id, "host": node.host, "port": node.port, "rack": node.rack}
        for node in nodes
    ]


def _nodes_from(entries: Iterable[Any], id_field: str) -> tuple[NodeAddress, ...]:
    return tuple(
        NodeAddress(
            BrokerId(getattr(entry, id_field)),
            entry.host,
            entry.port,
            getattr(entry, "rack", None),
        )
        for entry in entries
    )
