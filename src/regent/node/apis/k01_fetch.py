"""Fetch, versions 4 to 11: records for consumers up to the high watermark, for replicas all.

A consumer waits until there is as much as it wants, or as long as it wants. No sessions are kept
for consumers; they are told so and list everything each time.
"""

import asyncio

from regent.broker.log_failures import LOG_FAILURES, code_of
from regent.model.error_codes import ErrorCode
from regent.model.record_requests import (
    NO_SESSION_ID,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    IsolationLevel,
    PartitionToFetch,
)
from regent.node.broker_host import BrokerHost, log_of
from regent.node.services import Services
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> FetchRecordsAnswer:
    """Every partition asked for, to a consumer; those with news, to a replica."""
    request: FetchRecords = call.request
    host = services.host
    if request.replica_id >= 0:
        return await host.serve_follower(request)
    if request.session_id != NO_SESSION_ID:
        return FetchRecordsAnswer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + request.max_wait_ms / 1000
    while True:
        fetched = _read(request, host)
        left_s = deadline_s - loop.time()
        if left_s <= 0 or _is_enough(fetched, request.min_bytes):
            return FetchRecordsAnswer(partitions=tuple(fetched))
        await host.waiters.wait((each.name for each in request.partitions), left_s)


def _is_enough(fetched: list[FetchedRecords], min_bytes: int) -> bool:
    """An error is worth telling at once."""
    if not fetched or any(each.error is not ErrorCode.NONE for each in fetched):
        return True
    return sum(len(each.records or b"") for each in fetched) >= min_bytes


def _read(request: FetchRecords, host: BrokerHost) -> list[FetchedRecords]:
    left_bytes = request.max_bytes
    read_committed = request.isolation_level == IsolationLevel.READ_COMMITTED
    fetched = []
    for each in request.partitions:
        found = _read_one(each, min(each.max_bytes, left_bytes), host, committed=read_committed)
        left_bytes -= len(found.records or b"")
        fetched.append(found)
    return fetched


def _read_one(
    wanted: PartitionToFetch, max_bytes: int, host: BrokerHost, *, committed: bool
) -> FetchedRecords:
    hosted = host.led(wanted.name, wanted.current_leader_epoch)
    if isinstance(hosted, ErrorCode):
        return FetchedRecords(wanted.name, hosted)
    log, high_watermark = log_of(hosted), hosted.high_watermark
    if not log.start_offset <= wanted.fetch_offset <= log.end_offset:
        error = ErrorCode.OFFSET_OUT_OF_RANGE
        return FetchedRecords(wanted.name, error, log_start_offset=log.start_offset)
    records: bytes | None = b""
    if max_bytes > 0:
        try:
            records = log.read_committed(wanted.fetch_offset, max_bytes, high_watermark)
        except LOG_FAILURES as failure:
            return FetchedRecords(wanted.name, code_of(failure))
    return FetchedRecords(
        wanted.name,
        ErrorCode.NONE,
        high_watermark,
        high_watermark,
        log.start_offset,
        () if committed else None,
        records=records or b"",
    )
