"""What may come between a broker and a log on disk, and what whoever asked is told of it.

Both are raised by the log, at any time, because no caller could have foreseen them. They concern
one log (damage) or one directory; the others are served on.
"""

from collections.abc import Mapping
from typing import Final

from regent.errors import CorruptLog, LogDirOffline
from regent.model.error_codes import ErrorCode

LOG_FAILURES: Final = (CorruptLog, LogDirOffline)

_CODES: Final[Mapping[type[CorruptLog | LogDirOffline], ErrorCode]] = {
    CorruptLog: ErrorCode.CORRUPT_MESSAGE,
    LogDirOffline: ErrorCode.KAFKA_STORAGE_ERROR,
}


def code_of(failure: CorruptLog | LogDirOffline) -> ErrorCode:
    """Kafka's code for it."""
    return _CODES[type(failure)]
