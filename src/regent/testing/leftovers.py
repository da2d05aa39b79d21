"""Brokers that have outlived the process that started them.

They die with it by themselves, unless they are paused and cannot notice. A process is ended only if
its command line names the very folder of the broker: a number may belong to somebody else by now.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

from regent.testing.up_record import UpRecord


def end_leftovers(folder: Path, record: UpRecord) -> list[int]:
    """Kill what is left of a cluster whose owner is gone; the ids of those that were."""
    ended = []
    for broker in record.brokers:
        own_folder = folder / f"broker-{broker.broker_id}"
        if broker.pid is not None and _names(broker.pid, own_folder):
            with suppress(ProcessLookupError):
                os.kill(broker.pid, signal.SIGKILL)
                ended.append(broker.broker_id)
    return ended


def _names(pid: int, folder: Path) -> bool:
    """Whether the process was started with a file in this folder; where that can be looked up."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(os.fsencode(f"{folder}{os.sep}")) for word in words)
