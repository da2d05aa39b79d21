"""Who shall lead: the election strategies S1 to S4 as pure functions.

Each looks at the replicas in the order of the assignment, never in the order of the ISR: the ISR's
order is an accident, and following it piles the leaders up on one broker (KAFKA-1503). S0, no
election needed, is the caller's: it does not call.
"""

from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct

from regent.model.ids import BrokerId

Replicas = tuple[BrokerId, ...]


class Strategy(StrEnum):
    """Which election is held. The values are Kafka's words."""

    OFFLINE = "OfflinePartitionLeaderElectionStrategy"
    #: The same, held because an operator asked for it whatever the config says.
    OFFLINE_UNCLEAN = "OfflinePartitionLeaderElectionStrategy(allowUnclean=true)"
    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"


class Choice(Struct, frozen=True, gc=False):
    """The outcome of an election that found a leader."""

    leader: BrokerId
    isr: Replicas
    #: The replicas that are told.
    recipients: Replicas
    #: The leader was not in sync: what only the ISR had is lost.
    is_unclean: bool = False


def choose_offline(replicas: Replicas, isr: Replicas, live: Collection[BrokerId]) -> Choice | None:
    """S1, the clean half: the first live replica that is in sync; the ISR becomes what lives of it.

    Members of the ISR that are no longer assigned leave it here: they could never lead.
    """
    alive = tuple(r for r in replicas if r in live)
    leader = next((r for r in alive if r in isr), None)
    if leader is None:
        return None
    return Choice(leader, tuple(r for r in isr if r in alive), recipients=alive)


def choose_unclean(replicas: Replicas, live: Collection[BrokerId]) -> Choice | None:
    """S1, the unclean half: the first live replica, alone in the ISR; only when S1 found none."""
    alive = tuple(r for r in replicas if r in live)
    if not alive:
        return None
    return Choice(alive[0], (alive[0],), recipients=alive, is_unclean=True)


def choose_reassigned(target: Replicas, isr: Replicas, live: Collection[BrokerId]) -> Choice | None:
    """S2: the first of the target that is alive and in sync; the ISR stays."""
    leader = next((r for r in target if r in live and r in isr), None)
    return None if leader is None else Choice(leader, isr, recipients=target)


def choose_preferred(
    replicas: Replicas, isr: Replicas, live: Collection[BrokerId]
) -> Choice | None:
    """S3: the head of the assignment or nobody; the ISR stays."""
    if not replicas or replicas[0] not in live or replicas[0] not in isr:
        return None
    return Choice(replicas[0], isr, recipients=replicas)


def choose_controlled_shutdown(
    replicas: Replicas,
    isr: Replicas,
    *,
    reachable: Collection[BrokerId],
    shutting_down: Collection[BrokerId],
) -> Choice | None:
    """S4: the first in-sync replica that stays; those that go leave the ISR.

    `reachable` holds the brokers that are alive, those shutting down included: the old leader is
    told that it no longer leads.
    """
    recipients = tuple(r for r in replicas if r in reachable)
    leader = next((r for r in recipients if r in isr and r not in shutting_down), None)
    if leader is None:
        return None
    return Choice(leader, tuple(r for r in isr if r not in shutting_down), recipients=recipients)
