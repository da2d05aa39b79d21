"""One log file as rows: what a file remembers from line to line.

A line does not say everything. Whose log it is, which epoch its controller has, what the exception
was that it ends with: that stands in the lines around it. Everything a file can know by itself is
filled in here; `state_change_log` does what needs several files.

Every physical line of the file is counted in exactly one row, in `lines`: a stack trace and blank
lines in the row of the line before them, and of a line that gives several transitions only the
first row counts it.
"""

import re
from collections.abc import Iterator
from typing import Final
from zoneinfo import ZoneInfo

from regent.pipeline.sources.log_clock import LATEST_MS, LogClock
from regent.pipeline.sources.log_files import LINE_BYTES_MAX, BrokenFile, raw_lines
from regent.pipeline.sources.log_grammar import Parsed, Unparsed, begins_like_a_line, parse_line
from regent.pipeline.sources.log_shapes import LogFile, Who
from regent.pipeline.sources.log_values import Fields

#: A quarantined text is cut here.
TEXT_CHARS_MAX: Final = 10_000
#: Places within a millisecond: `sequence` is the millisecond times this, and the place.
PLACES: Final = 1_000_000
#: How many rows may wait for what later lines add to them.
ROWS_HELD_MAX: Final = 200_000
BATCH_ROWS: Final = 8_192

#: Kinds whose reason is the exception that follows, unless the line itself says it.
_EXPLAINED_BY_TRACE: Final = frozenset(
    {"move_refused", "request_failed", "controller_forced_out", "channel_failed"}
)

#: The first line of an exception, and the lines that can follow.
_TRACE_START: Final = re.compile(
    r"(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?::|$|\s)|[A-Z]\w*(?:Exception|Error)\b", flags=re.ASCII
)
_TRACE_LINE: Final = re.compile(
    r"\s+at |\s*\.\.\. \d+ |\s*Caused by: |\s+Suppressed: |\s*\[CIRCULAR", flags=re.ASCII
)


class LogLines:
    """Reads one file from its first line to its last."""

    def __init__(self, path: str, cluster: str, zone: ZoneInfo) -> None:
        self._path = path
        self._cluster = cluster
        self._clock = LogClock(zone)
        self._rows: list[Fields] = []
        #: The first row of the line before, which counts the lines that belong to it.
        self._last: Fields | None = None
        self._is_in_trace = False
        self._blank_lines = 0
        self._reporter_id = first_reporter(path)
        self._own_epoch: int | None = None
        #: The controller that this node obeys as a broker, and its epoch.
        self._obeyed: tuple[int | None, int | None] = (None, None)
        self._latest_ms = -LATEST_MS - 1
        self._place = 0
        #: Elections before 1.0 that wait for their leadership, by partition.
        self._waiting: dict[tuple[str, int], Fields] = {}

    def batches(self) -> Iterator[list[Fields]]:
        """The rows of the file, in its order, some thousands at a time."""
        number = 0
        try:
            for raw in raw_lines(self._path):
                number += 1
                self._take(number, raw)
                if self._is_full():
                    yield self._flush()
        except BrokenFile as broken:
            self._quarantine(
                number + 1,
                f"the file breaks off at line {number + 1}: {broken.reason}",
                broken.rest.decode(errors="backslashreplace"),
            )
        if self._blank_lines:
            self._quarantine(number, "nothing but blank lines", "", lines=0)
        yield self._rows

    def _is_full(self) -> bool:
        held = len(self._rows)
        return held >= BATCH_ROWS and (not self._waiting or held >= ROWS_HELD_MAX)

    def _flush(self) -> list[Fields]:
        """Everything but the rows of the last line: its trace may follow."""
        keep = len(self._rows) - 1
        while keep and self._rows[keep - 1]["line"] == self._rows[keep]["line"]:
            keep -= 1
        done, self._rows = self._rows[:keep], self._rows[keep:]
        self._waiting.clear()
        return done

    # --- lines ---

    def _take(self, number: int, raw: bytes) -> None:
        try:
            text = raw.decode().rstrip("\r").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            self._quarantine(
                number, f"not UTF-8: {error.reason}", raw.decode(errors="backslashreplace")
            )
            return
        if self._is_attached(text):
            return
        if len(raw) >= LINE_BYTES_MAX:
            self._quarantine(number, f"longer than {LINE_BYTES_MAX} bytes", text)
            return
        parsed = parse_line(text)
        if isinstance(parsed, Unparsed):
            self._quarantine(number, parsed.reason, text)
            return
        try:
            at_ms = self._clock.to_ms(parsed.at)
        except (ValueError, OverflowError):
            self._quarantine(number, f"no such time: {parsed.at}", text)
            return
        self._say(number, at_ms, parsed)

    def _is_attached(self, text: str) -> bool:
        """Whether a line belongs to the one before; it is counted there then."""
        if not text.strip():
            self._blank_lines += 1
            self._count_blank_lines()
            return True
        if begins_like_a_line(text) or self._last is None:
            self._is_in_trace = False
            return False
        if _TRACE_START.match(text):
            self._explain(text)
            self._is_in_trace = True
        elif not self._is_in_trace and not _TRACE_LINE.match(text):
            return False
        self._last["lines"] += 1
        return True

    def _count_blank_lines(self) -> None:
        if self._last is not None:
            self._last["lines"] += self._blank_lines
            self._blank_lines = 0

    def _explain(self, trace: str) -> None:
        assert self._last is not None
        if self._last.get("kind") in _EXPLAINED_BY_TRACE and not self._is_in_trace:
            self._last.setdefault("reason", trace[:TEXT_CHARS_MAX])

    def _quarantine(self, number: int, problem: str, text: str, *, lines: int = 1) -> None:
        self._add(
            {
                "cluster": self._cluster,
                "file": self._path,
                "line": number,
                "is_good": False,
                "problem": problem,
                "text": text[:TEXT_CHARS_MAX],
            },
            lines,
        )
        self._is_in_trace = False

    def _add(self, row: Fields, lines: int) -> None:
        row["lines"] = lines
        self._rows.append(row)
        if lines or self._blank_lines:
            self._last = row
            self._count_blank_lines()

    # --- what they say ---

    def _say(self, number: int, at_ms: int, parsed: Parsed) -> None:
        if parsed.node_id is not None:
            self._reporter_id = parsed.node_id
        for index, (kind, said) in enumerate(parsed.said):
            controller_id, controller_epoch = self._controller(parsed, kind, said)
            row: Fields = {
                **said,
                "cluster": self._cluster,
                "source": "log",
                "controller_epoch": controller_epoch,
                "sequence": self._next_sequence(at_ms, parsed.file),
                "at_ms": at_ms,
                "controller_id": controller_id,
                "reporter_id": self._reporter_id,
                "kind": kind,
                "file": self._path,
                "line": number,
                "is_good": True,
                "shape": parsed.shape.name,
            }
            self._complete_elections(row)
            self._add(row, 0 if index else 1)

    def _controller(
        self, parsed: Parsed, kind: str, fields: Fields
    ) -> tuple[int | None, int | None]:
        """Which controller a line is about, and its epoch: said, or remembered."""
        controller_id = fields.get("controller_id")
        epoch = fields.get("controller_epoch", parsed.epoch)
        if parsed.who is Who.CONTROLLER:
            if epoch is not None:
                self._own_epoch = epoch
            return self._reporter_id, self._own_epoch
        obeyed_id, obeyed_epoch = self._obeyed
        if controller_id is None and epoch is None:
            return self._obeyed
        if kind == "request_refused":
            return controller_id, epoch
        if epoch is not None and (obeyed_epoch is None or epoch >= obeyed_epoch):
            self._obeyed = (controller_id or obeyed_id, epoch)
        same = controller_id is None or controller_id == obeyed_id
        return controller_id, obeyed_epoch if epoch is None and same else epoch

    def _next_sequence(self, at_ms: int, file: LogFile) -> int:
        """A number that grows with every row of a node, also where its clock steps back.

        In one millisecond, `controller.log` comes before `state-change.log`: a controller says
        what it learned before what it does.
        """
        if at_ms > self._latest_ms:
            self._latest_ms, self._place = at_ms, 0
        elif self._place >= PLACES:
            self._latest_ms, self._place = self._latest_ms + 1, 0
        place, self._place = self._place, self._place + 2
        return self._latest_ms * PLACES + place + (file is LogFile.STATE_CHANGE)

    def _complete_elections(self, row: Fields) -> None:
        """Before 1.0 an election named only the leader; the requests after it say the rest."""
        if row["shape"] == "partition_online_old":
            self._waiting[row["topic"], row["partition"]] = row
        elif row["kind"] == "leadership_told" and self._waiting:
            elected = self._waiting.get((row["topic"], row["partition"]))
            if elected is not None and elected["leader"] == row["leader"]:
                del self._waiting[row["topic"], row["partition"]]
                del elected["after"]
                elected["kind"] = "leader_elected"
                elected["leader_epoch"], elected["isr"] = row["leader_epoch"], row["isr"]


def first_reporter(path: str) -> int | None:
    """The first node that a file names: whose log it is, for the lines before."""
    try:
        for raw in raw_lines(path):
            parsed = parse_line(raw.decode(errors="replace").rstrip("\r"))
            if isinstance(parsed, Parsed) and parsed.node_id is not None:
                return parsed.node_id
    except BrokenFile:
        pass
    return None
