"""One request and one answer for each API that clients ask of brokers, with a bit of everything."""

from typing import Final

from msgspec import Struct

from regent.model.coordinator_requests import (
    CoordinatorType,
    FindCoordinator,
    FindCoordinatorAnswer,
)
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DeleteGroups,
    DeleteGroupsAnswer,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsAnswer,
    FetchedOffset,
    GroupHeartbeat,
    GroupHeartbeatAnswer,
    GroupProtocol,
    JoinedMember,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
    MemberAssignment,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    OffsetToCommit,
    SyncGroup,
    SyncGroupAnswer,
)
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.log_requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    DeleteRecords,
    DeleteRecordsAnswer,
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    FoundOffset,
    LeaderEpochEnd,
    LeaderEpochQuestion,
    ListOffsets,
    ListOffsetsAnswer,
    LogDirDescription,
    LogSize,
    OffsetForLeaderEpoch,
    OffsetForLeaderEpochAnswer,
    OffsetQuestion,
    RecordsDeleted,
    RecordsToDelete,
)
from regent.model.producer_ids import InitProducerId, InitProducerIdAnswer
from regent.model.record_requests import (
    AbortedTransaction,
    Acks,
    AppendResult,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionRecords,
    PartitionToFetch,
    Produce,
    ProduceAnswer,
    RecordError,
)
from regent.model.sasl_requests import SaslHandshake, SaslHandshakeAnswer

ORDERS_0: Final = TopicPartition("orders", 0)
ORDERS_300: Final = TopicPartition("orders", 300)
OTHER_0: Final = TopicPartition("pâtés", 0)
SUBSCRIPTION: Final = b"\0\1orders"

#: By the name of the API. Values that versions cannot say are cut by `client_versions`.
CLIENT_REQUESTS: Final[dict[str, Struct]] = {
    "Produce": Produce(
        Acks.ALL,
        30_000,
        (
            PartitionRecords(ORDERS_0, b"first records"),
            PartitionRecords(ORDERS_300, b""),
            PartitionRecords(OTHER_0, None),
        ),
        "payments",
    ),
    "Fetch": FetchRecords(
        (
            PartitionToFetch(ORDERS_0, 5_000_000_000, 1_048_576, LeaderEpoch(5), 17),
            PartitionToFetch(ORDERS_300, 0, 1_048_576),
            PartitionToFetch(OTHER_0, 1, 10, LeaderEpoch(6), 0),
        ),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=10_485_760,
        replica_id=BrokerId(3),
        isolation_level=1,
        session_id=77,
        session_epoch=4,
        forgotten=(TopicPartition("gone", 0), TopicPartition("gone", 2)),
        rack_id="r1",
    ),
    "ListOffsets": ListOffsets(
        (
            OffsetQuestion(ORDERS_0, EARLIEST_TIMESTAMP, LeaderEpoch(5)),
            OffsetQuestion(ORDERS_300, LATEST_TIMESTAMP),
            OffsetQuestion(OTHER_0, 1_700_000_000_000, LeaderEpoch(6)),
        ),
        isolation_level=1,
    ),
    "OffsetForLeaderEpoch": OffsetForLeaderEpoch(
        (
            LeaderEpochQuestion(ORDERS_0, LeaderEpoch(5), LeaderEpoch(4)),
            LeaderEpochQuestion(ORDERS_300, LeaderEpoch(-1), LeaderEpoch(0)),
            LeaderEpochQuestion(OTHER_0, LeaderEpoch(6), LeaderEpoch(6)),
        ),
        BrokerId(3),
    ),
    "FindCoordinator": FindCoordinator("readers", CoordinatorType.TRANSACTION),
    "JoinGroup": JoinGroup(
        group_id="readers",
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        member_id="m-1",
        group_instance_id="i-1",
        protocols=(GroupProtocol("range", SUBSCRIPTION), GroupProtocol("sticky")),
    ),
    "SyncGroup": SyncGroup(
        group_id="readers",
        generation_id=7,
        member_id="m-1",
        group_instance_id="i-1",
        assignments=(MemberAssignment("m-1", b"\0\0\0\1"), MemberAssignment("m-2")),
    ),
    "Heartbeat": GroupHeartbeat(
        group_id="readers", generation_id=7, member_id="m-1", group_instance_id="i-1"
    ),
    "LeaveGroup": LeaveGroup(
        "readers", (LeavingMember("m-1"), LeavingMember(group_instance_id="i-1"))
    ),
    "OffsetCommit": OffsetCommit(
        group_id="readers",
        offsets=(
            OffsetToCommit("orders", 0, 5_000_000_000, 5, "note"),
            OffsetToCommit("orders", 300, 1, metadata=None),
            OffsetToCommit("pâtés", 0, 0),
        ),
        generation_id=7,
        member_id="m-1",
        group_instance_id="i-1",
        retention_ms=86_400_000,
    ),
    "OffsetFetch": OffsetFetch("readers", (ORDERS_0, ORDERS_300, OTHER_0)),
    "InitProducerId": InitProducerId("payments", 60_000),
    "ListGroups": ListGroups(),
    "DescribeGroups": DescribeGroups(("readers", "pâtés")),
    "DeleteGroups": DeleteGroups(("readers", "pâtés")),
    "DeleteRecords": DeleteRecords(
        (RecordsToDelete(ORDERS_0, 5_000_000_000), RecordsToDelete(ORDERS_300, -1))
    ),
    "DescribeLogDirs": DescribeLogDirs((ORDERS_0, ORDERS_300)),
    "OffsetDelete": OffsetDelete("readers", (ORDERS_0, ORDERS_300)),
    "SaslHandshake": SaslHandshake("PLAIN"),
}
CLIENT_ANSWERS: Final[dict[str, Struct]] = {
    "Produce": ProduceAnswer(
        (
            AppendResult(ORDERS_0, base_offset=5_000_000_000, log_start_offset=17),
            AppendResult(
                ORDERS_300,
                ErrorCode.INVALID_RECORD,
                log_append_time_ms=1_700_000_000_000,
                record_errors=(RecordError(2, "no key"), RecordError(3)),
                message="invalid",
            ),
            AppendResult(OTHER_0, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        )
    ),
    "Fetch": FetchRecordsAnswer(
        session_id=77,
        partitions=(
            FetchedRecords(
                ORDERS_0, ErrorCode.NONE, 5_000_000_003, 5_000_000_002, 17, records=b"records"
            ),
            FetchedRecords(
                ORDERS_300,
                ErrorCode.NONE,
                9,
                8,
                0,
                (AbortedTransaction(4_000, 6),),
                BrokerId(2),
            ),
            FetchedRecords(
                OTHER_0, ErrorCode.OFFSET_OUT_OF_RANGE, aborted_transactions=(), records=None
            ),
        ),
    ),
    "ListOffsets": ListOffsetsAnswer(
        (
            FoundOffset(ORDERS_0, offset=17, leader_epoch=LeaderEpoch(2)),
            FoundOffset(ORDERS_300, ErrorCode.UNKNOWN_LEADER_EPOCH),
            FoundOffset(OTHER_0, ErrorCode.NONE, 1_700_000_000_001, 5_000_000_000, LeaderEpoch(6)),
        )
    ),
    "OffsetForLeaderEpoch": OffsetForLeaderEpochAnswer(
        (
            LeaderEpochEnd(ORDERS_0, ErrorCode.NONE, LeaderEpoch(4), 5_000_000_000),
            LeaderEpochEnd(ORDERS_300, ErrorCode.FENCED_LEADER_EPOCH),
            LeaderEpochEnd(OTHER_0, ErrorCode.NONE, LeaderEpoch(6), 1),
        )
    ),
    "FindCoordinator": FindCoordinatorAnswer(
        ErrorCode.COORDINATOR_NOT_AVAILABLE, "not yet", BrokerId(2), "two.example", 9092
    ),
    "JoinGroup": JoinGroupAnswer(
        generation_id=7,
        protocol_name="range",
        leader_id="m-1",
        member_id="m-1",
        members=(JoinedMember("m-1", "i-1", SUBSCRIPTION), JoinedMember("m-2")),
    ),
    "SyncGroup": SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS, b"\0\0\0\1"),
    "Heartbeat": GroupHeartbeatAnswer(ErrorCode.ILLEGAL_GENERATION),
    "LeaveGroup": LeaveGroupAnswer(
        members=(
            LeftMember("m-1", error=ErrorCode.UNKNOWN_MEMBER_ID),
            LeftMember("", "i-1"),
        )
    ),
    "OffsetCommit": OffsetCommitAnswer(
        (
            (ORDERS_0, ErrorCode.NONE),
            (ORDERS_300, ErrorCode.OFFSET_METADATA_TOO_LARGE),
            (OTHER_0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        )
    ),
    "OffsetFetch": OffsetFetchAnswer(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        (
            FetchedOffset("orders", 0, 5_000_000_000, 5, "note"),
            FetchedOffset("orders", 300, error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        ),
    ),
    "InitProducerId": InitProducerIdAnswer(ErrorCode.NONE, 5_000_000_000, 3),
    "ListGroups": ListGroupsAnswer(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        (ListedGroup("readers", "consumer"), ListedGroup("pâtés")),
    ),
    "DescribeGroups": DescribeGroupsAnswer(
        (
            DescribedGroup(
                group_id="readers",
                state="Stable",
                protocol_type="consumer",
                protocol_name="range",
                members=(
                    DescribedMember(
                        member_id="m-1",
                        group_instance_id="i-1",
                        client_id="reader",
                        client_host="/10.0.0.9",
                        metadata=SUBSCRIPTION,
                        assignment=b"\0\0\0\1",
                    ),
                ),
            ),
            DescribedGroup(group_id="pâtés", error=ErrorCode.NOT_COORDINATOR),
        )
    ),
    "DeleteGroups": DeleteGroupsAnswer(
        (("readers", ErrorCode.NON_EMPTY_GROUP), ("pâtés", ErrorCode.NONE))
    ),
    "DeleteRecords": DeleteRecordsAnswer(
        (
            RecordsDeleted(ORDERS_0, ErrorCode.NONE, 5_000_000_000),
            RecordsDeleted(ORDERS_300, ErrorCode.OFFSET_OUT_OF_RANGE),
        )
    ),
    "DescribeLogDirs": DescribeLogDirsAnswer(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        (
            LogDirDescription(
                "/data/a",
                logs=(
                    LogSize(ORDERS_0, 5_000_000_000),
                    LogSize(ORDERS_300, 9, offset_lag=4, is_future=True),
                ),
                total_bytes=100_000_000_000,
                usable_bytes=7,
            ),
            LogDirDescription("/data/b", ErrorCode.KAFKA_STORAGE_ERROR),
        ),
    ),
    "OffsetDelete": OffsetDeleteAnswer(
        results=(
            (ORDERS_0, ErrorCode.NONE),
            (ORDERS_300, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
        )
    ),
    "SaslHandshake": SaslHandshakeAnswer(ErrorCode.ILLEGAL_SASL_STATE, ("PLAIN", "SCRAM-SHA-256")),
}

#: Versions of LeaveGroup below 3 are about one member, known by its id.
ONE_LEAVES: Final = LeaveGroup("readers", (LeavingMember("m-1"),))
ONE_LEFT: Final = LeaveGroupAnswer(ErrorCode.UNKNOWN_MEMBER_ID)


def client_request(api_name: str, api_version: int) -> Struct:
    """The request that is tried in this version."""
    if api_name == "LeaveGroup" and api_version < 3:
        return ONE_LEAVES
    return CLIENT_REQUESTS[api_name]


def client_answer(api_name: str, api_version: int) -> Struct:
    """The answer that is tried in this version."""
    if api_name == "LeaveGroup" and api_version < 3:
        return ONE_LEFT
    return CLIENT_ANSWERS[api_name]
