"""`python -m tests.mutants`: hunt every mutant, print the table, leave it in build/mutants.json."""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import MUTANTS


def main() -> int:
    """Exit 0 when every mutant was caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seeds", type=int, default=300, help="how many seeds each one gets")
    parser.add_argument("--only", help="hunt just this mutant")
    arguments = parser.parse_args()
    names = [m.name for m in MUTANTS if arguments.only in (None, m.name)]
    if not names:
        print(
            f"there is no mutant {arguments.only!r}; see tests/mutants/catalogue.py",
            file=sys.stderr,
        )
        return 64
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda name: _hunt(name, arguments.seeds), names))
    survivors = [e["mutant"] for e in found if e["seed"] is None and e["test"] is None]
    summary = {
        "mutants": len(found),
        "caught": len(found) - len(survivors),
        "caught_by_seeds": sum(each["seed"] is not None for each in found),
        "seeds_max": arguments.seeds,
        "survivors": survivors,
        "table": found,
    }
    _show(found)
    written = msgspec.json.format(msgspec.json.encode(summary), indent=1)
    if arguments.only is None:
        Path("build").mkdir(exist_ok=True)
        Path("build/mutants.json").write_bytes(written + b"\n")
    sys.stdout.write(written.decode() + "\n")
    return 1 if survivors else 0


def _hunt(name: str, seed_count: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.mutants.hunt", name, str(seed_count)]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own module
    if done.returncode != 0:
        raise SystemExit(f"hunting {name} failed:\n{done.stderr.decode()}")
    found: dict[str, Any] = msgspec.json.decode(done.stdout)
    caught = found["test"] if found["seed"] is None else f"seed {found['seed']}"
    print(f"{name}: {caught or 'survived'}", file=sys.stderr)
    return found


def _show(found: list[dict[str, Any]]) -> None:
    table = Table("mutant", "what it breaks", "seed", "caught by")
    for each in found:
        seed = "" if each["seed"] is None else str(each["seed"])
        table.add_row(each["mutant"], each["breaks"], seed, each.get("checker", "survived"))
    Console(stderr=True).print(table)


if __name__ == "__main__":
    sys.exit(main())
