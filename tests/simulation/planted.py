"""Faults planted into the core, to see that the simulator finds them."""

from collections.abc import Collection
from typing import Final

from regent.core.channel import Channel
from regent.core.election import Choice, Replicas
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerId

#: Where the core takes its clean elections from.
ELECTION: Final = "regent.core.leader_elections.choose_offline"
#: Where a broker's channel says what to send next.
SENDING: Final = "regent.core.channel.Channel.next_to_send"


def elect_the_dead(replicas: Replicas, _isr: Replicas, live: Collection[BrokerId]) -> Choice | None:
    """Unsafe: a replica that is not there, and no longer in sync, shall lead."""
    leader = next((r for r in replicas if r not in live), replicas[0])
    return Choice(leader, (leader,), recipients=replicas)


def send_nothing(_channel: Channel[ControlRequest]) -> ControlRequest | None:
    """Stuck: what is decided is never told."""
    return None


def trip(_replicas: Replicas, _isr: Replicas, _live: Collection[BrokerId]) -> Choice | None:
    """A crash of the core."""
    raise RuntimeError("planted")
