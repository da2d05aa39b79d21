"""What can be wrong with a partition while an interval of its timeline lasts.

Each condition is a yes or no: what is not known is not held against a partition.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from regent.model.states import PartitionState
from regent.pipeline.schemas import NO_LEADER
from regent.pipeline.settings import DEFAULTS, Settings, min_isr_of

Condition: TypeAlias = Callable[[Settings], Column]


def is_offline(_settings: Settings = DEFAULTS) -> Column:
    """Its leader died and no other has been elected."""
    return _surely(F.col("state") == PartitionState.OFFLINE)


def is_leaderless(_settings: Settings = DEFAULTS) -> Column:
    """Nobody takes writes: it has no leader, not yet or not any more."""
    unled = F.col("state").isin(PartitionState.NEW, PartitionState.OFFLINE)
    return _is_known() & (_surely(F.col("leader") == NO_LEADER) | _surely(unled))


def is_led(_settings: Settings = DEFAULTS) -> Column:
    """Somebody takes writes."""
    return _is_known() & ~is_leaderless()


def is_under_min_isr(settings: Settings) -> Column:
    """It is led and refuses writes that ask for all replicas."""
    return is_led() & _surely(F.size("isr") < min_isr_of(F.col("topic"), settings))


def is_at_min_isr(settings: Settings) -> Column:
    """It is led, and one replica fewer in the ISR would make it refuse such writes."""
    return is_led() & _surely(F.size("isr") == min_isr_of(F.col("topic"), settings))


def is_under_replicated(_settings: Settings = DEFAULTS) -> Column:
    """It is led, and some of its replicas are not in the ISR."""
    return is_led() & _surely(F.size("isr") < F.size("replicas"))


CONDITIONS: Final[Mapping[str, Condition]] = {
    "offline": is_offline,
    "leaderless": is_leaderless,
    "under_min_isr": is_under_min_isr,
    "at_min_isr": is_at_min_isr,
    "under_replicated": is_under_replicated,
}


def with_conditions(timelines: DataFrame, settings: Settings) -> DataFrame:
    """Add a yes or no for each condition, by its name."""
    return timelines.withColumns({name: holds(settings) for name, holds in CONDITIONS.items()})


def _is_known() -> Column:
    return F.col("state").isNotNull()


def _surely(condition: Column) -> Column:
    return F.coalesce(condition, F.lit(False))
