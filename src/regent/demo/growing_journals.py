"""What controllers write down, while they write it."""

from pathlib import Path

from regent.journal.record import Record, decode
from regent.journal.writer import SEGMENT_NAME


class GrowingJournals:
    """Reads each line once, when it is whole."""

    def __init__(self, root: Path) -> None:
        """Below the root every node has a folder; neither need be there yet."""
        self._root = root
        self._read_bytes: dict[Path, int] = {}

    def fresh(self) -> list[Record]:
        """What has come since the last time, in the order of the journal."""
        records = [
            record
            for segment in sorted(self._root.glob("*/*"))
            if SEGMENT_NAME.fullmatch(segment.name)
            for record in self._fresh_in(segment)
        ]
        return sorted(records, key=lambda record: (record.controller_epoch, record.seq))

    def _fresh_in(self, segment: Path) -> list[Record]:
        begin = self._read_bytes.get(segment, 0)
        with segment.open("rb") as file:
            file.seek(begin)
            whole = file.read()
        whole = whole[: whole.rfind(b"\n") + 1]
        self._read_bytes[segment] = begin + len(whole)
        return [decode(line) for line in whole.splitlines()]
