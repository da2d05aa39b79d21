"""Faults planted into the core, to see that the simulator finds them."""

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from regent.core.election import Choice, Replicas
from regent.model.ids import BrokerId

Election: TypeAlias = Callable[[Replicas, Replicas, Collection[BrokerId]], Choice | None]

#: Where the core takes its clean elections from.
ELECTION: Final = "regent.core.leader_elections.choose_offline"


def elect_the_dead(replicas: Replicas, _isr: Replicas, live: Collection[BrokerId]) -> Choice | None:
    """Unsafe: a replica that is not there, and no longer in sync, shall lead."""
    leader = next((r for r in replicas if r not in live), replicas[0])
    return Choice(leader, (leader,), recipients=replicas)


def elect_nobody(_replicas: Replicas, _isr: Replicas, _live: Collection[BrokerId]) -> Choice | None:
    """Stuck: what has lost its leader never gets another."""
    return None


def trip(_replicas: Replicas, _isr: Replicas, _live: Collection[BrokerId]) -> Choice | None:
    """A crash of the core."""
    raise RuntimeError("planted")
