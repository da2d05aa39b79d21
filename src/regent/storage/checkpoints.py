"""Numbers that a broker remembers for its partitions across restarts, in Kafka's text form.

A file is a version (0), a count, and a line of topic, partition and offset for each partition.
Each of them may be lost without loss of records: high watermarks are learnt again, logs are
recovered from further back. So a file that cannot be read is reported and taken for empty.
"""

import logging
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from regent.model.ids import TopicPartition
from regent.storage.atomic_file import replace_file

logger = logging.getLogger(__name__)


class CheckpointFile(StrEnum):
    """The checkpoints of a log directory, by Kafka's file names."""

    #: High watermarks.
    REPLICATION_OFFSETS = "replication-offset-checkpoint"
    #: Up to where each log is known to be on the disk itself.
    RECOVERY_POINTS = "recovery-point-offset-checkpoint"
    #: First readable offsets, where records were deleted within a segment.
    LOG_START_OFFSETS = "log-start-offset-checkpoint"


def write_checkpoint(
    directory: Path, file: CheckpointFile, offsets: Mapping[TopicPartition, int]
) -> None:
    """Replace a checkpoint; it is on the disk itself when this returns."""
    lines = ["0", str(len(offsets))]
    lines += [f"{name.topic} {name.partition} {offset}" for name, offset in offsets.items()]
    replace_file(directory / file, "\n".join([*lines, ""]).encode(), sync=True)


def read_checkpoint(directory: Path, file: CheckpointFile) -> dict[TopicPartition, int]:
    """What was written last; nothing if there is no such file, or no readable one."""
    path = directory / file
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        lines = []
    try:
        return _parse(lines)
    except ValueError as error:
        logger.warning("%s cannot be read (%s); going on without it", path, error)
        return {}


def _parse(lines: list[str]) -> dict[TopicPartition, int]:
    if lines[:1] != ["0"]:
        raise ValueError("the first line is not version 0")
    count = int(lines[1]) if len(lines) > 1 else -1
    if count != len(lines) - 2:
        raise ValueError(f"{count} lines are announced, and {max(len(lines) - 2, 0)} are there")
    offsets = {}
    for line in lines[2:]:
        topic, partition, offset = line.split(" ")
        if int(offset) < 0:
            raise ValueError(f"a negative offset for {topic}-{partition}")
        offsets[TopicPartition(topic, int(partition))] = int(offset)
    return offsets
