"""What the pipeline's audit says of the journals of a campaign.

Spark is started in a process of its own.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

from regent.pipeline.audit.rule import Severity


def violations(cluster_folder: Path, tables: Path) -> Iterator[str]:
    """One sentence for each error. Warnings tell of brokers that die often, which is no news."""
    journals = sorted({path.parent for path in cluster_folder.rglob("journal/**/*.jsonl")})
    command = [sys.executable, "-m", "regent.cli.main", "pipeline", "run", "--cluster", "soak"]
    command += ["--out", str(tables), *(f"--journal={each}" for each in journals)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode:
        yield f"the pipeline cannot read the journals: {ended.stderr[-2000:]}"
        return
    for row in parquet.read_table(tables / "violations").to_pylist():
        if row["severity"] == Severity.ERROR:
            yield f"audit, {row['rule']}: {row['detail']}"
