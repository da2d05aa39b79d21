"""Questions asked through the Python API, also as a program that asks them over Spark Connect.

In one process all of Spark is either classic or Connect, and here it is classic.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from regent import pipeline as p
from regent.pipeline.sources.journal_lines import count_lines


def answers(spark: SparkSession, journals: str, logs: str) -> dict[str, list[Any]]:
    """Some of every kind: Spark's own reader, ours, Python on the executors, tables of tables."""
    segments = sorted(map(str, Path(journals).glob("*.jsonl")))
    transitions = short(p.read_journal(spark, journals).transform(p.once))
    timelines = short(transitions.transform(p.timelines))
    outages = short(p.outages(timelines, transitions, p.Settings(min_isr=2)))
    moves = short(p.reassignments(transitions))
    deletions = short(p.deletions(transitions))
    flapping = short(p.broker_flapping(p.broker_lives(transitions)))
    asked = {
        "count_lines": count_lines(spark, segments),
        "timelines": timelines,
        "availability": p.availability(timelines, transitions),
        "violations": p.violations(transitions, outages, moves, deletions, flapping),
        "reigns_in_logs": p.read_state_change_log(spark, logs).transform(p.controller_reigns),
    }
    return {name: rows(table) for name, table in asked.items()}


def short(table: DataFrame) -> DataFrame:
    """A table whose plan ends here: over Connect every question sends its whole plan."""
    return table.localCheckpoint()


def rows(table: DataFrame) -> list[Any]:
    """In an order that two kinds of Spark agree on."""
    listed = [list(row.asDict(recursive=True).items()) for row in table.collect()]
    return sorted(json.loads(json.dumps(listed)), key=json.dumps)


if __name__ == "__main__":
    url, journals, logs = sys.argv[1:]
    session = SparkSession.builder.remote(url).getOrCreate()
    p.ship(session)
    sys.stdout.write(json.dumps(answers(session, journals, logs)))
    session.stop()
