"""What a process and all that it started have used, as Linux tells it.

Seconds of the clock say little on a machine that others use too; seconds of the processors repeat.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
#: Where `utime`, `stime`, `cutime` and `cstime` stand after the name of the command.
_TIMES: Final = slice(11, 15)
_PARENT: Final = 1


def tree_cpu_s(root: int | None = None) -> float:
    """Seconds of all processors so far, of those too that have ended and been waited for."""
    ticks = 0
    for process in _tree(root):
        with suppress(OSError):
            ticks += sum(map(int, _stat(process)[_TIMES]))
    return ticks / _TICKS_PER_S


def java_peak_bytes(root: int | None = None) -> int:
    """The most memory that any Java among them has ever had at once; 0 when there is none."""
    peaks = [0]
    for process in _tree(root):
        with suppress(OSError):
            if (process / "comm").read_text().strip() == "java":
                status = (process / "status").read_text().splitlines()
                peaks += [int(line.split()[1]) * 1024 for line in status if "VmHWM" in line]
    return max(peaks)


def _tree(root: int | None) -> Iterator[Path]:
    """The directories in /proc of a process, ours by default, and its descendants."""
    children: dict[int, list[int]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            children.setdefault(int(_stat(process)[_PARENT]), []).append(int(process.name))
    waiting = [root or os.getpid()]
    while waiting:
        number = waiting.pop()
        yield Path("/proc", str(number))
        waiting += children.get(number, [])


def _stat(process: Path) -> list[str]:
    """The fields after the name, which may hold anything."""
    return (process / "stat").read_text().rpartition(")")[2].split()
