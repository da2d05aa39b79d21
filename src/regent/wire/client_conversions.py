"""How the APIs of clients go to and from the model: the table, and nothing else.

Their answers need to know no more of a request than its version. Produce and Fetch are not here:
they have codecs of their own.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from regent.model.coordinator_requests import FindCoordinator
from regent.model.group_requests import (
    DeleteGroups,
    DescribeGroups,
    GroupHeartbeat,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
)
from regent.model.log_requests import (
    DeleteRecords,
    DescribeLogDirs,
    ListOffsets,
    OffsetForLeaderEpoch,
)
from regent.model.producer_ids import InitProducerId
from regent.model.sasl_requests import SaslHandshake
from regent.wire import (
    coordinators,
    group_listings,
    group_membership,
    group_offsets,
    log_dirs,
    log_positions,
    producer_ids,
    sasl,
)
from regent.wire.apis import ApiKey

#: Takes a value of the model or a message, and the version.
Convert: TypeAlias = Callable[[Any, int], Any]


class ClientConversion(Struct, frozen=True):
    """One API: its request in the model, and how request and answer are written and read."""

    request_type: type[Struct]
    request_values: Convert
    request_from: Convert
    answer_values: Convert
    answer_from: Convert


def always(convert: Callable[[Any], Any]) -> Convert:
    """For what is the same in every version."""
    return lambda value, _: convert(value)


CLIENT_CONVERSIONS: Final[Mapping[ApiKey, ClientConversion]] = {
    ApiKey.LIST_OFFSETS: ClientConversion(
        ListOffsets,
        always(log_positions.listing_values),
        always(log_positions.listing_from),
        always(log_positions.listing_answer_values),
        always(log_positions.listing_answer_from),
    ),
    ApiKey.OFFSET_COMMIT: ClientConversion(
        OffsetCommit,
        always(group_offsets.commit_values),
        always(group_offsets.commit_from),
        always(group_offsets.commit_answer_values),
        always(group_offsets.commit_answer_from),
    ),
    ApiKey.OFFSET_FETCH: ClientConversion(
        OffsetFetch,
        group_offsets.fetch_values,
        always(group_offsets.fetch_from),
        always(group_offsets.fetch_answer_values),
        always(group_offsets.fetch_answer_from),
    ),
    ApiKey.FIND_COORDINATOR: ClientConversion(
        FindCoordinator,
        always(coordinators.request_values),
        always(coordinators.request_from),
        always(coordinators.answer_values),
        always(coordinators.answer_from),
    ),
    ApiKey.JOIN_GROUP: ClientConversion(
        JoinGroup,
        always(group_membership.join_values),
        group_membership.join_from,
        always(group_membership.join_answer_values),
        always(group_membership.join_answer_from),
    ),
    ApiKey.HEARTBEAT: ClientConversion(
        GroupHeartbeat,
        always(group_membership.heartbeat_values),
        always(group_membership.heartbeat_from),
        always(group_membership.heartbeat_answer_values),
        always(group_membership.heartbeat_answer_from),
    ),
    ApiKey.LEAVE_GROUP: ClientConversion(
        LeaveGroup,
        group_membership.leave_values,
        group_membership.leave_from,
        group_membership.leave_answer_values,
        always(group_membership.leave_answer_from),
    ),
    ApiKey.SYNC_GROUP: ClientConversion(
        SyncGroup,
        always(group_membership.sync_values),
        always(group_membership.sync_from),
        always(group_membership.sync_answer_values),
        always(group_membership.sync_answer_from),
    ),
    ApiKey.DESCRIBE_GROUPS: ClientConversion(
        DescribeGroups,
        always(group_listings.description_values),
        always(group_listings.description_from),
        always(group_listings.description_answer_values),
        always(group_listings.description_answer_from),
    ),
    ApiKey.LIST_GROUPS: ClientConversion(
        ListGroups,
        always(group_listings.listing_values),
        always(group_listings.listing_from),
        always(group_listings.listing_answer_values),
        always(group_listings.listing_answer_from),
    ),
    ApiKey.SASL_HANDSHAKE: ClientConversion(
        SaslHandshake,
        always(sasl.request_values),
        always(sasl.request_from),
        always(sasl.answer_values),
        always(sasl.answer_from),
    ),
    ApiKey.DELETE_RECORDS: ClientConversion(
        DeleteRecords,
        always(log_positions.deletion_values),
        always(log_positions.deletion_from),
        always(log_positions.deletion_answer_values),
        always(log_positions.deletion_answer_from),
    ),
    ApiKey.INIT_PRODUCER_ID: ClientConversion(
        InitProducerId,
        always(producer_ids.init_values),
        always(producer_ids.init_from),
        always(producer_ids.init_answer_values),
        always(producer_ids.init_answer_from),
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: ClientConversion(
        OffsetForLeaderEpoch,
        always(log_positions.epoch_values),
        always(log_positions.epoch_from),
        always(log_positions.epoch_answer_values),
        always(log_positions.epoch_answer_from),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: ClientConversion(
        DescribeLogDirs,
        always(log_dirs.request_values),
        always(log_dirs.request_from),
        always(log_dirs.answer_values),
        always(log_dirs.answer_from),
    ),
    ApiKey.DELETE_GROUPS: ClientConversion(
        DeleteGroups,
        always(group_listings.deletion_values),
        always(group_listings.deletion_from),
        always(group_listings.deletion_answer_values),
        always(group_listings.deletion_answer_from),
    ),
    ApiKey.OFFSET_DELETE: ClientConversion(
        OffsetDelete,
        always(group_offsets.deletion_values),
        always(group_offsets.deletion_from),
        always(group_offsets.deletion_answer_values),
        always(group_offsets.deletion_answer_from),
    ),
}
