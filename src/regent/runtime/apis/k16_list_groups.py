"""ListGroups, versions 0 to 2: the groups that this node coordinates, which are none.

Tools ask every node that is listed, and give up if one of them does not understand.
"""

from regent.model.group_requests import ListGroupsAnswer
from regent.runtime.desk import Desk
from regent.wire.exchange import Call


async def answer(_call: Call, _desk: Desk) -> ListGroupsAnswer:
    """Groups are for brokers."""
    return ListGroupsAnswer()
