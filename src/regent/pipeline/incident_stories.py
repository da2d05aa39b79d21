"""What happened in an incident, in a few sentences that Spark puts together.

Each function gives one sentence, or null where there is nothing to say. They read the columns that
`incidents` gathers.
"""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from regent.pipeline.incident_findings import (
    BROKER_DIED,
    BROKER_SHUT_DOWN,
    CONTROLLER_LOST,
    DISK_FAILED,
    ISR_COLLAPSED,
    OPERATOR,
    RULE_BROKEN,
)
from regent.pipeline.words import clock, counted, duration_in_words, joined, sentences

#: So many later failures are named; the rest is counted.
FOLLOWERS_MAX: Final = 3


def title_of() -> Column:
    """The cause and the harm in one line."""
    harm = (
        F.when(
            F.col("lost_leader") > 0,
            joined(
                counted(F.col("lost_leader"), "partition"),
                " without a leader for up to ",
                duration_in_words(F.col("longest_leaderless_ms")),
            ),
        )
        .when(
            F.col("under_min_isr") > 0,
            joined(counted(F.col("under_min_isr"), "partition"), " under min ISR"),
        )
        .when(F.col("errors") > 0, counted(F.col("errors"), "error"))
        .when(F.col("warnings") > 0, counted(F.col("warnings"), "warning"))
        .otherwise(F.lit("nobody was without a leader"))
    )
    return joined(_named(), ": ", harm)


def story_of() -> Column:
    """All sentences that apply."""
    return sentences(
        _what_failed(),
        _what_followed(),
        _who_lost_a_leader(),
        _who_stayed_without(),
        _who_was_under_min_isr(),
        _what_was_unclean(),
        _what_the_audit_found(),
        _how_it_ended(),
    )


# --- the cause --------------------------------------------------------------------------------


def _named() -> Column:
    cause = F.col("cause")
    broker = F.col("first_failure.broker_id")
    return (
        F.when(cause == BROKER_DIED, joined("Broker ", broker, " died"))
        .when(cause == BROKER_SHUT_DOWN, joined("Broker ", broker, " shut down"))
        .when(cause == CONTROLLER_LOST, joined("Controller lost on broker ", broker))
        .when(cause == DISK_FAILED, joined("Disk failed on broker ", broker))
        .when(cause == OPERATOR, _sentence_case(F.col("asked.detail")))
        .when(cause == ISR_COLLAPSED, F.lit("Replicas fell out of sync"))
        .when(cause == RULE_BROKEN, joined("Audit, ", _as_words(F.element_at("rules", 1))))
        .otherwise(F.lit("Cause not recorded"))
    )


def _what_failed() -> Column:
    cause = F.col("cause")
    started = clock(F.col("began_ms"))
    return (
        F.when(F.col("first_failure").isNotNull(), _first_failure())
        .when(
            cause == OPERATOR,
            joined(
                "At ",
                clock(F.col("asked.start_ms")),
                " ",
                F.col("asked.detail"),
                "; nothing had failed.",
            ),
        )
        .when(
            cause == ISR_COLLAPSED,
            joined("At ", started, " replicas fell out of sync; nothing had failed before."),
        )
        .when(
            cause == RULE_BROKEN,
            joined("At ", started, " the audit's first finding; nothing had failed before."),
        )
        .otherwise(
            joined("It began at ", started, "; the record does not say what failed."),
        )
    )


def _first_failure() -> Column:
    failure = F.col("first_failure")
    at = joined(" at ", clock(failure["start_ms"]))
    why = F.coalesce(joined(": ", failure["detail"]), F.lit(""))
    return joined(_subject(failure), at, why, ".")


def _subject(failure: Column) -> Column:
    what = failure["what"]
    broker = failure["broker_id"].cast("string")
    return (
        F.when(what == BROKER_DIED, joined("Broker ", broker, " died"))
        .when(what == BROKER_SHUT_DOWN, joined("Broker ", broker, " shut down as it had asked to"))
        .when(what == DISK_FAILED, joined("A disk of broker ", broker, " failed"))
        .otherwise(
            joined(
                "The controller (broker ",
                broker,
                ", epoch ",
                failure["epoch"].cast("string"),
                ") was lost",
            )
        )
    )


def _what_followed() -> Column:
    """The failures after the first, with how long after it they came."""
    later = F.slice("failures", F.lit(2), F.size("failures"))
    named = F.transform(
        F.slice(later, 1, FOLLOWERS_MAX),
        lambda one: joined(
            _lower_first(_subject(one)),
            _how_much_later(one["start_ms"] - F.col("first_failure.start_ms")),
        ),
    )
    more = F.size(later) - FOLLOWERS_MAX
    rest = F.when(more > 0, joined(", and ", counted(more, "more failure", "more failures")))
    return F.when(
        F.size(later) > 0,
        joined("Then ", F.array_join(named, ", "), F.coalesce(rest, F.lit("")), "."),
    )


def _how_much_later(later_ms: Column) -> Column:
    return F.when(later_ms <= 0, F.lit(" (at once)")).otherwise(
        joined(" (+", duration_in_words(later_ms), ")")
    )


# --- the harm ---------------------------------------------------------------------------------


def _who_lost_a_leader() -> Column:
    lost = joined(counted(F.col("lost_leader"), "partition"), " lost their leader")
    one = joined("1 partition of `", F.col("worst_topic"), "` lost its leader")
    elector = F.when(
        F.size("electors") == 1,
        joined(
            "the controller (broker ",
            F.col("elector_id").cast("string"),
            ", epoch ",
            F.col("elector_epoch").cast("string"),
            ")",
        ),
    ).otherwise(joined(F.size("electors").cast("string"), " controllers"))
    spread = F.when(
        F.col("median_ms") < F.col("last_ms"),
        joined(" (median), the last after ", duration_in_words(F.col("last_ms"))),
    ).otherwise(F.lit(""))
    several = joined(
        "; ", elector, " elected new ones after ", duration_in_words(F.col("median_ms")), spread
    )
    single = joined("; ", elector, " elected a new one after ", duration_in_words(F.col("last_ms")))
    elected = F.when(F.col("elected") == 1, single).when(F.col("elected") > 1, several)
    return F.when(
        F.col("lost_leader") > 0,
        joined(
            F.when(F.col("lost_leader") == 1, one).otherwise(lost),
            F.coalesce(elected, F.lit("")),
            ".",
        ),
    ).otherwise(F.lit("No partition lost its leader."))


def _who_stayed_without() -> Column:
    others = F.when(F.col("long_topics") > 1, F.lit(" and other topics")).otherwise(F.lit(""))
    how_long = duration_in_words(F.col("long_ms"))
    stayed = (
        F.when(
            F.col("long_lasts"),
            joined(" still had no leader when the record ends, ", how_long, " later"),
        )
        .when(F.col("long_count") == 1, joined(" stayed without a leader for ", how_long))
        .otherwise(joined(" stayed without a leader, the longest for ", how_long))
    )
    because = F.coalesce(joined(", because ", F.col("long_because")), F.lit(""))
    sentence = joined(
        counted(F.col("long_count"), "partition"),
        " of `",
        F.col("long_topic"),
        "`",
        others,
        stayed,
        because,
        ".",
    )
    return F.when(F.col("long_count") > 0, sentence)


def _who_was_under_min_isr() -> Column:
    return F.when(
        F.col("under_min_isr") > 0,
        joined(
            counted(F.col("under_min_isr"), "partition"),
            " had fewer replicas in sync than `min.insync.replicas`, for up to ",
            duration_in_words(F.col("longest_under_min_isr_ms")),
            ", and refused writes with acks=all.",
        ),
    )


def _what_was_unclean() -> Column:
    return F.when(
        F.col("elected_unclean") > 0,
        joined(
            counted(F.col("elected_unclean"), "election was", "elections were"),
            " unclean: records may be lost.",
        ),
    )


def _what_the_audit_found() -> Column:
    found = F.col("errors") + F.col("warnings")
    return F.when(
        found > 0,
        joined(
            "The audit has ",
            counted(F.col("errors"), "error"),
            " and ",
            counted(F.col("warnings"), "warning"),
            ": ",
            _as_words(F.array_join("rules", ", ")),
            ".",
        ),
    )


def _how_it_ended() -> Column:
    """Only where there was harm that had a length."""
    lasted_ms = F.col("end_ms") - F.col("began_ms")
    return F.when(
        (F.col("lost_leader") > 0) | (F.col("under_min_isr") > 0),
        F.when(
            lasted_ms < 2**61,
            joined("All was whole again after ", duration_in_words(lasted_ms), "."),
        ).otherwise(F.lit("It was not over when the record ends.")),
    )


def _as_words(rules: Column) -> Column:
    return F.replace(rules, F.lit("_"), F.lit(" "))


def _sentence_case(text: Column) -> Column:
    return joined(F.upper(F.substring(text, 1, 1)), F.substring(text, 2, 1_000))


def _lower_first(text: Column) -> Column:
    return joined(F.lower(F.substring(text, 1, 1)), F.substring(text, 2, 1_000))
