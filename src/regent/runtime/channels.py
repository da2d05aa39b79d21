"""The channels to the brokers, as the controller thread sees them (C1).

Every call returns at once: the sockets belong to the event loop, and the calls are passed on to
it in their order. A request is encoded here, where the bytes that brokers share are made once for
all of them; only a broker that turns out to speak older versions has it encoded again for itself.
"""

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Mapping

from regent.core.events import Event
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerEpoch, BrokerId
from regent.runtime.broker_channel import BrokerChannel, ChannelSettings, Outgoing
from regent.wire.control_encoder import ControlRequestEncoder

logger = logging.getLogger(__name__)


class BrokerChannels:
    """One channel for each live broker; requests wait in it for as long as the broker lives."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        settings: ChannelSettings,
        put_event: Callable[[Event], object],
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._put_event = put_event
        self._encoder = ControlRequestEncoder(settings.versions, client_id=settings.client_id)
        self._correlation_ids = itertools.cycle(range(1, 2**31))
        #: Where each broker that has a channel listens for the others. Never changed, only
        #: replaced, so that the event loop can read what it was when a request was queued.
        self._endpoints: Mapping[BrokerId, Endpoint] = {}
        #: The event loop's own.
        self._channels: dict[BrokerId, BrokerChannel] = {}
        self._closing: set[asyncio.Task[None]] = set()

    # --- from the controller thread ---------------------------------------------------------------

    def open(self, broker: Broker, broker_epoch: BrokerEpoch) -> None:
        """A broker, or a new life of it, can be told things."""
        endpoint = self._settings.endpoint_of(broker)
        if endpoint is None:
            listener = self._settings.own_listener
            logger.error(
                "broker %d has no PLAINTEXT listener%s, so it cannot be told anything; it has %s",
                broker.broker_id,
                "" if listener is None else f" named {listener}",
                ", ".join(f"{e.listener}:{e.security_protocol}" for e in broker.endpoints)
                or "none",
            )
            self.close(broker.broker_id)
            return
        # Others may have no way to a broker that is reached on a listener of its own.
        told = self._settings.others_endpoint_of(broker) or endpoint
        self._endpoints = {**self._endpoints, broker.broker_id: told}
        self._loop.call_soon_threadsafe(self._open, broker.broker_id, broker_epoch, endpoint)

    def close(self, broker_id: BrokerId) -> None:
        """Drop what is still queued for a broker."""
        self._endpoints = {b: e for b, e in self._endpoints.items() if b != broker_id}
        self._loop.call_soon_threadsafe(self._close, broker_id)

    def close_all(self) -> None:
        """The reign is over."""
        self._endpoints = {}
        self._loop.call_soon_threadsafe(self._close_all)

    def send(self, broker_id: BrokerId, request: ControlRequest) -> None:
        """Queue a request; one for a broker without a channel is dropped, as Kafka does."""
        if broker_id in self._endpoints:
            call = self._encoder.to_call(request, next(self._correlation_ids))
            parts = self._encoder.encode(call, self._endpoints)
            outgoing = Outgoing(call, parts, self._endpoints, time.monotonic())
            self._loop.call_soon_threadsafe(self._put, broker_id, outgoing)

    # --- on the event loop ------------------------------------------------------------------------

    @property
    def by_broker(self) -> Mapping[BrokerId, BrokerChannel]:
        """The channels of now, for whoever wants to see how they are doing."""
        return self._channels

    async def stop(self) -> None:
        """Close all, and wait until they are."""
        self._close_all()
        await asyncio.gather(*self._closing)

    def _open(self, broker_id: BrokerId, broker_epoch: BrokerEpoch, endpoint: Endpoint) -> None:
        self._close(broker_id)
        self._channels[broker_id] = BrokerChannel(
            broker_id, broker_epoch, endpoint, self._settings, self._put_event
        )

    def _put(self, broker_id: BrokerId, outgoing: Outgoing) -> None:
        channel = self._channels.get(broker_id)
        if channel is not None:
            channel.put(outgoing)

    def _close(self, broker_id: BrokerId) -> None:
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            closing = asyncio.create_task(channel.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _close_all(self) -> None:
        for broker_id in list(self._channels):
            self._close(broker_id)
