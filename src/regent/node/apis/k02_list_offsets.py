"""ListOffsets, versions 1 to 5: where a log begins and ends, and what was written when."""

from typing import Final

from regent.broker.log_failures import LOG_FAILURES, code_of
from regent.model.error_codes import ErrorCode
from regent.model.log_requests import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    FoundOffset,
    ListOffsets,
    ListOffsetsAnswer,
    OffsetQuestion,
)
from regent.node.broker_host import BrokerHost, log_of
from regent.node.services import Services
from regent.wire.exchange import Call

#: From this version on clients know OFFSET_NOT_AVAILABLE (KIP-207).
_KNOWS_NOT_AVAILABLE: Final = 5


async def answer(call: Call, services: Services) -> ListOffsetsAnswer:
    """One answer to each question; consumers see no further than the high watermark."""
    request: ListOffsets = call.request
    not_yet = (
        ErrorCode.OFFSET_NOT_AVAILABLE
        if call.header.api_version >= _KNOWS_NOT_AVAILABLE
        else ErrorCode.LEADER_NOT_AVAILABLE
    )
    found = (_find(each, services.host, not_yet) for each in request.questions)
    return ListOffsetsAnswer(tuple(found))


def _find(question: OffsetQuestion, host: BrokerHost, not_yet: ErrorCode) -> FoundOffset:
    """`not_yet` is for what a new leader cannot say: how much its predecessor had committed."""
    name = question.name
    hosted = host.led(name, question.current_leader_epoch)
    if isinstance(hosted, ErrorCode):
        return FoundOffset(name, hosted)
    log, timestamp = log_of(hosted), -1
    is_settled = hosted.high_watermark >= hosted.epoch_start_offset
    if question.timestamp == LATEST_TIMESTAMP:
        if not is_settled:
            return FoundOffset(name, not_yet)
        offset = hosted.high_watermark
    elif question.timestamp == EARLIEST_TIMESTAMP:
        offset = log.start_offset
    else:
        try:
            found = log.offset_for_timestamp(question.timestamp)
        except LOG_FAILURES as failure:
            return FoundOffset(name, code_of(failure))
        if found is None or found.offset >= hosted.high_watermark:
            return FoundOffset(name, ErrorCode.NONE if is_settled or found is None else not_yet)
        offset, timestamp = found.offset, found.timestamp
    return FoundOffset(name, ErrorCode.NONE, timestamp, offset, hosted.leader_epoch)
