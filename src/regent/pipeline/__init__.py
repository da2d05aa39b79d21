"""The data pipeline, for notebooks and programs: sources, questions, and the limits they take.

    from regent import pipeline as p

    transitions = p.read_journal(spark, "journals/")
    transitions.transform(p.timelines).filter("state = 'OfflinePartition'").show()

Every question is a function of tables that gives a table; `docs/pipeline.md` has them all.
"""

from regent.pipeline.audit.rules import violations
from regent.pipeline.availability import availability
from regent.pipeline.balance import balance
from regent.pipeline.blast_radius import blast_radius, blast_topics
from regent.pipeline.broker_flapping import broker_flapping
from regent.pipeline.broker_lives import broker_lives
from regent.pipeline.channel_lag import channel_lag
from regent.pipeline.clock_skew import clock_offsets, with_corrected_times
from regent.pipeline.controller_reigns import controller_reigns
from regent.pipeline.deletions import deletions
from regent.pipeline.duplicates import once
from regent.pipeline.elections import election_latency, elections
from regent.pipeline.incidents import incidents
from regent.pipeline.isr_churn import isr_churn
from regent.pipeline.outages import outages
from regent.pipeline.plan_vs_actual import plan_vs_actual
from regent.pipeline.reassignments import reassignments
from regent.pipeline.replica_timelines import replica_timelines
from regent.pipeline.session import Profile, open_session, ship
from regent.pipeline.settings import Settings
from regent.pipeline.sources.journal import read_journal
from regent.pipeline.sources.layouts import read_layout
from regent.pipeline.sources.loads import read_loads
from regent.pipeline.sources.planned import PlannedReplicas, planned_table
from regent.pipeline.sources.snapshots import read_snapshots
from regent.pipeline.sources.state_change_log import read_state_change_log
from regent.pipeline.timelines import timelines

__all__ = [
    "PlannedReplicas",
    "Profile",
    "Settings",
    "availability",
    "balance",
    "blast_radius",
    "blast_topics",
    "broker_flapping",
    "broker_lives",
    "channel_lag",
    "clock_offsets",
    "controller_reigns",
    "deletions",
    "election_latency",
    "elections",
    "incidents",
    "isr_churn",
    "once",
    "open_session",
    "outages",
    "plan_vs_actual",
    "planned_table",
    "read_journal",
    "read_layout",
    "read_loads",
    "read_snapshots",
    "read_state_change_log",
    "reassignments",
    "replica_timelines",
    "ship",
    "timelines",
    "violations",
    "with_corrected_times",
]
