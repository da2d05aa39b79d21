"""What is left of a client's request, or of its answer, in an older version: a table."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from regent.model.coordinator_requests import FindCoordinator, FindCoordinatorAnswer
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DescribeGroupsAnswer,
    GroupHeartbeat,
    JoinGroup,
    JoinGroupAnswer,
    OffsetCommit,
    OffsetFetchAnswer,
    SyncGroup,
)
from regent.model.log_requests import (
    DescribeLogDirsAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    OffsetForLeaderEpoch,
)
from regent.model.record_requests import FetchRecords, FetchRecordsAnswer, ProduceAnswer


class Lost(NamedTuple):
    """Before version `since`, `field` is not said, and its reader takes it for `instead`."""

    since: int
    #: With a dot: a field of each item.
    field: str
    instead: Any


# fmt: off
LOST: Final[dict[type[Struct], tuple[Lost, ...]]] = {
    ProduceAnswer: (
        Lost(5, "results.log_start_offset", -1),
        Lost(8, "results.record_errors", ()),
        Lost(8, "results.message", None),
    ),
    FetchRecords: (
        Lost(5, "partitions.log_start_offset", -1),
        Lost(7, "session_id", 0),
        Lost(7, "session_epoch", -1),
        Lost(7, "forgotten", ()),
        Lost(9, "partitions.current_leader_epoch", -1),
        Lost(11, "rack_id", ""),
    ),
    FetchRecordsAnswer: (
        Lost(5, "partitions.log_start_offset", -1),
        Lost(7, "session_id", 0),
        Lost(7, "error", ErrorCode.NONE),
        Lost(11, "partitions.preferred_read_replica", -1),
    ),
    ListOffsets: (
        Lost(2, "isolation_level", 0),
        Lost(4, "questions.current_leader_epoch", -1),
    ),
    ListOffsetsAnswer: (Lost(4, "offsets.leader_epoch", -1),),
    OffsetForLeaderEpoch: (Lost(3, "replica_id", -2),),
    FindCoordinator: (Lost(1, "key_type", 0),),
    FindCoordinatorAnswer: (Lost(1, "message", None),),
    JoinGroup: (
        Lost(1, "rebalance_timeout_ms", 45_000),
        Lost(4, "needs_known_member", False),
        Lost(5, "group_instance_id", None),
    ),
    JoinGroupAnswer: (Lost(5, "members.group_instance_id", None),),
    SyncGroup: (Lost(3, "group_instance_id", None),),
    GroupHeartbeat: (Lost(3, "group_instance_id", None),),
    OffsetCommit: (
        Lost(6, "offsets.leader_epoch", -1),
        Lost(7, "group_instance_id", None),
    ),
    OffsetFetchAnswer: (
        Lost(2, "error", ErrorCode.NONE),
        Lost(5, "offsets.leader_epoch", -1),
    ),
    DescribeLogDirsAnswer: (
        Lost(3, "error", ErrorCode.NONE),
        Lost(4, "log_dirs.total_bytes", -1),
        Lost(4, "log_dirs.usable_bytes", -1),
    ),
}
# fmt: on


def said_by_version(value: Struct, version: int) -> Struct:
    """The value as far as a version can say it."""
    for lost in LOST.get(type(value), ()):
        if version < lost.since:
            value = _without(value, lost)
    further = FURTHER.get(type(value))
    return value if further is None else further(value, version)


def _without(value: Struct, lost: Lost) -> Struct:
    items_field, _, field = lost.field.rpartition(".")
    if not items_field:
        return replace(value, **{field: lost.instead})
    items = tuple(replace(item, **{field: lost.instead}) for item in getattr(value, items_field))
    return replace(value, **{items_field: items})


def _commit(request: OffsetCommit, version: int) -> Struct:
    """The other way round: how long a commit is kept is not said any more."""
    return request if version < 5 else replace(request, retention_ms=None)


def _descriptions(answer: DescribeGroupsAnswer, version: int) -> Struct:
    if version >= 4:
        return answer
    groups = tuple(
        replace(
            group,
            members=tuple(replace(member, group_instance_id=None) for member in group.members),
        )
        for group in answer.groups
    )
    return DescribeGroupsAnswer(groups)


FURTHER: Final[dict[type[Struct], Callable[[Any, int], Struct]]] = {
    OffsetCommit: _commit,
    DescribeGroupsAnswer: _descriptions,
}
