"""What a watch keeps in its output folder, under `live`.

Every file and folder is named by the number of the batch that it came from and put in place in one
step. A batch that is carried out again after a crash finds what it made before and leaves it.
"""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from regent.errors import BadInput
from regent.pipeline.output import LIVE
from regent.pipeline.sources.journal_tail import Offset

VERSION: Final = 1


class Terms(Struct, frozen=True):
    """What a watch was begun with; its checkpoints mean nothing under other terms."""

    journals: tuple[str, ...]
    from_start: bool
    limits: dict[str, Any]
    version: int = VERSION


class Beginning(Struct, frozen=True):
    """The terms, and where in the journals the watch began."""

    terms: Terms
    start: Offset


class LiveFolder:
    """The `live` folder of one output folder."""

    def __init__(self, out: Path) -> None:
        self.directory = out / LIVE
        self.transitions = self.directory / "transitions"
        self.quarantine = self.directory / "quarantine"
        self.alerts = self.directory / "alerts"
        self.checkpoints = self.directory / "checkpoints"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder against another watch; a batch run may go on beside this."""
        try:
            for folder in (self.transitions, self.quarantine, self.alerts):
                folder.mkdir(parents=True, exist_ok=True)
            lock = (self.directory / ".lock").open("w")
        except OSError as error:
            raise BadInput(
                f"cannot write to {self.directory}: {error.strerror}; choose another --out"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BadInput(
                    f"another watch is writing to {self.directory}; stop it, or choose another"
                    " --out"
                ) from error
            yield

    def begin(self, asked: Beginning) -> Beginning:
        """Where the watch in this folder began: now, or earlier on the same terms."""
        path = self.directory / "watch.json"
        try:
            before = msgspec.json.decode(path.read_bytes(), type=Beginning)
        except FileNotFoundError:
            put(path, msgspec.json.format(msgspec.json.encode(asked), indent=2) + b"\n")
            return asked
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput(
                f"{path} cannot be read ({error}); remove {self.directory} to watch anew"
            ) from error
        _refuse_other_terms(before.terms, asked.terms, self.directory)
        return before

    def batch_folder(self, table: Path, batch: int) -> Path:
        """Where the rows of a batch lie."""
        return table / f"batch={batch}"

    def alerts_file(self, batch: int) -> Path:
        """Where the alerts of a batch lie."""
        return self.alerts / f"batch-{batch:08d}.jsonl"

    def alert_files(self) -> list[tuple[int, Path]]:
        """All files of alerts, with their batches, in order."""
        return [(int(path.stem[6:]), path) for path in sorted(self.alerts.glob("batch-*.jsonl"))]


def _refuse_other_terms(before: Terms, asked: Terms, directory: Path) -> None:
    was, now = msgspec.to_builtins(before), msgspec.to_builtins(asked)
    was, now = was | was.pop("limits"), now | now.pop("limits")
    for name in sorted(now):
        if was.get(name) != now[name]:
            raise BadInput(
                f"the watch in {directory} was begun with {name} {_shown(was.get(name))}, and now"
                f" it is {_shown(now[name])}; use what it was, or watch into another --out"
            )


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def put(path: Path, content: bytes) -> None:
    """Write a file in one step."""
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)


def draft_of(folder: Path) -> Path:
    """Where a folder is written before it is put in place; Spark does not look there."""
    draft = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(draft, ignore_errors=True)
    return draft


def alert_lines(alerts: Sequence[dict[str, Any]]) -> bytes:
    """Alerts as JSON lines."""
    return b"".join(msgspec.json.encode(alert) + b"\n" for alert in alerts)
