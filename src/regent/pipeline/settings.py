"""What a reader of a history decides: the limits that make a thing worth telling."""

from collections.abc import Mapping

from msgspec import Struct
from pyspark.sql import Column
from pyspark.sql import functions as F


class Settings(Struct, frozen=True):
    """The limits of a run, with defaults that suit a production cluster."""

    #: `min.insync.replicas`, where a topic has none of its own in `topic_min_isr`.
    min_isr: int = 1
    topic_min_isr: Mapping[str, int] = {}
    #: A partition without a leader for longer is a finding.
    offline_longer_than_ms: int = 30_000
    #: A reassignment or deletion without a sign of progress for longer is stuck.
    stuck_after_ms: int = 600_000
    #: A broker flaps when it dies so often within such a time.
    flapping_deaths: int = 3
    flapping_window_ms: int = 600_000
    #: Findings closer together than this can be one incident.
    incident_gap_ms: int = 30_000
    #: How many points in time the balance of a cluster is looked at.
    balance_points: int = 100


DEFAULTS = Settings()


def min_isr_of(topic: Column, settings: Settings) -> Column:
    """`min.insync.replicas` of a topic."""
    if not settings.topic_min_isr:
        return F.lit(settings.min_isr)
    pairs = [F.lit(part) for pair in sorted(settings.topic_min_isr.items()) for part in pair]
    return F.coalesce(F.element_at(F.create_map(*pairs), topic), F.lit(settings.min_isr))
