"""DescribeLogDirs, versions 1 to 4: how large the logs on this broker are."""

import shutil
from pathlib import Path

from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.log_requests import (
    DescribeLogDirs,
    DescribeLogDirsAnswer,
    LogDirDescription,
    LogSize,
)
from regent.node.broker_host import BrokerHost
from regent.node.services import Services
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> DescribeLogDirsAnswer:
    """One description for each directory that has a log."""
    request: DescribeLogDirs = call.request
    host = services.host
    store = host.directory.store
    by_directory: dict[Path, list[LogSize]] = {path: [] for path in host.directory.paths}
    failed = set()
    for name in store.names() if request.partitions is None else request.partitions:
        directory = store.directory_of(name)
        if directory is None:
            continue
        if store.is_offline(name):
            failed.add(directory)
        else:
            by_directory[directory].append(_size(name, host))
    return DescribeLogDirsAnswer(
        log_dirs=tuple(
            _describe(path, sizes, is_failed=path in failed) for path, sizes in by_directory.items()
        )
    )


def _size(name: TopicPartition, host: BrokerHost) -> LogSize:
    log, hosted = host.directory.open(name), host.core.hosted.get(name)
    lag = 0 if hosted is None else max(0, hosted.high_watermark - log.end_offset)
    return LogSize(name, log.size_bytes, lag)


def _describe(path: Path, sizes: list[LogSize], *, is_failed: bool) -> LogDirDescription:
    if is_failed and not sizes:
        return LogDirDescription(str(path), ErrorCode.KAFKA_STORAGE_ERROR)
    usage = shutil.disk_usage(path)
    return LogDirDescription(
        str(path), logs=tuple(sizes), total_bytes=usage.total, usable_bytes=usage.free
    )
