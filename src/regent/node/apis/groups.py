"""JoinGroup and all others that the coordinator of a group answers: keys 8, 9, 11 to 16, 42, 47."""

from typing import Final

from regent.model.group_requests import GroupAnswer
from regent.node.services import Services
from regent.wire.apis import ApiKey
from regent.wire.exchange import Call

GROUP_APIS: Final = frozenset(
    {
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_DELETE,
    }
)


async def answer(call: Call, peer: str, services: Services) -> GroupAnswer:
    """The coordinator says when; a join waits for the others."""
    client_host = "/" + peer.rpartition(":")[0]
    return await services.groups.ask(call.request, call.header.client_id or "", client_host)
