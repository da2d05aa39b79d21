"""ListGroups and DescribeGroups: groups as people look at them."""

from collections.abc import Iterable

from regent.broker.groups.group import Group
from regent.broker.groups.group_states import DEAD, STABLE
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    DescribedGroup,
    DescribedMember,
    ListedGroup,
    ListGroupsAnswer,
)


def list_groups(groups: Iterable[Group], *, is_loading: bool) -> ListGroupsAnswer:
    """Those that are loaded; more may come while some partition is being read."""
    error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_loading else ErrorCode.NONE
    listed = (
        ListedGroup(group.group_id, group.protocol_type or "", group.state.value)
        for group in groups
        if group.state is not DEAD
    )
    return ListGroupsAnswer(error, tuple(listed))


def describe_group(group_id: str, group: Group | None) -> DescribedGroup:
    """What its members want and have is only said while it holds for all of them."""
    if group is None:
        return DescribedGroup(group_id=group_id, state=DEAD.value)
    is_stable = group.state is STABLE
    return DescribedGroup(
        group_id=group_id,
        state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_name=(group.protocol_name or "") if is_stable else "",
        members=tuple(
            DescribedMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                metadata=member.metadata(group.protocol_name) if is_stable else b"",
                assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ),
    )
