"""DescribeLogDirs to and from the model; kio has the messages."""

from typing import Any

from kio.schema.errors import ErrorCode as KioErrorCode

from regent.model.log_requests import (
    UNKNOWN_SIZE,
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    LogDirDescription,
    LogSize,
)
from regent.wire.message_tables import Values
from regent.wire.topic_lists import from_index_topics, from_topics, to_index_topics, to_topics
from regent.wire.values import NOT_THROTTLED, from_kio_error, to_kio_error


def request_values(request: DescribeLogDirs) -> Values:
    """The content for all versions."""
    names = request.partitions
    return {"topics": None if names is None else to_index_topics(names, "topic", "partitions")}


def request_from(payload: Any) -> DescribeLogDirs:
    """Without partitions it is for all."""
    if payload.topics is None:
        return DescribeLogDirs()
    return DescribeLogDirs(from_index_topics(payload.topics, "topic", "partitions"))


def answer_values(answer: DescribeLogDirsAnswer) -> Values:
    """The content for all versions."""
    return {
        "throttle_time": NOT_THROTTLED,
        "error_code": to_kio_error(answer.error),
        "results": list(map(_log_dir_values, answer.log_dirs)),
    }


def _log_dir_values(log_dir: LogDirDescription) -> Values:
    return {
        "error_code": to_kio_error(log_dir.error),
        "log_dir": log_dir.path,
        "topics": to_topics(
            (
                log.name,
                {
                    "partition_index": log.name.partition,
                    "partition_size": log.size_bytes,
                    "offset_lag": log.offset_lag,
                    "is_future_key": log.is_future,
                },
            )
            for log in log_dir.logs
        ),
        "total_bytes": log_dir.total_bytes,
        "usable_bytes": log_dir.usable_bytes,
    }


def answer_from(payload: Any) -> DescribeLogDirsAnswer:
    """An error for all came with version 3, and how full a directory is with 4."""
    return DescribeLogDirsAnswer(
        error=from_kio_error(getattr(payload, "error_code", KioErrorCode.none)),
        log_dirs=tuple(map(_log_dir_from, payload.results)),
    )


def _log_dir_from(entry: Any) -> LogDirDescription:
    return LogDirDescription(
        path=entry.log_dir,
        error=from_kio_error(entry.error_code),
        logs=tuple(
            LogSize(name, log.partition_size, log.offset_lag, log.is_future_key)
            for name, log in from_topics(entry.topics)
        ),
        total_bytes=getattr(entry, "total_bytes", UNKNOWN_SIZE),
        usable_bytes=getattr(entry, "usable_bytes", UNKNOWN_SIZE),
    )
