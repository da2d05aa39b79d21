"""A batch run that makes few tables, also as a program: a process has one Spark only."""

import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from regent.pipeline.inputs import SourceKind, find_inputs
from regent.pipeline.output import Manifest, OutputFolder
from regent.pipeline.run import Job, run
from regent.pipeline.session import session_for
from regent.pipeline.tables import TABLES

#: One from what was read, and one from that.
SOME_TABLES: Final = tuple(table for table in TABLES if table.name in {"timelines", "availability"})


def small_run(spark: SparkSession, journals: Path, out: Path) -> Manifest:
    """Make the few tables of these journals."""
    inputs = tuple(find_inputs(SourceKind.JOURNAL, [str(journals)]))
    job = Job(inputs, OutputFolder(out))
    with job.folder.held():
        return run(spark, job, tables=SOME_TABLES)


if __name__ == "__main__":
    master, journals, out = sys.argv[1:]
    with session_for(0, master) as session:
        small_run(session, Path(journals), Path(out))
