"""What the tables must say, worked out from the records with dicts and loops.

Written from the meaning of the tables and not from the code that makes them.
"""

from tests.pipeline.oracle import (
    availability,
    elections,
    findings,
    isr_churn,
    plan_vs_actual,
    reigns,
    replica_timelines,
    timelines,
)

__all__ = [
    "availability",
    "elections",
    "findings",
    "isr_churn",
    "plan_vs_actual",
    "reigns",
    "replica_timelines",
    "timelines",
]
