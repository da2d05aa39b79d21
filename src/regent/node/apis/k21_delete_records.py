"""DeleteRecords, versions 0 and 1: let logs begin later. Followers hear of it by fetching."""

from regent.model.error_codes import ErrorCode
from regent.model.log_requests import (
    DeleteRecords,
    DeleteRecordsAnswer,
    RecordsDeleted,
    RecordsToDelete,
)
from regent.node.broker_host import BrokerHost, log_of
from regent.node.services import Services
from regent.runtime.cluster_views import INTERNAL_TOPICS
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> DeleteRecordsAnswer:
    """One result for each partition."""
    request: DeleteRecords = call.request
    return DeleteRecordsAnswer(tuple(_delete(each, services.host) for each in request.targets))


def _delete(target: RecordsToDelete, host: BrokerHost) -> RecordsDeleted:
    if target.name.topic in INTERNAL_TOPICS:
        return RecordsDeleted(target.name, ErrorCode.INVALID_TOPIC_EXCEPTION)
    hosted = host.led(target.name)
    if isinstance(hosted, ErrorCode):
        return RecordsDeleted(target.name, hosted)
    start = log_of(hosted).delete_records(target.before_offset, hosted.high_watermark)
    if start is None:
        return RecordsDeleted(target.name, ErrorCode.OFFSET_OUT_OF_RANGE)
    host.log_began_later(target.name)
    return RecordsDeleted(target.name, low_watermark=start)
