"""One member of a group, as its coordinator knows it."""

from collections.abc import Container
from typing import Final

from msgspec import Struct

from regent.broker.broker_config import NEVER_MS
from regent.model.group_requests import GroupProtocol

#: So that an id made of a client's name still fits where Kafka's protocol has a string.
_PREFIX_MAX: Final = 8_000


class GroupCaller(Struct, frozen=True):
    """Who sends a request, as far as the request itself does not say."""

    client_id: str = ""
    client_host: str = ""
    #: A text that nobody had before (Kafka takes a UUID): what tells a new member from all others.
    unique: str = ""

    def new_member_id(self, group_instance_id: str | None) -> str:
        """The id that this caller gets if it needs one."""
        prefix = self.client_id if group_instance_id is None else group_instance_id
        return f"{prefix[:_PREFIX_MAX]}-{self.unique}"


class GroupMember(Struct, eq=False, kw_only=True):
    """Lives as long as its session, and a static one for as many sessions as it likes."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    #: In the order of preference.
    protocols: tuple[GroupProtocol, ...] = ()
    #: From the leader of the generation; empty while there is none.
    assignment: bytes = b""
    #: Has never been answered: it cannot send heartbeats, and a time limit of its own holds.
    is_new: bool = False
    #: When its session ends, unless it is heard of before.
    deadline_ms: int = NEVER_MS
    #: The JoinGroup that waits for the others, and the SyncGroup that waits for the leader.
    waiting_join: int | None = None
    waiting_sync: int | None = None

    def protocol_names(self) -> tuple[str, ...]:
        """Each once, even if it was said twice."""
        return tuple(dict.fromkeys(protocol.name for protocol in self.protocols))

    def metadata(self, protocol_name: str | None) -> bytes:
        """What it said along with this protocol."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""

    def vote(self, candidates: Container[str]) -> str:
        """The one it likes best of those that all members know."""
        return next(each.name for each in self.protocols if each.name in candidates)

    def session_ends_ms(self) -> int:
        """Whoever waits for the coordinator need not prove to be alive, but newcomers must."""
        is_waiting = self.waiting_join is not None or self.waiting_sync is not None
        return NEVER_MS if is_waiting and not self.is_new else self.deadline_ms

    def heard_of(self, now_ms: int) -> None:
        """The session begins anew; that of a newcomer has not begun."""
        if not self.is_new:
            self.deadline_ms = now_ms + self.session_timeout_ms
