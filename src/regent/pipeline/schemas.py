"""The tables of the pipeline, one `StructType` each, and their grain.

`TRANSITIONS` is derived from the journal's own vocabulary, so that the two cannot drift apart. In
every table null means "not known", never "no": a boolean that a record left out is false and a
list that it left out is empty. Times are milliseconds since 1970 in UTC, and serve durations; the
order of things is (controller_epoch, sequence).
"""

from collections.abc import Iterable
from typing import Any, Final, get_type_hints

import msgspec
from pyspark.sql import types as T

from regent.journal.record import FIELDS
from regent.model.facts import LoadedPartition

#: The leader of a partition that nobody leads.
NO_LEADER: Final = -1

#: A record may name another controller epoch than its own: the one a leadership was written in.
#: Two columns cannot share a name, so that one has another name in the tables than in the journal.
RENAMED: Final = {"controller_epoch": "written_epoch"}

_LONGS: Final = frozenset({"BrokerEpoch"})
_SIMPLE: Final[dict[str, T.DataType]] = {
    "string": T.StringType(),
    "boolean": T.BooleanType(),
    "integer": T.IntegerType(),
}


def _of_fact(type_name: str, json_type: str) -> T.DataType:
    """The Spark type of a field of a fact, from how the journal describes it."""
    if type_name == "tuple[LoadedPartition, ...]":
        return T.ArrayType(LOADED_PARTITION)
    if json_type == "array of integer":
        return T.ArrayType(T.IntegerType())
    return T.LongType() if type_name in _LONGS else _SIMPLE[json_type]


def _loaded_type(hint: Any) -> T.DataType:
    words = str(hint)
    if "tuple" in words:
        return T.ArrayType(T.IntegerType())
    return T.BooleanType() if hint is bool else T.IntegerType()


#: A partition as a controller found it when it took office.
LOADED_PARTITION: Final = T.StructType(
    [
        T.StructField(field.name, _loaded_type(get_type_hints(LoadedPartition)[field.name]))
        for field in msgspec.structs.fields(LoadedPartition)
    ]
)

#: The fact inside a journal line, all kinds in one structure.
FACT: Final = T.StructType(
    [T.StructField("kind", T.StringType())]
    + [
        T.StructField(field.name, _of_fact(field.type_name, field.json_type))
        for field in FIELDS.values()
    ]
)

#: A line of a journal, as `regent.journal.record.Record` writes it.
JOURNAL_LINE: Final = T.StructType(
    [
        T.StructField("v", T.IntegerType()),
        T.StructField("seq", T.LongType()),
        T.StructField("at_ms", T.LongType()),
        T.StructField("controller_id", T.IntegerType()),
        T.StructField("controller_epoch", T.IntegerType()),
        T.StructField("cause", T.StringType()),
        T.StructField("fact", FACT),
    ]
)


def table(*columns: tuple[str, T.DataType]) -> T.StructType:
    """A table whose columns may all be null: Spark forgets promises when it writes Parquet."""
    return T.StructType([T.StructField(name, of) for name, of in columns])


def _renamed(fields: Iterable[T.StructField]) -> list[tuple[str, T.DataType]]:
    return [(RENAMED.get(field.name, field.name), field.dataType) for field in fields]


STRING: Final = T.StringType()
INT: Final = T.IntegerType()
LONG: Final = T.LongType()
DOUBLE: Final = T.DoubleType()
BOOLEAN: Final = T.BooleanType()
BROKERS: Final = T.ArrayType(T.IntegerType())

#: What a step may set of a partition, beside its state.
LEADERSHIP: Final = table(
    ("leader", INT), ("leader_epoch", INT), ("isr", BROKERS), ("recovering", BOOLEAN)
)
ASSIGNMENT: Final = table(("replicas", BROKERS), ("adding", BROKERS), ("removing", BROKERS))

#: Grain: one thing that took hold, or that a log line says. From any source.
TRANSITIONS: Final = table(
    ("cluster", STRING),
    ("source", STRING),  # journal, log or snapshot
    ("controller_epoch", INT),
    ("sequence", LONG),  # orders within a controller epoch; unique with controller_id
    ("at_ms", LONG),
    ("controller_id", INT),
    ("reporter_id", INT),  # whose journal or log says so
    ("cause", STRING),
    *_renamed(FACT.fields),
    ("correlation_id", INT),  # of requests, in logs
    ("file", STRING),
    ("line", LONG),  # null for journals: there (file, sequence) finds it
)

#: Grain: a line that could not be used.
QUARANTINE: Final = table(
    ("cluster", STRING),
    ("file", STRING),
    ("line", LONG),
    ("reason", STRING),
    ("text", STRING),
)

#: Grain: (cluster, topic, partition, start_epoch, start_sequence): an interval in which state,
#: leader, leader epoch, ISR and assignment of a partition did not change.
TIMELINES: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("start_epoch", INT),
    ("start_sequence", LONG),
    ("start_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    ("state", STRING),  # null until a controller has said which
    ("leader", INT),  # NO_LEADER when nobody leads
    ("leader_epoch", INT),
    ("isr", BROKERS),
    ("replicas", BROKERS),
    ("adding", BROKERS),
    ("removing", BROKERS),
    ("recovering", BOOLEAN),
    ("unclean", BOOLEAN),  # whether an unclean election began it
    ("kind", STRING),  # of the record that began it
    ("cause", STRING),
    ("controller_id", INT),
    ("file", STRING),
    ("line", LONG),
)

#: Grain: (cluster, topic, partition, broker_id, start_epoch, start_sequence): an interval in which
#: a replica did not change its state.
REPLICA_TIMELINES: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("broker_id", INT),
    ("start_epoch", INT),
    ("start_sequence", LONG),
    ("start_ms", LONG),
    ("end_ms", LONG),
    ("state", STRING),
    ("cause", STRING),
    ("file", STRING),
    ("line", LONG),
)

#: Where a finding can be looked up: a line of a log, or a record of a journal by its sequence.
EVIDENCE: Final = T.ArrayType(table(("file", STRING), ("line", LONG), ("sequence", LONG)))

#: Grain: a finding of one rule. `severity` is error (must never happen), warning (data or service
#: was at risk) or note.
VIOLATIONS: Final = table(
    ("rule", STRING),
    ("severity", STRING),
    ("cluster", STRING),
    ("topic", STRING),  # null when it is about a broker or a controller
    ("partition", INT),
    ("broker_id", INT),  # the broker it is about, null when about none
    ("controller_id", INT),
    ("controller_epoch", INT),
    ("sequence", LONG),
    ("at_ms", LONG),
    ("detail", STRING),  # a sentence with the figures
    ("evidence", EVIDENCE),
)

#: Grain: something that a stream found worth waking somebody for. `state` is raised or over.
ALERTS: Final = table(
    ("rule", STRING),
    ("state", STRING),
    ("severity", STRING),
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("broker_id", INT),
    ("controller_id", INT),
    ("controller_epoch", INT),
    ("sequence", LONG),
    ("at_ms", LONG),
    ("detail", STRING),
    ("evidence", EVIDENCE),
)

#: Grain: (cluster, kind, topic, partition, start_epoch, start_sequence): a longest stretch of time
#: in which a partition was `offline`, `leaderless` or `under_min_isr`.
OUTAGES: Final = table(
    ("cluster", STRING),
    ("kind", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("start_epoch", INT),
    ("start_sequence", LONG),
    ("start_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    ("duration_ms", LONG),  # to the end of what was observed while it lasts
    ("leader_before", INT),  # who led before it began; null when nobody is known
    ("cause", STRING),
    ("file", STRING),
    ("line", LONG),
)

#: Grain: (cluster, scope, topic, partition, broker_id); scope is partition, topic, broker or
#: cluster, and what does not apply to it is null. Times are summed over partitions; a broker's are
#: the partitions assigned to it, while they are.
AVAILABILITY: Final = table(
    ("cluster", STRING),
    ("scope", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("broker_id", INT),
    ("partitions", LONG),
    ("total_ms", LONG),
    ("offline_ms", LONG),
    ("leaderless_ms", LONG),
    ("under_min_isr_ms", LONG),
    ("at_min_isr_ms", LONG),
    ("under_replicated_ms", LONG),
    ("outages", LONG),  # times that a partition was left without a leader
    ("longest_outage_ms", LONG),
    ("availability", DOUBLE),  # 1 - leaderless_ms / total_ms
    ("nines", DOUBLE),  # null: no downtime at all
)

#: Grain: (cluster, topic, partition, controller_epoch, sequence): an election that was written.
ELECTIONS: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("controller_epoch", INT),
    ("sequence", LONG),
    ("at_ms", LONG),
    ("strategy", STRING),
    ("unclean", BOOLEAN),
    ("state_before", STRING),
    ("leader_before", INT),
    ("leader", INT),
    ("leader_epoch", INT),
    ("isr", BROKERS),
    # Since when it had been without the leader that it once had; null when somebody led it until
    # now, and for its first election. When a controller found it so as it took office (the stretch
    # begins with `partitions_started`), since that controller was elected.
    ("failed_ms", LONG),
    ("latency_ms", LONG),
    ("cause", STRING),
    ("file", STRING),
    ("line", LONG),
)

#: Grain: (cluster, strategy, unclean).
ELECTION_LATENCY: Final = table(
    ("cluster", STRING),
    ("strategy", STRING),
    ("unclean", BOOLEAN),
    ("elections", LONG),
    ("after_failure", LONG),  # those that ended a time without a leader
    ("p50_ms", LONG),
    ("p95_ms", LONG),
    ("p99_ms", LONG),
    ("max_ms", LONG),
)

#: Grain: (cluster, controller_epoch, controller_id): a controller's time in office, and the
#: anatomy of its failover. What a node writes before its first reign (epoch 0) is in none.
CONTROLLER_REIGNS: Final = table(
    ("cluster", STRING),
    ("controller_epoch", INT),
    ("controller_id", INT),
    ("elected_ms", LONG),
    # The last topic that it found as it took office: before the first `partitions_started` or
    # `request_sent`, or at all when it got no further.
    ("loaded_ms", LONG),
    ("replicas_started_ms", LONG),  # those of the last topic
    ("partitions_started_ms", LONG),
    ("first_request_ms", LONG),
    ("last_record_ms", LONG),
    ("resigned_ms", LONG),  # null when it died in office, or still is
    ("resigned_because", STRING),
    # When it resigned or its successor was elected, whichever is earlier; null for the last one in
    # office.
    ("end_ms", LONG),
    # Since the reign before it ended; null for the first, and after one that died in office, as
    # nobody wrote down when.
    ("interregnum_ms", LONG),
    ("records", LONG),
    ("records_lost", LONG),  # gaps between its first and its last sequence number; null in logs
    ("topics_loaded", LONG),  # as it took office
    ("partitions_loaded", LONG),
    ("elections", LONG),
    ("requests", LONG),
)

#: Grain: (cluster, broker_id, topic, partition): how often a replica left and joined an ISR. No row
#: for one that was always in it. The first ISR of a partition was joined by nobody.
ISR_CHURN: Final = table(
    ("cluster", STRING),
    ("broker_id", INT),
    ("topic", STRING),
    ("partition", INT),
    ("left", LONG),
    ("joined", LONG),
    ("out_ms", LONG),  # assigned and out of the ISR
    ("last_left_ms", LONG),
)

#: Grain: (cluster, broker_id, broker_epoch): one life of a broker, as controllers saw it.
BROKER_LIVES: Final = table(
    ("cluster", STRING),
    ("broker_id", INT),
    ("broker_epoch", LONG),
    ("rack", STRING),
    ("up_ms", LONG),  # first seen alive; null when only its end was seen
    # Seen to go, or not found by the next controller, or replaced by its next life; null while it
    # lives.
    ("down_ms", LONG),
    ("bounced", BOOLEAN),  # whether the next life was there before anybody noticed
    ("lived_ms", LONG),  # null while it lives
    ("was_away_ms", LONG),  # since its life before; null for the first
)

#: Grain: (cluster, broker_id, start_ms): a time in which a broker died again and again, from the
#: first of these deaths to the last.
BROKER_FLAPPING: Final = table(
    ("cluster", STRING),
    ("broker_id", INT),
    ("start_ms", LONG),
    ("end_ms", LONG),
    ("deaths", LONG),
)

#: Grain: (cluster, at_ms, broker_id), at evenly spaced times: the ends of equal parts of the
#: cluster's history. For brokers that were alive then, or held a replica. Shares and Gini are null
#: while there is nothing to share.
BALANCE: Final = table(
    ("cluster", STRING),
    ("at_ms", LONG),
    ("broker_id", INT),
    ("leaders", LONG),
    ("replicas", LONG),
    ("preferred", LONG),  # partitions that would be led here if all led who should
    ("leader_share", DOUBLE),
    ("replica_share", DOUBLE),
    ("leader_gini", DOUBLE),  # of the whole cluster at that time
    ("replica_gini", DOUBLE),
)

#: Grain: (cluster, topic, partition, start_epoch, start_sequence).
REASSIGNMENTS: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("start_epoch", INT),
    ("start_sequence", LONG),
    ("start_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    # finished; cancelled (the target became the origin again); replaced (by another target);
    # abandoned (the topic went); or running
    ("outcome", STRING),
    ("replicas_before", BROKERS),
    ("replicas_after", BROKERS),  # the target, reached or not
    ("added", BROKERS),
    ("removed", BROKERS),
    ("duration_ms", LONG),
    ("longest_pause_ms", LONG),  # between two signs of progress, or since the last
    ("is_stalled", BOOLEAN),  # whether that was too long, be it over or not
)

#: Grain: (plan, topic, partition): where a plan wants a partition to be.
PLANNED: Final = table(("plan", STRING), ("topic", STRING), ("partition", INT), ("wanted", BROKERS))

#: Grain: (cluster, plan, topic, partition): what became of each wish of a plan.
PLAN_VS_ACTUAL: Final = table(
    ("cluster", STRING),
    ("plan", STRING),  # the file
    ("topic", STRING),
    ("partition", INT),
    ("wanted", BROKERS),
    ("replicas_before", BROKERS),  # null when no move to what is wanted was seen
    ("replicas_now", BROKERS),  # as the history ends; null when there is no such partition
    ("is_as_wanted", BOOLEAN),
    # as in `reassignments`, of the last move to what is wanted; without one: already there, not
    # started, or no such partition
    ("outcome", STRING),
    ("start_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    ("duration_ms", LONG),
    # how unevenly all replicas of the cluster lie on its brokers: had the plan not been, had it all
    # been done, and as it is now
    ("replica_gini_before", DOUBLE),
    ("replica_gini_wanted", DOUBLE),
    ("replica_gini_now", DOUBLE),
)

#: Grain: (cluster, topic, start_epoch, start_sequence).
DELETIONS: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("start_epoch", INT),
    ("start_sequence", LONG),
    ("queued_ms", LONG),
    ("started_ms", LONG),
    ("end_ms", LONG),  # null while it lasts
    ("duration_ms", LONG),
    ("obstacles", LONG),  # times that it was found ineligible
    ("reasons", T.ArrayType(STRING)),
    ("retries", LONG),
    ("is_stalled", BOOLEAN),  # whether it ever stood still for too long
)

#: Grain: (cluster, controller_epoch, controller_id, broker_id, api).
CHANNEL_LAG: Final = table(
    ("cluster", STRING),
    ("controller_epoch", INT),
    ("controller_id", INT),
    ("broker_id", INT),
    ("api", STRING),
    ("sent", LONG),
    ("answered", LONG),
    ("refused", LONG),  # answered with an error
    ("unanswered", LONG),
    ("p50_ms", LONG),
    ("p99_ms", LONG),
    ("max_ms", LONG),
)

#: Grain: (cluster, reporter_id): how far a node's clock is ahead of that of the reference, the node
#: that sent most requests. Exact as far as the bounds say and no further.
CLOCK_OFFSETS: Final = table(
    ("cluster", STRING),
    ("reporter_id", INT),
    ("reference_id", INT),
    ("offset_ms", DOUBLE),  # the middle of the bounds; null when one is missing
    ("low_ms", LONG),  # at least this; null when no answer was seen
    ("high_ms", LONG),  # at most this; null when no request was seen to leave
    ("pairs", LONG),  # exchanges that were used
    ("is_consistent", BOOLEAN),  # false when no one offset fits all of them: the clock was set
)

#: Grain: (cluster, incident_id): findings that belong together in time and by cause.
INCIDENTS: Final = table(
    ("cluster", STRING),
    ("incident_id", INT),  # by time, from 1 in each cluster
    ("rank", INT),  # by harm, from 1 in each cluster
    ("start_ms", LONG),
    ("end_ms", LONG),
    (
        "cause",
        STRING,
    ),  # what failed first: broker_died, controller_lost, disk_failed, operator, ...
    ("broker_id", INT),  # which broker or controller that was
    ("title", STRING),
    ("story", STRING),
    ("findings", LONG),
    ("partitions_hit", LONG),
    ("leaderless_ms", LONG),
    ("evidence", EVIDENCE),
)

#: Grain: (cluster, topic, partition): where everything is at one moment. What plans and blast
#: radii are made from.
LAYOUT: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partition", INT),
    ("replicas", BROKERS),
    ("leader", INT),
    ("isr", BROKERS),
    ("min_isr", INT),
)

#: Grain: (cluster, broker_id). The brokers of a layout, live ones and others.
BROKERS_TABLE: Final = table(
    ("cluster", STRING), ("broker_id", INT), ("rack", STRING), ("is_live", BOOLEAN)
)

#: Grain: (topic, partition, at_ms): what a partition carried.
LOADS: Final = table(
    ("topic", STRING),
    ("partition", INT),
    ("at_ms", LONG),
    ("bytes_in_per_s", DOUBLE),
    ("bytes_out_per_s", DOUBLE),
    ("records_in_per_s", DOUBLE),
    ("size_bytes", LONG),
)

#: Grain: (topic, partition): what a partition carries, over all that was measured.
PARTITION_LOADS: Final = table(
    ("topic", STRING),
    ("partition", INT),
    ("bytes_in_per_s", DOUBLE),  # means; null: never measured
    ("bytes_out_per_s", DOUBLE),
    ("records_in_per_s", DOUBLE),
    ("size_bytes", LONG),  # the last
)

#: Grain: (cluster, scope, a, b): what would be lost with a broker, a rack, or a pair of brokers.
BLAST_RADIUS: Final = table(
    ("cluster", STRING),
    ("scope", STRING),  # broker, rack or pair
    ("a", STRING),
    ("b", STRING),  # null but for pairs
    ("offline", LONG),
    ("under_min_isr", LONG),  # still led, and newly refusing acks=all
)

#: Grain: (cluster, topic): what a topic would lose with given brokers; topics that lose nothing
#: are absent.
BLAST_TOPICS: Final = table(
    ("cluster", STRING),
    ("topic", STRING),
    ("partitions", LONG),  # that somebody leads now
    ("offline", LONG),
    ("under_min_isr", LONG),
)

#: Grain: (topic, partition): all that the solver of plans needs to know of a partition.
PLAN_INPUTS: Final = table(
    ("topic", STRING),
    ("partition", INT),
    ("replicas", BROKERS),
    ("in_sync", T.ArrayType(BOOLEAN)),  # of each replica
    ("size_bytes", DOUBLE),  # null: not measured
    ("bytes_in_per_s", DOUBLE),
    ("bytes_out_per_s", DOUBLE),
)
