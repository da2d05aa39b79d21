"""What a broker is told reaches it in the order in which it was decided."""

from typing import NamedTuple

from regent.model.control_requests import ControlRequest
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from regent.sim.observer import Observer
from regent.sim.process import Process


class _Sent(NamedTuple):
    """The last request that a process has sent to a broker, and on which channel."""

    controller_epoch: ControllerEpoch
    broker_epoch: BrokerEpoch
    number: int
    request: ControlRequest

    @property
    def channel(self) -> tuple[ControllerEpoch, BrokerEpoch]:
        """A reign has one channel for each life of a broker."""
        return self.controller_epoch, self.broker_epoch


class RequestsInOrder(Observer):
    """Forbids that a request overtakes another, changes on its way, or outlives its controller."""

    def __init__(self) -> None:
        self._sent: dict[tuple[BrokerId, int, BrokerId], _Sent] = {}

    def request_sent(
        self, process: Process, broker_id: BrokerId, number: int, request: ControlRequest
    ) -> None:
        """On one channel the numbers go up by one, or the last request is repeated as it was."""
        own_epoch = process.controller.state.controller_epoch
        where = f"node {process.broker_id} to broker {broker_id}"
        if request.controller_epoch != own_epoch:
            self.fail(f"{where}: epoch {request.controller_epoch} is sent in epoch {own_epoch}")
        key = (process.broker_id, process.life, broker_id)
        before = self._sent.get(key)
        sent = _Sent(request.controller_epoch, request.broker_epoch, number, request)
        self._sent[key] = sent
        if before is None or before.channel != sent.channel:
            if number != 1:
                self.fail(f"{where}: a channel begins with request {number}")
            if before is not None and sent.channel < before.channel:
                self.fail(f"{where}: channel {sent.channel} after {before.channel}")
        elif number == before.number:
            if request is not before.request:
                self.fail(f"{where}: request {number} was repeated as another")
        elif number != before.number + 1:
            self.fail(f"{where}: request {number} after {before.number}")
