"""One request and one answer of each kind, the same ones that `golden/messages.json` has."""

from typing import Any, Final

from msgspec import Struct

from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ControlledShutdown,
    ControlledShutdownAnswer,
    CreatePartitions,
    CreatePartitionsAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    MorePartitions,
    NewTopic,
    PartitionResult,
    ReassignmentTarget,
    TopicResult,
)
from regent.model.alter_partition import (
    AlterPartition,
    AlterPartitionAnswer,
    IsrProposal,
    IsrVerdict,
)
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.cluster_requests import (
    DescribeCluster,
    DescribeClusterAnswer,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.config_requests import (
    AlterConfigs,
    AlterConfigsAnswer,
    ConfigChange,
    ConfigChanges,
    ConfigDescription,
    ConfigEntry,
    ConfigOperation,
    ConfigQuestion,
    ConfigReplacement,
    ConfigResource,
    ConfigResult,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    DescribeConfigs,
    DescribeConfigsAnswer,
    IncrementalAlterConfigs,
    ResourceType,
)
from regent.model.control_requests import (
    ControlAnswer,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership
from regent.model.producer_ids import AllocateProducerIds, AllocateProducerIdsAnswer
from tests.unit.wire.client_samples import CLIENT_REQUESTS, client_answer, client_request

ORDERS_ID: Final = "Zm9vYmFyYmF6cXV1eDEyMw"
B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
ADDRESSED: Final[dict[str, Any]] = {
    "controller_id": B4,
    "controller_epoch": ControllerEpoch(8),
    "broker_epoch": BrokerEpoch(1_234_567_890_123),
}
TOPIC_IDS: Final = (("orders", ORDERS_ID),)
ENDPOINTS: Final = {
    B1: Endpoint("one.example", 9092),
    B2: Endpoint("two.example", 9092),
}

LEADER_AND_ISR: Final = LeaderAndIsr(
    **ADDRESSED,
    partitions=(
        LeaderAndIsrPartition(
            "orders",
            0,
            Leadership(B1, LeaderEpoch(5), (B1, B2), ControllerEpoch(7), ZkVersion(9)),
            Assignment((B1, B2, B3), adding=(B3,), removing=(B2,)),
            is_new=True,
        ),
        LeaderAndIsrPartition(
            "orders",
            300,
            Leadership(
                BrokerId(-1),
                LeaderEpoch(6),
                (B2,),
                ControllerEpoch(8),
                ZkVersion(10),
                recovering=True,
            ),
            Assignment((B2, B1)),
            is_new=False,
        ),
        LeaderAndIsrPartition(
            "pâtés",
            0,
            Leadership(B2, LeaderEpoch(0), (B2,), ControllerEpoch(8), ZkVersion(0)),
            Assignment((B2,)),
            is_new=False,
        ),
    ),
    live_leaders=(B1, B2),
    topic_ids=TOPIC_IDS,
)
PARTITION_ERRORS: Final = (
    (TopicPartition("orders", 0), ErrorCode.NONE),
    (TopicPartition("orders", 300), ErrorCode.KAFKA_STORAGE_ERROR),
    (TopicPartition("pâtés", 0), ErrorCode.STALE_CONTROLLER_EPOCH),
)
CONTROL_ANSWER: Final = ControlAnswer(ErrorCode.NONE, PARTITION_ERRORS)

UPDATE_METADATA: Final = UpdateMetadata(
    **ADDRESSED,
    partitions=(
        PartitionMetadata(
            "orders",
            0,
            ControllerEpoch(7),
            B1,
            LeaderEpoch(5),
            (B1, B2),
            ZkVersion(9),
            (B1, B2, B3),
            (B3,),
        ),
        PartitionMetadata(
            "orders",
            300,
            ControllerEpoch(8),
            BrokerId(-2),
            LeaderEpoch(0),
            (B2,),
            ZkVersion(0),
            (B2, B1),
        ),
        PartitionMetadata(
            "pâtés",
            0,
            ControllerEpoch(8),
            BrokerId(-1),
            LeaderEpoch(4),
            (),
            ZkVersion(3),
            (B2,),
            (B2,),
        ),
    ),
    live_brokers=(
        Broker(
            B1,
            (
                Endpoint("one.example", 9092),
                Endpoint("one.example", 9093, "SAFE", "SASL_SSL"),
            ),
            rack="r1",
        ),
        Broker(B2, (Endpoint("two.example", 9092),)),
    ),
    topic_ids=TOPIC_IDS,
)


def stop_replica(*, is_mixed: bool) -> StopReplica:
    epochs = (5, -1, -2) if is_mixed else (-1, -1, -1)
    return StopReplica(
        **ADDRESSED,
        partitions=(
            StopReplicaPartition("orders", 0, LeaderEpoch(epochs[0]), delete=not is_mixed),
            StopReplicaPartition("orders", 300, LeaderEpoch(epochs[1]), delete=True),
            StopReplicaPartition("pâtés", 0, LeaderEpoch(epochs[2]), delete=True),
        ),
    )


def alter_partition(api_version: int) -> AlterPartition:
    topic = "orders" if api_version < 2 else ORDERS_ID
    return AlterPartition(
        broker_id=B3,
        broker_epoch=BrokerEpoch(1_234_567_890_123),
        proposals=(
            IsrProposal(topic, 0, LeaderEpoch(5), (B1, B2), ZkVersion(9)),
            IsrProposal(topic, 300, LeaderEpoch(6), (B2,), ZkVersion(10), recovering=True),
        ),
        version=api_version,
    )


def alter_partition_answer(api_version: int) -> AlterPartitionAnswer:
    topic = "orders" if api_version < 2 else ORDERS_ID
    fenced = ErrorCode.FENCED_LEADER_EPOCH
    return AlterPartitionAnswer(
        verdicts=(
            IsrVerdict(topic, 0, ErrorCode.NONE, B1, LeaderEpoch(5), (B1, B2), ZkVersion(10)),
            IsrVerdict(topic, 300, fenced, recovering=True),
        )
    )


CLUSTER_ID: Final = "uVZ3kq0pTPyq8m1yKk3x0A"
NODES: Final = (
    NodeAddress(B1, "one.example", 9092, "r1"),
    NodeAddress(B4, "four.example", 9093),
)
ORDERS: Final = ConfigResource(ResourceType.TOPIC, "orders")
ALTERED: Final = AlterConfigsAnswer(
    (
        ConfigResult(ORDERS),
        ConfigResult(
            ConfigResource(ResourceType.BROKER, "1"), ErrorCode.INVALID_CONFIG, "no such config"
        ),
    )
)

#: By the name of the API, requests and answers that are the same in every version.
REQUESTS: Final[dict[str, Struct]] = {
    "ControlledShutdown": ControlledShutdown(B3, BrokerEpoch(1_234_567_890_123)),
    "CreateTopics": CreateTopics(
        (
            NewTopic(
                "orders",
                assignments=((0, (B1, B2)),),
                configs=(("retention.ms", "1000"), ("cleanup.policy", None)),
            ),
        )
    ),
    "DeleteTopics": DeleteTopics(("orders", "pâtés")),
    "CreatePartitions": CreatePartitions(
        (MorePartitions("orders", 6), MorePartitions("pâtés", 2, ((B1, B2),))),
        validate_only=True,
    ),
    "ElectLeaders": ElectLeaders(
        ElectionType.PREFERRED, (TopicPartition("orders", 0), TopicPartition("orders", 300))
    ),
    "AlterPartitionReassignments": AlterReassignments(
        (ReassignmentTarget("orders", 0, (B1, B2)), ReassignmentTarget("orders", 300, None))
    ),
    "ListPartitionReassignments": ListReassignments(),
    "Metadata": Metadata(("orders", "pâtés"), may_create=False, with_cluster_operations=True),
    "DescribeCluster": DescribeCluster(with_operations=True, endpoint_type=2),
    "DescribeConfigs": DescribeConfigs(
        (
            ConfigQuestion(ORDERS, ("retention.ms",)),
            ConfigQuestion(ConfigResource(ResourceType.BROKER, "")),
        ),
        with_synonyms=True,
        with_documentation=True,
    ),
    "AlterConfigs": AlterConfigs(
        (ConfigReplacement(ORDERS, (("retention.ms", "1000"), ("cleanup.policy", None))),),
        validate_only=True,
    ),
    "IncrementalAlterConfigs": IncrementalAlterConfigs(
        (
            ConfigChanges(
                ORDERS,
                (
                    ConfigChange("cleanup.policy", ConfigOperation.APPEND, "compact"),
                    ConfigChange("retention.ms", ConfigOperation.DELETE),
                ),
            ),
        )
    ),
    "AllocateProducerIds": AllocateProducerIds(B3, BrokerEpoch(1_234_567_890_123)),
}
ANSWERS: Final[dict[str, Struct]] = {
    "LeaderAndIsr": CONTROL_ANSWER,
    "UpdateMetadata": ControlAnswer(ErrorCode.STALE_CONTROLLER_EPOCH),
    "StopReplica": CONTROL_ANSWER,
    "ControlledShutdown": ControlledShutdownAnswer(
        remaining=(TopicPartition("orders", 0), TopicPartition("pâtés", 300))
    ),
    "CreateTopics": CreateTopicsAnswer(
        (
            TopicResult("orders", topic_id=ORDERS_ID, partition_count=1, replication_factor=2),
            TopicResult("pâtés", ErrorCode.TOPIC_ALREADY_EXISTS, "it exists"),
        )
    ),
    "DeleteTopics": DeleteTopicsAnswer(
        (
            TopicResult("orders", topic_id=ORDERS_ID),
            TopicResult("pâtés", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is none"),
        )
    ),
    "CreatePartitions": CreatePartitionsAnswer(
        (
            TopicResult("orders"),
            TopicResult("pâtés", ErrorCode.INVALID_PARTITIONS, "it has as many"),
        )
    ),
    "ElectLeaders": ElectLeadersAnswer(
        results=(
            PartitionResult("orders", 0),
            PartitionResult("orders", 300, ErrorCode.ELECTION_NOT_NEEDED, "no need"),
        )
    ),
    "AlterPartitionReassignments": AlterReassignmentsAnswer(
        results=(
            PartitionResult("orders", 0),
            PartitionResult("orders", 300, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "none runs"),
        )
    ),
    "ListPartitionReassignments": ListReassignmentsAnswer(
        moving=(
            (TopicPartition("orders", 0), Assignment((B3, B1, B2), adding=(B3,), removing=(B2,))),
        )
    ),
    "Metadata": MetadataAnswer(
        NODES,
        CLUSTER_ID,
        B4,
        (
            TopicDescription(
                "orders",
                is_internal=True,
                partitions=(
                    PartitionDescription(
                        0, ErrorCode.NONE, B1, LeaderEpoch(5), (B1, B2, B3), (B1, B2), (B3,)
                    ),
                    PartitionDescription(
                        300,
                        ErrorCode.LEADER_NOT_AVAILABLE,
                        BrokerId(-1),
                        LeaderEpoch(6),
                        (B2,),
                        (B2,),
                        (B2,),
                    ),
                ),
                operations=3576,
            ),
            TopicDescription("pâtés", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ),
        cluster_operations=7584,
    ),
    "DescribeCluster": DescribeClusterAnswer(
        ErrorCode.MISMATCHED_ENDPOINT_TYPE, "no such", 2, CLUSTER_ID, B4, NODES, 7584
    ),
    "DescribeConfigs": DescribeConfigsAnswer(
        (
            ConfigDescription(
                ORDERS,
                entries=(
                    ConfigEntry(
                        "retention.ms",
                        "1000",
                        ConfigSource.TOPIC,
                        synonyms=(
                            ConfigSynonym("retention.ms", "1000", ConfigSource.TOPIC),
                            ConfigSynonym("log.retention.ms", None, ConfigSource.DEFAULT),
                        ),
                        kind=ConfigType.LONG,
                        documentation="how long",
                    ),
                    ConfigEntry(
                        "cleanup.policy",
                        None,
                        ConfigSource.DEFAULT,
                        is_read_only=True,
                        is_sensitive=True,
                        kind=ConfigType.LIST,
                    ),
                ),
            ),
            ConfigDescription(
                ConfigResource(ResourceType.TOPIC, "pâtés"),
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "there is none",
            ),
        )
    ),
    "AlterConfigs": ALTERED,
    "IncrementalAlterConfigs": ALTERED,
    "AllocateProducerIds": AllocateProducerIdsAnswer(ErrorCode.NONE, 5000, 1000),
}


def request_of(api_name: str, api_version: int) -> Struct:
    """The request that stands in the golden messages of this API and version."""
    match api_name:
        case "LeaderAndIsr":
            return LEADER_AND_ISR
        case "UpdateMetadata":
            return UPDATE_METADATA
        case "StopReplica":
            return stop_replica(is_mixed=api_version >= 3)
        case "AlterPartition":
            return alter_partition(api_version)
        case _ if api_name in CLIENT_REQUESTS:
            return client_request(api_name, api_version)
        case _:
            return REQUESTS[api_name]


def answer_of(api_name: str, api_version: int) -> Struct:
    """The answer that stands in the golden messages of this API and version."""
    if api_name == "AlterPartition":
        return alter_partition_answer(api_version)
    if api_name in CLIENT_REQUESTS:
        return client_answer(api_name, api_version)
    if api_name == "LeaderAndIsr" and api_version >= 5:
        return ControlAnswer(ErrorCode.NONE, PARTITION_ERRORS[:2])
    return ANSWERS[api_name]
