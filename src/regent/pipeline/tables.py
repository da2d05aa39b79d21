"""All tables that a run makes, as data: what each is made from, and what makes a row of it unique.

They stand in the order in which they are made: each after what it needs, and early what others wait
for. `docs/pipeline.md` tells which question each of them answers.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from regent.pipeline import schemas
from regent.pipeline.audit.rules import violations
from regent.pipeline.availability import availability
from regent.pipeline.balance import balance
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.channel_lag import channel_lag
from regent.pipeline.controller_reigns import controller_reigns
from regent.pipeline.deletions import deletions
from regent.pipeline.elections import election_latency, elections
from regent.pipeline.incidents import incidents
from regent.pipeline.isr_churn import isr_churn
from regent.pipeline.last_layout import last_blast_radius
from regent.pipeline.outages import outages
from regent.pipeline.plan_vs_actual import plan_vs_actual
from regent.pipeline.reassignments import reassignments
from regent.pipeline.replica_timelines import replica_timelines
from regent.pipeline.timelines import timelines


class Table(Struct, frozen=True):
    """One table: a pure function of others."""

    name: str
    schema: T.StructType
    build: Callable[..., DataFrame]
    #: The tables that `build` takes, in its order.
    needs: tuple[str, ...]
    #: The columns that make a row unique, and by which its file is sorted.
    key: tuple[str, ...]
    #: Whether `build` also takes the limits of the run.
    has_limits: bool = False


#: Not a table of a run but what it was given: the wishes of plans.
PLANNED: Final = "planned"
#: The columns that name a step of a partition's life.
STEP: Final = ("cluster", "topic", "partition", "start_epoch", "start_sequence")

# fmt: off
TABLES: Final = (
    Table("timelines",         schemas.TIMELINES,         timelines,         ("transitions",), STEP),
    Table("broker_lives",      schemas.BROKER_LIVES,      broker_lives,      ("transitions",), ("cluster", "broker_id", "broker_epoch", "up_ms", "down_ms")),
    Table("broker_flapping",   schemas.BROKER_FLAPPING,   broker_flapping,   ("broker_lives",), ("cluster", "broker_id", "start_ms"), has_limits=True),
    Table("reassignments",     schemas.REASSIGNMENTS,     reassignments,     ("transitions",), STEP, has_limits=True),
    Table("outages",           schemas.OUTAGES,           outages,           ("timelines", "transitions"), (*STEP, "kind"), has_limits=True),
    Table("deletions",         schemas.DELETIONS,         deletions,         ("transitions",), ("cluster", "topic", "start_epoch", "start_sequence"), has_limits=True),
    Table("violations",        schemas.VIOLATIONS,        violations,        ("transitions", "outages", "reassignments", "deletions", "broker_flapping"), ("cluster", "controller_epoch", "controller_id", "sequence", "rule", "topic", "partition", "broker_id"), has_limits=True),
    Table("controller_reigns", schemas.CONTROLLER_REIGNS, controller_reigns, ("transitions",), ("cluster", "controller_epoch", "controller_id")),
    Table("elections",         schemas.ELECTIONS,         elections,         ("transitions", "timelines"), ("cluster", "topic", "partition", "controller_epoch", "sequence")),
    Table("election_latency",  schemas.ELECTION_LATENCY,  election_latency,  ("elections",), ("cluster", "strategy", "unclean")),
    Table("replica_timelines", schemas.REPLICA_TIMELINES, replica_timelines, ("transitions",), (*STEP, "broker_id")),
    Table("channel_lag",       schemas.CHANNEL_LAG,       channel_lag,       ("transitions",), ("cluster", "controller_epoch", "controller_id", "broker_id", "api")),
    Table("availability",      schemas.AVAILABILITY,      availability,      ("timelines", "transitions"), ("cluster", "scope", "topic", "partition", "broker_id"), has_limits=True),
    Table("isr_churn",         schemas.ISR_CHURN,         isr_churn,         ("timelines", "transitions"), ("cluster", "broker_id", "topic", "partition")),
    Table("balance",           schemas.BALANCE,           balance,           ("timelines", "broker_lives", "transitions"), ("cluster", "at_ms", "broker_id"), has_limits=True),
    Table("blast_radius",      schemas.BLAST_RADIUS,      last_blast_radius, ("timelines", "broker_lives"), ("cluster", "scope", "a", "b"), has_limits=True),
    Table("incidents",         schemas.INCIDENTS,         incidents,         ("transitions", "violations", "outages", "controller_reigns", "broker_lives", "elections"), ("cluster", "incident_id"), has_limits=True),
)

#: Made only by runs that are given a plan.
PLAN_TABLE: Final = Table("plan_vs_actual", schemas.PLAN_VS_ACTUAL, plan_vs_actual, (PLANNED, "reassignments", "timelines"), ("cluster", "plan", "topic", "partition"))
# fmt: on
