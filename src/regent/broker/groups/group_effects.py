"""What a group coordinator wants done. Effects are carried out in order.

Every `AppendGroupRecords` must end in exactly one call of `GroupCoordinator.appended`, also when
this broker has stopped leading the partition: somebody waits for it.
"""

from typing import TypeAlias

from msgspec import Struct

from regent.model.group_requests import GroupAnswer


class AnswerGroupRequest(Struct, frozen=True):
    """Answer a caller; each request is answered once, whatever happens to its group."""

    request_id: int
    answer: GroupAnswer


class GroupRecord(Struct, frozen=True):
    """A record of the offsets topic; without a value it deletes what the key names."""

    key: bytes
    value: bytes | None


class AppendGroupRecords(Struct, frozen=True):
    """Append one batch to a partition of the offsets topic with acks=all.

    The outcome goes to `appended`: NONE once it is committed, else why it is not.
    """

    append_id: int
    partition: int
    records: tuple[GroupRecord, ...]


class SetGroupTimer(Struct, frozen=True):
    """Call `timer_rang` with this name after a while; one that is already set is set anew."""

    name: str
    after_ms: int


class ReportUnreadableRecord(Struct, frozen=True):
    """A record of the offsets topic was passed over while loading; tell somebody."""

    partition: int
    reason: str


GroupEffect: TypeAlias = (
    AnswerGroupRequest | AppendGroupRecords | SetGroupTimer | ReportUnreadableRecord
)
