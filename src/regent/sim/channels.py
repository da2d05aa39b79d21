"""A simulated controller's channels: the real queues, over the modelled wire."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from regent.core.channel import BACKOFF_MS, Channel, answer_event
from regent.model.control_requests import ControlAnswer, ControlRequest, UpdateMetadata
from regent.model.ids import BrokerId

if TYPE_CHECKING:
    from regent.sim.process import Process

#: How long a controller waits for a broker's answer before it connects again.
REQUEST_TIMEOUT_MS: Final = 2_000


class ControllerChannels:
    """One channel for each live broker; requests wait in it for as long as the broker lives."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._channels: dict[BrokerId, Channel[ControlRequest]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether every broker has answered everything."""
        return not any(map(len, self._channels.values()))

    def open(self, channel: Channel[ControlRequest]) -> None:
        """A broker, or a new life of it, can be told things."""
        self.close(channel.broker_id)
        self._channels[channel.broker_id] = channel

    def close(self, broker_id: BrokerId) -> None:
        """Drop what is still queued for a broker."""
        channel = self._channels.pop(broker_id, None)
        if channel is not None:
            channel.close()

    def close_all(self) -> None:
        """The reign is over."""
        for broker_id in list(self._channels):
            self.close(broker_id)

    def put(self, broker_id: BrokerId, request: ControlRequest) -> None:
        """Queue a request; one for a broker without a channel is dropped, as Kafka does."""
        channel = self._channels.get(broker_id)
        if channel is not None:
            self._process.world.request_queued(self._process, broker_id, request)
            channel.put(request)
            self._send_next(channel)

    def _send_next(self, channel: Channel[ControlRequest]) -> None:
        request = channel.next_to_send()
        if request is None:
            return
        process, number = self._process, channel.head_number
        process.world.request_sent(process, channel.broker_id, number, request)

        def answered(answer: ControlAnswer | None) -> None:
            if answer is None:
                channel.failed()
                process.after_ms(BACKOFF_MS, lambda: self._send_next(channel))
            elif channel.answered(number) is not None:
                process.world.request_answered(process, request, answer)
                process.put(answer_event(process.now_ms, channel, request, answer))
                self._send_next(channel)

        def arrived(target: "Process", reply: Callable[[ControlAnswer], None]) -> None:
            if isinstance(request, UpdateMetadata) and number < channel.head_number:
                # It has no epoch of its own that could show it to be old. Kafka relies here on the
                # broker having emptied a closed connection before it goes on with the next.
                return
            reply(target.shell.control(request))

        process.world.wire.call(
            process.as_caller,
            channel.broker_id,
            arrived,
            answered,
            timeout_ms=REQUEST_TIMEOUT_MS,
        )
