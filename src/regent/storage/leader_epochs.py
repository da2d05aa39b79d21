"""At which offset each leader epoch began in one log, kept in Kafka's `leader-epoch-checkpoint`.

It is all that a follower needs to find where its history parts from its leader's. Both columns
grow strictly: an epoch that got no record before the next began leaves no trace. Batches carry
their epochs too, so that a file that is lost or unreadable is made again from the log.
"""

from bisect import bisect_left, bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from regent.model.ids import LeaderEpoch
from regent.storage.atomic_file import replace_file

EPOCH_FILE_NAME: Final = "leader-epoch-checkpoint"
#: What a log without any epoch answers: it cannot say where anything ends.
UNKNOWN: Final = -1


class EndOfEpoch(NamedTuple):
    """Up to which offset, exclusive, a log agrees with the history of a leader epoch."""

    leader_epoch: LeaderEpoch
    end_offset: int


class LeaderEpochs:
    """The epochs of one log. Every change is written at once, but synced only by `save`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / EPOCH_FILE_NAME
        self._epochs: list[LeaderEpoch] = []
        self._starts: list[int] = []
        #: Whether the file may be lost with the power.
        self.is_dirty = False

    def load(self) -> bool:
        """Take over what the file says; whether there was a file that makes sense."""
        try:
            lines = self._path.read_text("utf-8").splitlines()
            version, count, *rest = lines
            pairs = [(int(epoch), int(start)) for epoch, start in map(str.split, rest)]
        except (FileNotFoundError, ValueError):
            return False
        epochs = [LeaderEpoch(epoch) for epoch, _ in pairs]
        starts = [start for _, start in pairs]
        if version != "0" or count != str(len(pairs)) or not (_grows(epochs) and _grows(starts)):
            return False
        self._epochs, self._starts = epochs, starts
        return True

    def save(self, *, sync: bool = True) -> None:
        """Write the file, by default onto the disk itself."""
        pairs = zip(self._epochs, self._starts, strict=True)
        lines = ["0", str(len(self._epochs)), *(f"{epoch} {start}" for epoch, start in pairs), ""]
        replace_file(self._path, "\n".join(lines).encode(), sync=sync)
        self.is_dirty = not sync

    @property
    def latest(self) -> LeaderEpoch | None:
        """The last epoch that began, with or without records."""
        return self._epochs[-1] if self._epochs else None

    @property
    def entries(self) -> tuple[tuple[LeaderEpoch, int], ...]:
        """Every epoch with its start, in order."""
        return tuple(zip(self._epochs, self._starts, strict=True))

    def begin(self, leader_epoch: LeaderEpoch, start_offset: int) -> int:
        """Note an epoch, save it, and say where it began; entries that contradict it make room."""
        if self._epochs and self._epochs[-1] == leader_epoch:
            return self._starts[-1]
        self.note(leader_epoch, start_offset)
        self.save(sync=False)
        return start_offset

    def note(self, leader_epoch: LeaderEpoch, start_offset: int) -> None:
        """Note an epoch without saving: for whoever has more to come."""
        if self._epochs and self._epochs[-1] == leader_epoch:
            return
        kept = min(bisect_left(self._epochs, leader_epoch), bisect_left(self._starts, start_offset))
        self._keep(0, kept)
        self._epochs.append(leader_epoch)
        self._starts.append(start_offset)

    def forget_from(self, offset: int) -> None:
        """The log was cut: forget epochs that began at or above `offset`."""
        kept = bisect_left(self._starts, offset)
        if kept < len(self._starts):
            self._keep(0, kept)
            self.save(sync=False)

    def forget_before(self, offset: int) -> None:
        """The log begins at `offset` now: forget epochs that ended before it."""
        first = bisect_right(self._starts, offset) - 1
        if first < 0 or (first == 0 and self._starts[0] == offset):
            return
        self._keep(first, len(self._starts))
        self._starts[0] = offset
        self.save(sync=False)

    def clear(self) -> None:
        """Forget all, as before the log is read anew."""
        self._keep(0, 0)

    def end_offset_for(self, leader_epoch: LeaderEpoch, log_end_offset: int) -> EndOfEpoch:
        """The largest epoch here that is not above the asked one, and where the next began."""
        if not self._epochs:
            return EndOfEpoch(LeaderEpoch(UNKNOWN), UNKNOWN)
        after = bisect_right(self._epochs, leader_epoch)
        end = self._starts[after] if after < len(self._starts) else log_end_offset
        # Before all known epochs: it is answered as asked, so that nothing of it survives.
        return EndOfEpoch(self._epochs[after - 1] if after else leader_epoch, end)

    def epoch_at(self, offset: int) -> LeaderEpoch:
        """Under which leader the record at `offset` was taken, -1 if that is not known."""
        at = bisect_right(self._starts, offset) - 1
        return self._epochs[at] if at >= 0 else LeaderEpoch(UNKNOWN)

    def _keep(self, first: int, end: int) -> None:
        self._epochs = self._epochs[first:end]
        self._starts = self._starts[first:end]


def _grows(numbers: list[int] | list[LeaderEpoch]) -> bool:
    return all(before < after for before, after in pairwise(numbers))
