"""ListGroups, DescribeGroups and DeleteGroups to and from the model; kio has the messages."""

from typing import Any

from regent.model.cluster_requests import OPERATIONS_UNTOLD
from regent.model.group_requests import (
    DeleteGroups,
    DeleteGroupsAnswer,
    DescribedGroup,
    DescribedMember,
    DescribeGroups,
    DescribeGroupsAnswer,
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
)
from regent.wire.message_tables import Values
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error

# --- ListGroups ---------------------------------------------------------------------------------


def listing_values(_: ListGroups) -> Values:
    """There is nothing to say."""
    return {}


def listing_from(_: Any) -> ListGroups:
    """There is nothing to read."""
    return ListGroups()


def listing_answer_values(answer: ListGroupsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "groups": [
            {"group_id": group.group_id, "protocol_type": group.protocol_type}
            for group in answer.groups
        ],
    }


def listing_answer_from(payload: Any) -> ListGroupsAnswer:
    """What `listing_answer_values` wrote."""
    return ListGroupsAnswer(
        from_kio_error(payload.error_code),
        tuple(ListedGroup(group.group_id, group.protocol_type) for group in payload.groups),
    )


# --- DescribeGroups -----------------------------------------------------------------------------


def description_values(request: DescribeGroups) -> Values:
    """The content for all versions; what the caller may do with a group is never asked."""
    return {"groups": request.group_ids, "include_authorized_operations": False}


def description_from(payload: Any) -> DescribeGroups:
    """Whoever asks what it may do as well is not told."""
    return DescribeGroups(tuple(payload.groups))


def description_answer_values(answer: DescribeGroupsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "groups": [
            {
                "error_code": to_kio_error(group.error),
                "group_id": group.group_id,
                "group_state": group.state,
                "protocol_type": group.protocol_type,
                "protocol_data": group.protocol_name,
                "members": list(map(_member_values, group.members)),
                "authorized_operations": OPERATIONS_UNTOLD,
            }
            for group in answer.groups
        ],
    }


def _member_values(member: DescribedMember) -> Values:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_metadata": member.metadata,
        "member_assignment": member.assignment,
    }


def description_answer_from(payload: Any) -> DescribeGroupsAnswer:
    """What `description_answer_values` wrote."""
    return DescribeGroupsAnswer(
        tuple(
            DescribedGroup(
                group_id=group.group_id,
                error=from_kio_error(group.error_code),
                state=group.group_state,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_data,
                members=tuple(map(_member_from, group.members)),
            )
            for group in payload.groups
        )
    )


def _member_from(member: Any) -> DescribedMember:
    return DescribedMember(
        member_id=member.member_id,
        group_instance_id=getattr(member, "group_instance_id", None),
        client_id=member.client_id,
        client_host=member.client_host,
        metadata=member.member_metadata,
        assignment=member.member_assignment,
    )


# --- DeleteGroups -------------------------------------------------------------------------------


def deletion_values(request: DeleteGroups) -> Values:
    """The content for all versions."""
    return {"groups_names": request.group_ids}


def deletion_from(payload: Any) -> DeleteGroups:
    """What `deletion_values` wrote."""
    return DeleteGroups(tuple(payload.groups_names))


def deletion_answer_values(answer: DeleteGroupsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "results": [
            {"group_id": group_id, "error_code": to_kio_error(error)}
            for group_id, error in answer.results
        ],
    }


def deletion_answer_from(payload: Any) -> DeleteGroupsAnswer:
    """What `deletion_answer_values` wrote."""
    return DeleteGroupsAnswer(
        tuple((entry.group_id, from_kio_error(entry.error_code)) for entry in payload.results)
    )
