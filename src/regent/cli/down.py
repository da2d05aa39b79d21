"""`regent down`: stop a cluster that `regent up` runs, from another terminal."""

import time
from pathlib import Path
from typing import Final

import typer
from msgspec.structs import replace

from regent.cli.up import DEFAULT_FOLDER, DataOption
from regent.errors import BadInput
from regent.testing.leftovers import end_leftovers
from regent.testing.remote_control import NobodyThere, wish_for
from regent.testing.up_record import UpRecord, read_record, write_record

EXIT_NOT_DONE: Final = 1
#: Every broker may take its time to move its leaderships away.
STOPPED_WITHIN_S: Final = 300.0
LOOK_EVERY_S: Final = 0.05


def down(data: DataOption = DEFAULT_FOLDER) -> None:
    """Stop the cluster in a folder in order; what it stored stays there.

    Exit codes: 0 it is down, 1 it did not stop, 64 there is no cluster in that folder.
    """
    folder = data.absolute()
    record = read_record(folder)
    if record is None:
        raise BadInput(f"there is no cluster in {data}; --data names the folder of `regent up`")
    if record.control is None:
        print(f"the cluster in {data} is down already")
        return
    try:
        wish_for(record.control, "down")
    except (NobodyThere, BadInput):
        _clear_away(folder, record)
        return
    if not _is_stopped(folder):
        print(f"the cluster in {data} has not stopped within {STOPPED_WITHIN_S:g} s")
        raise typer.Exit(EXIT_NOT_DONE)
    print(f"the cluster in {data} is down; `regent up --data {data}` starts it again")


def _clear_away(folder: Path, record: UpRecord) -> None:
    """Its owner was killed, or its port is somebody else's: only traces are left."""
    ended = end_leftovers(folder, record)
    brokers = [replace(each, condition="down", pid=None) for each in record.brokers]
    write_record(folder, replace(record, control=None, launcher_pid=None, brokers=brokers))
    left = f"; ended what was left: brokers {', '.join(map(str, ended))}" if ended else ""
    print(f"process {record.launcher_pid}, which ran this cluster, is gone{left}")


def _is_stopped(folder: Path) -> bool:
    """Its owner says so in the record when all is over."""
    deadline_s = time.monotonic() + STOPPED_WITHIN_S
    while time.monotonic() < deadline_s:
        record = read_record(folder)
        if record is None or record.control is None:
            return True
        time.sleep(LOOK_EVERY_S)
    return False
