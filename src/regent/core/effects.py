"""What a procedure wants done. Effects need no answer; they are carried out in order.

A procedure yields a write (an ask) and has its answer before it yields the sends that tell of it:
nothing reaches a broker that is not yet durable.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from regent.model.admin_requests import AdminAnswer
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.brokers import Broker
from regent.model.control_requests import ControlRequest
from regent.model.facts import Fact
from regent.model.ids import BrokerEpoch, BrokerId


class Journal(Struct, frozen=True):
    """Record what took hold."""

    #: Written down later, so nobody changes it afterwards.
    facts: Sequence[Fact]


class OpenChannel(Struct, frozen=True):
    """From now on this broker can be told things, starting with an empty queue."""

    broker: Broker
    broker_epoch: BrokerEpoch


class CloseChannel(Struct, frozen=True):
    """The broker is gone; what is still queued for it is dropped."""

    broker_id: BrokerId


class CloseAllChannels(Struct, frozen=True):
    """The node no longer speaks as controller; all queues are dropped."""


class Send(Struct, frozen=True):
    """Put a request on a broker's queue."""

    broker_id: BrokerId
    request: ControlRequest


class Reply(Struct, frozen=True):
    """Answer a caller that is waiting."""

    request_id: int
    answer: AlterPartitionAnswer | AdminAnswer


class SetTimer(Struct, frozen=True):
    """Have a `TimerRang` of this name after a while; one that is already set is set anew."""

    name: str
    after_ms: int


class CancelTimers(Struct, frozen=True):
    """No timer rings any more."""


class DropWatches(Struct, frozen=True):
    """Forget all watches but the one on `/controller`."""


Effect: TypeAlias = (
    Journal
    | OpenChannel
    | CloseChannel
    | CloseAllChannels
    | Send
    | Reply
    | SetTimer
    | CancelTimers
    | DropWatches
)
