"""A seed decides everything: the one test that guards all of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regent.journal.reader import read
from regent.journal.record import encode
from regent.sim.plan import draw_plan
from regent.sim.run import run
from regent.sim.trace import Trace


def journals(root: Path, seed: int, hash_seed: str) -> dict[str, bytes]:
    """The journals of a run in a process of its own, by file name."""
    subprocess.run(  # noqa: S603 - it is us
        [
            *(sys.executable, "-m", "regent.cli.main", "simulate"),
            *("--seeds", str(seed), "--jobs", "1", "--journal", str(root)),
        ],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=root.parent,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=120,
    )
    return {path.name: path.read_bytes() for path in sorted((root / f"seed-{seed}").iterdir())}


@pytest.mark.parametrize("seed", [0, 3, 8])
def test_a_seed_writes_the_same_bytes_whatever_the_hashes(seed: int, tmp_path: Path) -> None:
    """Python hashes strings differently in each process: an order taken from a set shows here."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()

    first = journals(tmp_path / "one", seed, "1")
    second = journals(tmp_path / "two", seed, "2")

    assert first == second
    assert sum(map(len, first.values())) > 1_000


def test_the_kept_journals_hold_all_that_was_recorded(tmp_path: Path) -> None:
    """What is on disk is what the checkers saw, in the order of the journal."""
    (tmp_path / "kept").mkdir()
    journals(tmp_path / "kept", 2, "0")

    kept = list(map(encode, read([tmp_path / "kept" / "seed-2"])))

    recorded = sorted(
        run(draw_plan(2), []).records, key=lambda record: (record.controller_epoch, record.seq)
    )
    assert kept == list(map(encode, recorded))


def test_a_transcript_changes_nothing() -> None:
    """Who watches must not be noticed."""
    watched = run(draw_plan(1), [Trace()])
    alone = run(draw_plan(1), [])

    assert watched == alone
