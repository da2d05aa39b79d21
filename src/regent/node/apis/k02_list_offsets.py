"""ListOffsets, versions 1 to 5: where a log begins and ends, and what was written when."""

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


async def answer(call: Call, services: Services) -> ListOffsetsAnswer:
    """One answer to each question; consumers see no further than the high watermark."""
    request: ListOffsets = call.request
    return ListOffsetsAnswer(tuple(_find(each, services.host) for each in request.questions))


def _find(question: OffsetQuestion, host: BrokerHost) -> FoundOffset:
    name = question.name
    hosted = host.led(name, question.current_leader_epoch)
    if isinstance(hosted, ErrorCode):
        return FoundOffset(name, hosted)
    log, timestamp = log_of(hosted), -1
    if question.timestamp == LATEST_TIMESTAMP:
        offset = hosted.high_watermark
    elif question.timestamp == EARLIEST_TIMESTAMP:
        offset = log.start_offset
    else:
        try:
            found = log.offset_for_timestamp(question.timestamp)
        except LOG_FAILURES as failure:
            return FoundOffset(name, code_of(failure))
        if found is None or found.offset >= hosted.high_watermark:
            return FoundOffset(name)
        offset, timestamp = found.offset, found.timestamp
    return FoundOffset(name, ErrorCode.NONE, timestamp, offset, hosted.leader_epoch)
