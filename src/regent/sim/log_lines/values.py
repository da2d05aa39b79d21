"""How Kafka 3.9 prints the values inside its log lines."""

from collections.abc import Iterable, Mapping
from typing import Any

from regent.model.brokers import Broker
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.ids import BROKER_EPOCH_UNKNOWN


def joined(values: Iterable[Any]) -> str:
    """Values without blanks: `1,2`."""
    return ",".join(map(str, values))


def bracketed(values: Iterable[Any]) -> str:
    """A Java list: `[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def scala_set(values: Iterable[Any]) -> str:
    """A Scala set: `Set(1, 2)`, or with more than four members `HashSet(...)`."""
    members = list(map(str, values))
    return f"{'HashSet' if len(members) > 4 else 'Set'}({', '.join(members)})"


def scala_map(entries: Mapping[Any, Any]) -> str:
    """A Scala map: `Map(1 -> 55)`, or with more than four entries `HashMap(...)`."""
    pairs = [f"{key} -> {value}" for key, value in entries.items()]
    return f"{'HashMap' if len(pairs) > 4 else 'Map'}({', '.join(pairs)})"


def truth(value: bool) -> str:  # noqa: FBT001 - it is the value to print
    """A Java boolean."""
    return "true" if value else "false"


def option(value: object) -> str:
    """A Scala option."""
    return "None" if value is None else f"Some({value})"


def recovery_state(*, recovering: bool) -> str:
    """Whether a leader has yet to recover from an unclean election."""
    return "RECOVERING" if recovering else "RECOVERED"


def leader_and_isr(led: Any) -> str:
    """A leadership as the partition machine prints it; `led` is any fact that has one."""
    members = ", ".join(
        f"BrokerState(brokerId={member}, brokerEpoch={BROKER_EPOCH_UNKNOWN})" for member in led.isr
    )
    return (
        f"LeaderAndIsr(leader={led.leader}, leaderEpoch={led.leader_epoch},"
        f" isrWithBrokerEpoch=List({members}),"
        f" leaderRecoveryState={recovery_state(recovering=led.recovering)},"
        f" partitionEpoch={led.zk_version})"
    )


def leader_isr_and_epoch(led: Any, controller_epoch: int) -> str:
    """A leadership as the controller and the replica machine print it."""
    return (
        f"(Leader:{led.leader},ISR:{joined(led.isr)},"
        f"LeaderRecoveryState:{recovery_state(recovering=led.recovering)},"
        f"LeaderEpoch:{led.leader_epoch},ZkVersion:{led.zk_version},"
        f"ControllerEpoch:{controller_epoch})"
    )


def replica_assignment(of: Any) -> str:
    """An assignment; `of` is one, or any fact with the same three lists."""
    return (
        f"ReplicaAssignment(replicas={joined(of.replicas)}, addingReplicas={joined(of.adding)},"
        f" removingReplicas={joined(of.removing)})"
    )


def leadership_order(order: LeaderAndIsrPartition) -> str:
    """One partition of a LeaderAndIsr."""
    led, assigned = order.leadership, order.assignment
    return (
        f"LeaderAndIsrPartitionState(topicName='{order.topic}', partitionIndex={order.partition},"
        f" controllerEpoch={led.controller_epoch}, leader={led.leader},"
        f" leaderEpoch={led.leader_epoch}, isr={bracketed(led.isr)},"
        f" partitionEpoch={led.zk_version}, replicas={bracketed(assigned.replicas)},"
        f" addingReplicas={bracketed(assigned.adding)},"
        f" removingReplicas={bracketed(assigned.removing)}, isNew={truth(order.is_new)},"
        f" leaderRecoveryState={int(led.recovering)})"
    )


def metadata_entry(of: PartitionMetadata) -> str:
    """One partition of an UpdateMetadata."""
    return (
        f"UpdateMetadataPartitionState(topicName='{of.topic}', partitionIndex={of.partition},"
        f" controllerEpoch={of.controller_epoch}, leader={of.leader},"
        f" leaderEpoch={of.leader_epoch}, isr={bracketed(of.isr)}, zkVersion={of.zk_version},"
        f" replicas={bracketed(of.replicas)}, offlineReplicas={bracketed(of.offline_replicas)})"
    )


def stop_order(order: StopReplicaPartition) -> str:
    """One partition of a StopReplica."""
    return (
        f"StopReplicaPartitionState(partitionIndex={order.partition},"
        f" leaderEpoch={order.leader_epoch}, deletePartition={truth(order.delete)})"
    )


def topic_with_id(topic: str, topic_id: str | None, partitions: Mapping[int, Any]) -> str:
    """A new topic with where its replicas are."""
    assigned = {f"{topic}-{index}": replica_assignment(of) for index, of in partitions.items()}
    return f"TopicIdReplicaAssignment({topic},{option(topic_id)},{scala_map(assigned)})"


def address(broker: Broker) -> str:
    """A broker as one that requests are sent to."""
    (endpoint, *_) = broker.endpoints
    rack = "null" if broker.rack is None else broker.rack
    return f"{endpoint.host}:{endpoint.port} (id: {broker.broker_id} rack: {rack})"


def registration(broker: Broker) -> str:
    """A broker with all that it registered."""
    endpoints = ",".join(
        f"EndPoint({e.host},{e.port},ListenerName({e.listener}),{e.security_protocol})"
        for e in broker.endpoints
    )
    rack = "null" if broker.rack is None else broker.rack
    return f"{broker.broker_id} : {endpoints} : {rack} : Features{{}}"


def api_key(request: ControlRequest) -> str:
    """The name of a request's API."""
    if isinstance(request, LeaderAndIsr):
        return "LEADER_AND_ISR"
    return "UPDATE_METADATA" if isinstance(request, UpdateMetadata) else "STOP_REPLICA"


def request_head(request: ControlRequest) -> str:
    """A request without its partitions."""
    return (
        f"(type={type(request).__name__}Request, controllerId={request.controller_id},"
        f" controllerEpoch={request.controller_epoch}, brokerEpoch={request.broker_epoch})"
    )


def response(request: ControlRequest, answer: ControlAnswer) -> str:
    """A broker's answer."""
    api = type(request).__name__
    if isinstance(request, UpdateMetadata):
        return f"{api}ResponseData(errorCode={int(answer.error)})"
    errors = bracketed(
        f"{api}PartitionError(topicName='{name.topic}', partitionIndex={name.partition},"
        f" errorCode={int(error)})"
        for name, error in answer.partition_errors
    )
    return f"{api}ResponseData(errorCode={int(answer.error)}, partitionErrors={errors})"
