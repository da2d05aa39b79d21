"""`regent down`: stop a cluster that `regent up` runs, from another terminal."""

from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import typer
from msgspec.structs import replace

from regent.cli.up import DEFAULT_FOLDER, DataOption
from regent.errors import BadInput
from regent.testing.leftovers import end_leftovers
from regent.testing.remote_control import NobodyThere, wish_for
from regent.testing.up_lock import UpLock, was_ever_taken
from regent.testing.up_record import ControlAddress, UpRecord, read_record, write_record

EXIT_NOT_DONE: Final = 1
#: Every broker may take its time to move its leaderships away.
STOPPED_WITHIN_S: Final = 300.0
LOOK_EVERY_S: Final = 0.05


def down(data: DataOption = DEFAULT_FOLDER) -> None:
    """Stop the cluster in a folder in order; what it stored stays there.

    Exit codes: 0 it is down, 1 it did not stop, 64 there is no cluster in that folder.
    """
    folder = data.absolute()
    if read_record(folder) is None and not was_ever_taken(folder):
        raise _no_cluster(data)
    with UpLock(folder) as lock:
        had_to_stop = _stop(folder, lock, data)
        record = read_record(folder)
        if record is None:
            raise _no_cluster(data)
        if record.control is not None:
            _clear_away(folder, record)
        elif had_to_stop:
            print(f"the cluster in {data} is down; `regent up --data {data}` starts it again")
        else:
            print(f"the cluster in {data} is down already")


def _no_cluster(data: Path) -> BadInput:
    return BadInput(f"there is no cluster in {data}; --data names the folder of `regent up`")


def _stop(folder: Path, lock: UpLock, data: Path) -> bool:
    """Have its owner stop it, until the folder is ours; whether it had one.

    An owner that does not answer is on its way up, and will answer, or on its way down. What it
    has started is none of our business as long as it lives.
    """
    deadline_s = monotonic() + STOPPED_WITHIN_S
    asked: ControlAddress | None = None
    had_owner = False
    while not lock.take():
        had_owner = True
        record = read_record(folder)
        control = None if record is None else record.control
        if control is not None and control != asked:
            asked = control
            with suppress(NobodyThere, BadInput):
                wish_for(control, "down")
        if monotonic() >= deadline_s:
            print(
                f"the cluster in {data} has not stopped within {STOPPED_WITHIN_S:g} s; process"
                f" {lock.last_holder()} still has it: look what it says, and if it hangs, end it"
                " and type this again"
            )
            raise typer.Exit(EXIT_NOT_DONE)
        sleep(LOOK_EVERY_S)
    return had_owner


def _clear_away(folder: Path, record: UpRecord) -> None:
    """Its owner was killed: only traces are left."""
    ended = end_leftovers(folder, record)
    brokers = [replace(each, condition="down", pid=None) for each in record.brokers]
    write_record(folder, replace(record, control=None, launcher_pid=None, brokers=brokers))
    left = f"; ended what was left: brokers {', '.join(map(str, ended))}" if ended else ""
    print(f"process {record.launcher_pid}, which ran this cluster, is gone{left}")
