"""The pipeline's main questions once more, in DuckDB's SQL: what Spark is measured against.

Each answer is a Parquet file made by one statement. They are written from the tables' meaning, as
somebody would who has only DuckDB, and hold for journals alone. The words of a finding and its
evidence are left out: they are made for findings only, which are few.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import duckdb
import msgspec
from msgspec import Struct
from pyspark.sql.types import ArrayType, DataType, StructType

from regent.journal.record import FIELDS, KINDS
from regent.model.facts import LoadedPartition
from regent.model.states import PartitionState, ReplicaState
from regent.pipeline import schemas
from regent.pipeline.audit.moves import LEGAL_BEFORE, LEGAL_REPLICA_BEFORE
from regent.pipeline.settings import DEFAULTS


class Answer(Struct, frozen=True):
    """One question: how DuckDB answers it, and what of the answer is compared with Spark's."""

    name: str
    #: The body of a COPY; `{name}` stands for the file of the answer of that name.
    sql: str
    compared: tuple[str, ...]
    #: Which rows of Spark's table are compared, when DuckDB answers a part of the question.
    spark_rows: str = "true"


def connect(threads: int, scratch: Path) -> duckdb.DuckDBPyConnection:
    """A database in memory that may use the disk."""
    connection = duckdb.connect(
        config={
            "threads": threads,
            "temp_directory": str(scratch),
            "preserve_insertion_order": False,
        }
    )
    connection.execute("SET enable_progress_bar = false")
    return connection


def answer(connection: duckdb.DuckDBPyConnection, one: Answer, journal: Path, folder: Path) -> None:
    """Write an answer, from the journal or from answers that are there."""
    files = {each.name: f"'{folder}/{each.name}.parquet'" for each in ANSWERS}
    body = one.sql.replace("{journal}", f"'{journal}/*/*.jsonl'")
    for name, file in files.items():
        body = body.replace(f"{{{name}}}", file)
    target = files[one.name]
    connection.execute(f"COPY ({body}) TO {target} (FORMAT parquet, COMPRESSION zstd)")


def fingerprint(
    connection: duckdb.DuckDBPyConnection, files: str, one: Answer, rows: str = "true"
) -> tuple[int, int]:
    """How many rows, and a sum over the hashes of all that is compared, whatever their order."""
    columns = ", ".join(one.compared)
    found = connection.execute(
        f"SELECT count(*), coalesce(sum(hash({columns})::HUGEINT), 0)"  # noqa: S608 - our own words
        f" FROM read_parquet('{files}') WHERE {rows}"
    ).fetchone()
    assert found is not None, "an aggregate has a row"
    return found[0], found[1]


# --- ingest ---------------------------------------------------------------------------------------

_NAMES: Final[Mapping[str, str]] = {
    "string": "VARCHAR",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "boolean": "BOOLEAN",
}


def _type(of: DataType) -> str:
    """A type of Spark's in DuckDB's words."""
    if isinstance(of, ArrayType):
        return f"{_type(of.elementType)}[]"
    if isinstance(of, StructType):
        inside = ", ".join(f'"{field.name}" {_type(field.dataType)}' for field in of.fields)
        return f"STRUCT({inside})"
    return _NAMES[of.simpleString()]


def _literal(value: object) -> str:
    if value == ():
        return "[]::INTEGER[]"
    return str(value).upper() if isinstance(value, bool | int) else f"'{value}'"


def _column(name: str) -> str:
    """A field of the fact, with what a record means that leaves it out."""
    arms = [
        f"WHEN '{kind}' THEN {_literal(field.default)}"
        for kind, fact_class in KINDS.items()
        for field in msgspec.structs.fields(fact_class)
        if field.name == name and not field.required and field.default is not None
    ]
    if not arms:
        return f'fact."{name}"'
    return f'coalesce(fact."{name}", CASE fact.kind {" ".join(arms)} END)'


def _loaded() -> str:
    parts = []
    for field in msgspec.structs.fields(LoadedPartition):
        plain = f"one.{field.name}"
        has_default = not field.required and field.default is not None
        value = f"coalesce({plain}, {_literal(field.default)})" if has_default else plain
        parts.append(f"{field.name} := {value}")
    return f"list_transform(fact.partitions, lambda one: struct_pack({', '.join(parts)}))"


def _ingest() -> str:
    columns = ", ".join(
        f"{field.name}: '{_type(field.dataType)}'" for field in schemas.JOURNAL_LINE.fields
    )
    facts = ",\n  ".join(
        f"{_loaded() if name == 'partitions' else _column(name)}"
        f' AS "{schemas.RENAMED.get(name, name)}"'
        for name in FIELDS
    )
    return f"""
SELECT split_part(filename, '/', -2) AS cluster, 'journal' AS source, controller_epoch,
  seq AS sequence, at_ms, controller_id, controller_id AS reporter_id, cause, fact.kind AS kind,
  {facts},
  NULL::INTEGER AS correlation_id, filename AS file, NULL::BIGINT AS line
FROM read_json({{journal}}, format = 'newline_delimited', filename = true,
  columns = {{{columns}}})
"""  # noqa: S608 - our own words


# --- timelines ------------------------------------------------------------------------------------

LED: Final = (
    "('leader_elected', 'isr_shrunk', 'isr_altered', 'leadership_learned', 'leader_epoch_raised')"
)
POSITION: Final = "cluster, controller_epoch, sequence, at_ms, controller_id, cause, kind, file"

TIMELINES: Final = f"""
WITH t AS (FROM read_parquet({{transitions}})),
loads AS (
  SELECT {POSITION}, topic, partitions FROM t WHERE kind = 'topic_loaded'),
about_topics AS (
  SELECT said.*, loads.partitions AS members
  FROM (SELECT {POSITION}, topic, "new", offline FROM t
        WHERE kind IN ('partitions_started', 'topic_forgotten')) AS said
  JOIN loads USING (cluster, controller_epoch, controller_id, topic)
  WHERE loads.sequence < said.sequence),
first_words AS (
  SELECT cluster, controller_epoch, min(sequence) AS started_sequence FROM t
  WHERE kind IN ('partitions_started', 'request_sent') GROUP BY ALL),
reigns AS (
  SELECT {POSITION}, started_sequence FROM t JOIN first_words USING (cluster, controller_epoch)
  WHERE kind = 'controller_elected'),
known AS (
  SELECT DISTINCT cluster, controller_epoch, topic,
    unnest(list_transform(partitions, lambda one: one."partition")) AS "partition" FROM loads),
successors AS (
  SELECT before.cluster, before.controller_epoch, min(reigns.controller_epoch) AS next_epoch
  FROM (SELECT DISTINCT cluster, controller_epoch FROM loads) AS before
  JOIN reigns ON reigns.cluster = before.cluster
    AND reigns.controller_epoch > before.controller_epoch GROUP BY ALL),
found AS (
  SELECT DISTINCT loads.cluster, loads.controller_epoch AS next_epoch, topic,
    unnest(list_transform(partitions, lambda one: one."partition")) AS "partition"
  FROM loads JOIN reigns USING (cluster, controller_epoch)
  WHERE loads.sequence < started_sequence),
missing AS (
  SELECT DISTINCT cluster, next_epoch AS controller_epoch, topic, "partition"
  FROM known JOIN successors USING (cluster, controller_epoch)
  ANTI JOIN found USING (cluster, next_epoch, topic, "partition")),
steps AS (
  SELECT {POSITION}, topic, "partition",
    CASE kind WHEN 'leader_elected' THEN 'OnlinePartition'
              WHEN 'partition_moved' THEN "after" END AS state,
    CASE WHEN kind IN {LED} THEN struct_pack(leader := leader, leader_epoch := leader_epoch,
      isr := isr, recovering := recovering) END AS leadership,
    CASE WHEN kind = 'assignment_changed' THEN struct_pack(replicas := replicas,
      adding := adding, removing := removing) END AS assignment,
    coalesce(unclean, false) AS unclean
  FROM t WHERE kind IN {LED} OR kind IN ('partition_moved', 'assignment_changed')
  UNION ALL
  SELECT {POSITION}, topic, one."partition", NULL,
    struct_pack(leader := coalesce(one.leader, -1), leader_epoch := coalesce(one.leader_epoch, -1),
      isr := coalesce(one.isr, []), recovering := coalesce(one.recovering, false)),
    struct_pack(replicas := one.replicas, adding := one.adding, removing := one.removing), false
  FROM (SELECT {POSITION}, topic, unnest(partitions) AS one FROM loads)
  UNION ALL
  SELECT {POSITION}, topic, one."partition",
    CASE WHEN kind = 'topic_forgotten' THEN 'NonExistentPartition'
      WHEN list_contains("new", one."partition") THEN 'NewPartition'
      WHEN list_contains(offline, one."partition") THEN 'OfflinePartition'
      ELSE 'OnlinePartition' END, NULL, NULL, false
  FROM (SELECT {POSITION}, topic, "new", offline, unnest(members) AS one FROM about_topics)
  UNION ALL
  SELECT {POSITION}, topic, "partition", 'NonExistentPartition', NULL, NULL, false
  FROM missing JOIN reigns USING (cluster, controller_epoch)),
carried AS (
  SELECT * REPLACE (
    last_value(state IGNORE NULLS) OVER life AS state,
    last_value(leadership IGNORE NULLS) OVER life AS leadership,
    last_value(assignment IGNORE NULLS) OVER life AS assignment)
  FROM steps WINDOW life AS (PARTITION BY cluster, topic, "partition"
    ORDER BY controller_epoch, sequence, controller_id, kind
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
compared AS (
  SELECT *, row(state, leadership, assignment) AS now, lag(now) OVER (
    PARTITION BY cluster, topic, "partition"
    ORDER BY controller_epoch, sequence, controller_id, kind) AS was
  FROM carried),
changes AS (
  SELECT * EXCLUDE (now, was), lead(at_ms) OVER (PARTITION BY cluster, topic, "partition"
    ORDER BY controller_epoch, sequence, controller_id, kind) AS end_ms
  FROM compared WHERE now IS DISTINCT FROM was)
SELECT cluster, topic, "partition", controller_epoch AS start_epoch, sequence AS start_sequence,
  at_ms AS start_ms, end_ms, state, leadership.leader, leadership.leader_epoch, leadership.isr,
  assignment.replicas, assignment.adding, assignment.removing, leadership.recovering, unclean,
  kind, cause, controller_id, file
FROM changes WHERE state IS DISTINCT FROM 'NonExistentPartition'
"""  # noqa: S608 - our own words

# --- availability and elections -------------------------------------------------------------------

_ORDER: Final = (
    'PARTITION BY cluster, topic, "partition"'
    " ORDER BY start_epoch, start_sequence, controller_id, kind"
)

AVAILABILITY: Final = f"""
WITH span AS (
  SELECT cluster, max(at_ms) AS until_ms FROM read_parquet({{transitions}}) GROUP BY ALL),
judged AS (
  SELECT cluster, topic, "partition", start_epoch, start_sequence, controller_id, kind, replicas,
    greatest(coalesce(end_ms, until_ms) - start_ms, 0) AS ms, start_ms, end_ms,
    state = 'OfflinePartition' AS offline,
    coalesce(leader = -1, false) OR state IN ('NewPartition', 'OfflinePartition') AS leaderless,
    NOT leaderless AND coalesce(len(isr) < {DEFAULTS.min_isr}, false) AS under_min_isr,
    NOT leaderless AND coalesce(len(isr) = {DEFAULTS.min_isr}, false) AS at_min_isr,
    NOT leaderless AND coalesce(len(isr) < len(replicas), false) AS under_replicated
  FROM read_parquet({{timelines}}) JOIN span USING (cluster) WHERE state IS NOT NULL),
followed AS (
  SELECT *, coalesce(lag(end_ms) OVER life = start_ms, false) AND lag(leaderless) OVER life
    AS goes_on
  FROM judged WINDOW life AS ({_ORDER})),
stretches AS (
  SELECT *, CASE WHEN leaderless THEN sum((leaderless AND NOT coalesce(goes_on, false))::INTEGER)
    OVER ({_ORDER} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END AS stretch
  FROM followed),
summed AS (
  SELECT cluster, topic, "partition", replicas, stretch, sum(ms) AS total_ms,
    coalesce(sum(ms) FILTER (offline), 0) AS offline_ms,
    coalesce(sum(ms) FILTER (leaderless), 0) AS leaderless_ms,
    coalesce(sum(ms) FILTER (under_min_isr), 0) AS under_min_isr_ms,
    coalesce(sum(ms) FILTER (at_min_isr), 0) AS at_min_isr_ms,
    coalesce(sum(ms) FILTER (under_replicated), 0) AS under_replicated_ms
  FROM stretches GROUP BY ALL),
told AS (
  SELECT * EXCLUDE (replicas), unnest(list_prepend(NULL, list_distinct(replicas))) AS broker_id
  FROM summed),
per_stretch AS (
  SELECT cluster, topic, "partition", broker_id, stretch, sum(total_ms) AS total_ms,
    sum(offline_ms) AS offline_ms, sum(leaderless_ms) AS leaderless_ms,
    sum(under_min_isr_ms) AS under_min_isr_ms, sum(at_min_isr_ms) AS at_min_isr_ms,
    sum(under_replicated_ms) AS under_replicated_ms
  FROM told GROUP BY ALL),
per_partition AS (
  SELECT cluster, topic, "partition", broker_id, sum(total_ms) AS total_ms,
    sum(offline_ms) AS offline_ms, sum(leaderless_ms) AS leaderless_ms,
    sum(under_min_isr_ms) AS under_min_isr_ms, sum(at_min_isr_ms) AS at_min_isr_ms,
    sum(under_replicated_ms) AS under_replicated_ms, count(stretch) AS outages,
    max(leaderless_ms) AS longest_outage_ms
  FROM per_stretch GROUP BY ALL),
scoped AS (
  SELECT 'partition' AS scope, * FROM per_partition WHERE broker_id IS NULL
  UNION ALL SELECT 'topic', * REPLACE (NULL AS "partition") FROM per_partition
    WHERE broker_id IS NULL
  UNION ALL SELECT 'cluster', * REPLACE (NULL AS topic, NULL AS "partition") FROM per_partition
    WHERE broker_id IS NULL
  UNION ALL SELECT 'broker', * REPLACE (NULL AS topic, NULL AS "partition") FROM per_partition
    WHERE broker_id IS NOT NULL)
SELECT cluster, scope, topic, "partition", broker_id, count(*) AS partitions,
  sum(total_ms)::BIGINT AS total_ms, sum(offline_ms)::BIGINT AS offline_ms,
  sum(leaderless_ms)::BIGINT AS leaderless_ms, sum(under_min_isr_ms)::BIGINT AS under_min_isr_ms,
  sum(at_min_isr_ms)::BIGINT AS at_min_isr_ms,
  sum(under_replicated_ms)::BIGINT AS under_replicated_ms, sum(outages)::BIGINT AS outages,
  max(longest_outage_ms)::BIGINT AS longest_outage_ms,
  1 - sum(leaderless_ms) / nullif(sum(total_ms), 0) AS availability
FROM scoped GROUP BY ALL
"""  # noqa: S608 - our own words

ELECTIONS: Final = f"""
WITH t AS (FROM read_parquet({{transitions}})),
judged AS (
  SELECT cluster, topic, "partition", start_epoch, start_sequence, controller_id, kind, start_ms,
    coalesce(state = 'OfflinePartition', false)
      OR coalesce(leader = -1 AND leader_epoch > -1, false) AS failed
  FROM read_parquet({{timelines}})),
marked AS (
  SELECT *, coalesce(lag(failed) OVER ({_ORDER}), false) AS was_failed,
    CASE WHEN failed AND NOT was_failed THEN struct_pack(epoch := start_epoch,
      by_id := controller_id, ms := start_ms, how := kind) END AS begun
  FROM judged),
ended AS (
  SELECT * FROM (
    SELECT *, last_value(begun IGNORE NULLS) OVER ({_ORDER}
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS failure
    FROM marked)
  WHERE kind = 'leader_elected' AND was_failed),
offices AS (
  SELECT cluster, controller_epoch, controller_id, at_ms FROM t WHERE kind = 'controller_elected'),
waits AS (
  SELECT ended.cluster, topic, "partition", start_epoch AS controller_epoch,
    start_sequence AS sequence, ended.controller_id, least(failure.ms, at_ms) AS failed_ms
  FROM ended LEFT JOIN offices ON offices.cluster = ended.cluster
    AND failure.epoch = offices.controller_epoch AND failure.by_id = offices.controller_id
    AND failure.how = 'partitions_started')
SELECT t.cluster, topic, "partition", controller_epoch, sequence, t.at_ms, strategy,
  coalesce(unclean, false) AS unclean, "before" AS state_before, leader_before, leader,
  leader_epoch, isr, failed_ms,
  CASE WHEN failed_ms IS NOT NULL THEN greatest(t.at_ms - failed_ms, 0) END AS latency_ms,
  cause, file
FROM t LEFT JOIN waits
  USING (cluster, topic, "partition", controller_epoch, sequence, controller_id)
WHERE kind = 'leader_elected'
"""  # noqa: S608 - our own words

# --- the audit ------------------------------------------------------------------------------------


def _illegal(
    legal: Mapping[PartitionState, Sequence[str]] | Mapping[ReplicaState, Sequence[str]],
) -> str:
    pairs = " OR ".join(
        f"(state_after = '{to}' AND state_before IN ({', '.join(repr(str(o)) for o in origins)}))"
        for to, origins in legal.items()
    )
    return f"NOT ({pairs})"


PARTITION_MOVES: Final = "kind IN ('partition_moved', 'leader_elected')"
WRITES: Final = "('leader_elected', 'isr_shrunk', 'isr_altered', 'leader_epoch_raised')"
DECIDED: Final = "('leader_elected', 'isr_shrunk', 'leader_epoch_raised')"
WHERE: Final = (
    'cluster, topic, "partition", broker_id, controller_id, controller_epoch, sequence, at_ms'
)
#: Each rule with the rows that it judges, its condition, and whether it needs a whole reign.
RULES: Final = (
    ("illegal_partition_move", "moves", f"{PARTITION_MOVES} AND {_illegal(LEGAL_BEFORE)}", False),
    (
        "illegal_replica_move",
        "moves",
        f"kind = 'replica_moved' AND {_illegal(LEGAL_REPLICA_BEFORE)}",
        False,
    ),
    (
        "leader_outside_isr",
        "moves",
        f"kind IN {LED} AND leader >= 0 AND len(isr) > 0 AND NOT list_contains(isr, leader)",
        False,
    ),
    ("empty_isr", "moves", f"kind IN {LED} AND len(isr) = 0", False),
    ("unclean_election", "moves", "kind = 'leader_elected' AND unclean", False),
    (
        "partition_chain_broken",
        "chains",
        "kind <> 'replica_moved' AND state_before NOT IN (known, 'NonExistentPartition')",
        True,
    ),
    (
        "replica_chain_broken",
        "chains",
        "kind = 'replica_moved' AND state_before NOT IN (known, 'NonExistentReplica')",
        True,
    ),
    ("leader_epoch_went_back", "leaderships", "is_known AND leader_epoch < was.leader_epoch", True),
    (
        "two_leaders_in_one_epoch",
        "leaderships",
        (
            "leader_epoch = was.leader_epoch AND leader_epoch >= 0 AND leader >= 0"
            " AND was.leader >= 0 AND leader <> was.leader"
        ),
        True,
    ),
    (
        "zk_version_went_back",
        "leaderships",
        (
            "is_known AND (zk_version < was.zk_version"
            f" OR (kind IN {WRITES} AND zk_version = was.zk_version))"
        ),
        True,
    ),
    (
        "acted_after_deposed",
        "leaderships",
        (
            f"was.kind IN {WRITES} AND was.controller_epoch < controller_epoch"
            " AND coalesce(zk_version < was.zk_version, leader_epoch < was.leader_epoch)"
        ),
        True,
    ),
    (
        "overruled_by_deposed",
        "leaderships",
        (
            "kind = 'leadership_learned' AND is_known AND leader_epoch > was.leader_epoch"
            " AND written_epoch < controller_epoch"
        ),
        True,
    ),
    (
        "out_of_sync_replica_trusted",
        "leaderships",
        (
            f"kind IN {DECIDED} AND NOT unclean AND is_known AND (NOT list_has_all(was.isr, isr)"
            " OR (leader >= 0 AND NOT list_contains(was.isr, leader)))"
        ),
        True,
    ),
    (
        "leader_not_assigned",
        "leaderships",
        (
            "kind = 'leader_elected' AND is_assigned"
            " AND NOT list_contains(assignment.replicas, leader)"
        ),
        True,
    ),
    (
        "isr_outside_assignment",
        "leaderships",
        "is_assigned AND NOT list_has_all(assignment.either, isr)",
        True,
    ),
    (
        "leader_on_dead_broker",
        "elected",
        "coalesce(NOT seen_up, seen_up IS NULL AND knows_all)",
        True,
    ),
    ("acted_before_elected", "decisions", "sequence < began", False),
    ("acted_after_resigning", "decisions", "sequence > resigned", False),
    ("records_lost", "numbered", "sequence > previous + 1", False),
)

_LIFE: Final = """
    PARTITION BY cluster, topic, "partition"
    ORDER BY controller_epoch, sequence, controller_id, kind
"""


def _violations() -> str:
    found = "\nUNION ALL\n".join(
        f"SELECT '{name}' AS rule, {str(whole).lower()} AS needs_whole_reign, {WHERE}"  # noqa: S608
        f" FROM {rows} WHERE {condition}"
        for name, rows, condition, whole in RULES
    )
    return f"""
WITH t AS (FROM read_parquet({{transitions}})),
moves AS (
  SELECT {WHERE}, kind, coalesce(replica_before, "before") AS state_before,
    CASE WHEN kind = 'leader_elected' THEN 'OnlinePartition'
      ELSE coalesce(replica_after, "after") END AS state_after, leader, isr, unclean
  FROM t WHERE kind IN {LED} OR kind IN ('partition_moved', 'replica_moved')),
chains AS (
  SELECT {WHERE}, kind, state_before, lag(state_after) OVER (PARTITION BY cluster,
    controller_epoch, controller_id, topic, "partition", broker_id ORDER BY sequence) AS known
  FROM moves WHERE kind IN ('partition_moved', 'replica_moved', 'leader_elected')),
told AS (
  SELECT cluster, topic, "partition", controller_id, controller_epoch, sequence, at_ms, kind,
    coalesce(unclean, false) AS unclean, leader, leader_epoch, isr, zk_version,
    coalesce(written_epoch, controller_epoch) AS written_epoch,
    CASE WHEN kind = 'assignment_changed' THEN replicas END AS replicas,
    NULL::VARCHAR AS topic_id,
    coalesce(kind = 'partition_moved', false) AS is_birth
  FROM t WHERE kind IN {LED} OR kind = 'assignment_changed' OR (kind = 'partition_moved'
    AND ("before" = 'NonExistentPartition' OR "after" = 'NonExistentPartition'))
  UNION ALL
  SELECT cluster, topic, one."partition", controller_id, controller_epoch, sequence, at_ms, kind,
    false, one.leader, one.leader_epoch, one.isr, one.zk_version, one.controller_epoch,
    one.replicas, topic_id, one.leader IS NULL
  FROM (SELECT *, unnest(partitions) AS one FROM t WHERE kind = 'topic_loaded')),
assigned AS (
  SELECT *, CASE WHEN replicas IS NOT NULL THEN struct_pack(epoch := controller_epoch,
      by_id := controller_id, replicas := replicas) END AS mine,
    last_value(mine IGNORE NULLS) OVER before_it AS previous,
    last_value(topic_id IGNORE NULLS) OVER before_it AS last_id
  FROM told WINDOW before_it AS ({_LIFE} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
joined AS (
  SELECT *, CASE WHEN replicas IS NOT NULL THEN struct_pack(epoch := controller_epoch,
      by_id := controller_id, replicas := replicas, either := CASE WHEN kind = 'assignment_changed'
        AND previous.epoch = controller_epoch AND previous.by_id = controller_id
        THEN list_concat(replicas, previous.replicas) ELSE replicas END) END AS set_here,
    is_birth OR (kind = 'topic_loaded' AND NOT coalesce(topic_id = last_id, false)) AS is_born,
    CASE WHEN leader IS NOT NULL THEN struct_pack(controller_epoch := controller_epoch,
      controller_id := controller_id, kind := kind, leader := leader, leader_epoch := leader_epoch,
      isr := isr, zk_version := zk_version) END AS said
  FROM assigned),
lives AS (
  SELECT *, last_value(set_here IGNORE NULLS) OVER until_here AS assignment,
    sum(is_born::INTEGER) OVER until_here AS life
  FROM joined WINDOW until_here AS ({_LIFE} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)),
beside AS (
  SELECT *, last_value(CASE WHEN said IS NOT NULL THEN struct_pack(life := life, said := said) END
    IGNORE NULLS) OVER ({_LIFE} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_said
  FROM lives),
leaderships AS (
  SELECT *, NULL::INTEGER AS broker_id,
    was.controller_epoch = controller_epoch AND was.controller_id = controller_id AS is_known,
    assignment.epoch = controller_epoch AND assignment.by_id = controller_id AS is_assigned
  FROM (SELECT * EXCLUDE (last_said),
      CASE WHEN last_said.life = life THEN last_said.said END AS was
    FROM beside WHERE leader IS NOT NULL)),
news AS (SELECT * FROM t WHERE kind IN ('broker_up', 'broker_down')),
listing AS (
  SELECT cluster, controller_epoch, controller_id, bool_or(loaded) AS knows_all FROM news
  GROUP BY ALL),
elected AS (
  SELECT e.cluster, e.topic, e."partition", e.leader AS broker_id, e.controller_id,
    e.controller_epoch, e.sequence, e.at_ms, news.kind = 'broker_up' AS seen_up, knows_all
  FROM (FROM t WHERE kind = 'leader_elected' AND leader >= 0) AS e
  ASOF LEFT JOIN news ON e.cluster = news.cluster AND e.controller_epoch = news.controller_epoch
    AND e.controller_id = news.controller_id AND e.leader = news.broker_id
    AND e.sequence > news.sequence
  LEFT JOIN listing ON e.cluster = listing.cluster
    AND e.controller_epoch = listing.controller_epoch AND e.controller_id = listing.controller_id),
offices AS (
  SELECT cluster, controller_epoch, controller_id,
    min(sequence) FILTER (kind = 'controller_elected') AS began,
    min(sequence) FILTER (kind = 'controller_resigned') AS resigned
  FROM t WHERE kind IN ('controller_elected', 'controller_resigned') GROUP BY ALL),
decisions AS (
  SELECT {WHERE}, began, resigned FROM t JOIN offices
    USING (cluster, controller_epoch, controller_id)
  WHERE kind IN {WRITES} OR kind IN ('partition_moved', 'replica_moved', 'assignment_changed')),
numbered AS (
  SELECT * REPLACE (NULL AS topic, NULL AS "partition", NULL AS broker_id), lag(sequence) OVER (
    PARTITION BY cluster, controller_epoch, controller_id ORDER BY sequence) AS previous
  FROM (SELECT {WHERE} FROM t WHERE controller_epoch > 0)),
doubtful AS (
  SELECT cluster, controller_epoch, controller_id FROM t WHERE controller_epoch > 0 GROUP BY ALL
  HAVING max(sequence) - min(sequence) + 1 > count(*)
    OR arg_min(kind, sequence) <> 'controller_elected'),
found AS ({found})
SELECT found.* EXCLUDE (needs_whole_reign) FROM found
LEFT JOIN doubtful USING (cluster, controller_epoch, controller_id)
WHERE NOT (needs_whole_reign AND doubtful.cluster IS NOT NULL)
"""  # noqa: S608 - our own words


_RULE_NAMES: Final = ", ".join(f"'{name}'" for name, *_ in RULES)

ANSWERS: Final = (
    Answer(
        "transitions",
        _ingest(),
        tuple(
            f'"{n}"' for n in schemas.TRANSITIONS.fieldNames() if n not in {"file", "partitions"}
        ),
    ),
    Answer(
        "timelines",
        TIMELINES,
        tuple(f'"{n}"' for n in schemas.TIMELINES.fieldNames() if n not in {"file", "line"}),
    ),
    Answer(
        "availability",
        AVAILABILITY,
        tuple(f'"{n}"' for n in schemas.AVAILABILITY.fieldNames()[:-2]),
    ),
    Answer(
        "elections",
        ELECTIONS,
        tuple(f'"{n}"' for n in schemas.ELECTIONS.fieldNames() if n not in {"file", "line"}),
    ),
    Answer(
        "violations",
        _violations(),
        ("rule", *WHERE.split(", ")),
        spark_rows=f"rule IN ({_RULE_NAMES})",
    ),
)
