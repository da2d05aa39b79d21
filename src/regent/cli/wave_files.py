"""Reassignments from files: one plan, or the waves of one in their order."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from regent.dryrun.reassignment_file import ReassignmentPlan, read_reassignment
from regent.errors import BadInput
from regent.model.admin_requests import ReassignmentTarget

#: What a plan says of a replica that may lie in any directory of its broker.
ANY_DIRECTORY: Final = "any"


def read_waves(paths: Sequence[Path]) -> list[ReassignmentPlan]:
    """Each file is a wave; a folder of `regent plan` stands for the waves in it."""
    return [read_reassignment(file) for path in paths for file in _files_of(path)]


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("wave-*.json"))
    if not files:
        raise BadInput(
            f"{path} is a folder without wave-001.json; `regent plan --out` writes such a one, or"
            " name the file itself"
        )
    return files


def targets_of(waves: Iterable[ReassignmentPlan]) -> list[ReassignmentTarget]:
    """All moves of all waves; of two for one partition the later one counts."""
    moves = {
        (move.target.topic, move.target.partition): move.target
        for wave in waves
        for move in wave.moves
    }
    return list(moves.values())


def refuse_directories(waves: Iterable[ReassignmentPlan]) -> None:
    """Directories are for brokers to choose; a wish that would not be heeded is refused."""
    for wave in waves:
        for move in wave.moves:
            named = [each for each in move.log_dirs if each != ANY_DIRECTORY]
            if named:
                raise BadInput(
                    f"{wave.path}, line {move.line}: replicas cannot be put into directories, such"
                    f" as {named[0]}; make each of log_dirs {ANY_DIRECTORY!r}, or leave it out"
                )
