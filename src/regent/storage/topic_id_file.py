"""`partition.metadata`, as Kafka keeps it: which topic a log is of.

A topic that is deleted and made again has the same name and another id. Without the file its
replicas would take an old folder of that name for their own.
"""

import logging
from pathlib import Path
from typing import Final

from regent.storage.atomic_file import replace_file

FILE_NAME: Final = "partition.metadata"
_KEY: Final = "topic_id:"

logger = logging.getLogger(__name__)


def read_topic_id(directory: Path) -> str | None:
    """The id, or None if nothing says it."""
    path = directory / FILE_NAME
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return None
    ids = [line.removeprefix(_KEY).strip() for line in lines if line.startswith(_KEY)]
    if len(ids) != 1:
        logger.warning("%s does not say of which topic the log is; it is passed over", path)
        return None
    return ids[0]


def write_topic_id(directory: Path, topic_id: str) -> None:
    """Note it. After a loss of power it may be missing, which is safe: then nothing is known."""
    replace_file(directory / FILE_NAME, f"version: 0\n{_KEY} {topic_id}\n".encode(), sync=False)
