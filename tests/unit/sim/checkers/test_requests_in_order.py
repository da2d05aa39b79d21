"""Requests out of order are found on the wire."""

import pytest

from regent.model.control_requests import UpdateMetadata
from regent.model.ids import BrokerEpoch, ControllerEpoch
from regent.sim.checkers.requests_in_order import RequestsInOrder
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, B2, Stage


def update(controller_epoch: int = 1, broker_epoch: int = 20) -> UpdateMetadata:
    return UpdateMetadata(B1, ControllerEpoch(controller_epoch), BrokerEpoch(broker_epoch), (), ())


class Sender:
    """A controller in epoch 1 that sends to broker 2."""

    def __init__(self) -> None:
        self.stage = Stage(RequestsInOrder())
        self.process = self.stage.activate(B1, 1)

    def send(self, number: int, request: UpdateMetadata) -> None:
        """Put a request on the wire."""
        self.stage.world.request_sent(self.process, B2, number, request)


def test_order_and_repetition_are_fine() -> None:
    """So is a fresh start for another life of the broker, and in another reign."""
    sender = Sender()
    second = update()

    sender.send(1, update())
    sender.send(2, second)
    sender.send(2, second)
    sender.send(3, update())
    sender.send(1, update(broker_epoch=30))
    sender.stage.activate(B1, 2)
    sender.send(1, update(controller_epoch=2, broker_epoch=30))


@pytest.mark.parametrize(("number", "message"), [(3, "3 after 1"), (1, "repeated as another")])
def test_a_gap_or_a_changed_request_is_found(number: int, message: str) -> None:
    """The broker would act on something that was overtaken, or never hear of something."""
    sender = Sender()
    sender.send(1, update())

    with pytest.raises(Violation, match=message):
        sender.send(number, UpdateMetadata(B2, *_epochs(update()), (), ()))


def _epochs(request: UpdateMetadata) -> tuple[ControllerEpoch, BrokerEpoch]:
    return request.controller_epoch, request.broker_epoch


def test_a_number_that_goes_back_is_found() -> None:
    """An answered request must not be sent again behind a later one."""
    sender = Sender()
    first = update()
    sender.send(1, first)
    sender.send(2, update())

    with pytest.raises(Violation, match="1 after 2"):
        sender.send(1, first)


def test_a_channel_that_begins_in_the_middle_is_found() -> None:
    """What came before was meant for this life of the broker, too."""
    with pytest.raises(Violation, match="begins with request 2"):
        Sender().send(2, update())


def test_a_request_to_an_earlier_life_is_found() -> None:
    """That channel is closed."""
    sender = Sender()
    sender.send(1, update(broker_epoch=30))

    with pytest.raises(Violation, match=r"channel \(1, 20\) after \(1, 30\)"):
        sender.send(1, update(broker_epoch=20))


@pytest.mark.parametrize("own_epoch", [0, 2])
def test_a_request_of_another_reign_is_found(own_epoch: int) -> None:
    """Also after a resignation: what was still queued then is dropped."""
    sender = Sender()
    sender.stage.activate(B1, own_epoch)

    with pytest.raises(Violation, match=f"epoch 1 is sent in epoch {own_epoch}"):
        sender.send(1, update())
