"""A broker that obeys what is out of date is found by its answer."""

import pytest

from regent.model.control_requests import ControlAnswer, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import BROKER_EPOCH_UNKNOWN, BrokerEpoch, ControllerEpoch
from regent.sim.checkers.old_requests_are_refused import OldRequestsAreRefused
from regent.sim.observer import Violation
from regent.zookeeper import paths
from regent.zookeeper.store import Create, Delete
from tests.unit.sim.checkers.stage import B1, B2, Stage


def answer(
    stage: Stage,
    controller_epoch: int,
    broker_epoch: int = BROKER_EPOCH_UNKNOWN,
    error: ErrorCode = ErrorCode.NONE,
) -> None:
    """Broker 2 judges a request."""
    request = UpdateMetadata(
        B1, ControllerEpoch(controller_epoch), BrokerEpoch(broker_epoch), (), ()
    )
    stage.world.control_answered(stage.node(B2), request, ControlAnswer(error))


def register(stage: Stage) -> int:
    """Broker 2 registers; its epoch."""
    stage.write(Create(paths.broker(B2), ephemeral=True), by=B2)
    node = stage.server.peek(paths.broker(B2))
    assert node is not None
    return node.stat.czxid


def test_refusing_is_fine_and_so_is_the_newest() -> None:
    """A new life may begin with any controller: it has heard of none."""
    stage = Stage(OldRequestsAreRefused())

    answer(stage, 3)
    answer(stage, 3)
    answer(stage, 2, error=ErrorCode.STALE_CONTROLLER_EPOCH)
    answer(stage, 4)
    stage.world.kill(B2)
    answer(stage, 2)


def test_obeying_an_older_controller_is_found() -> None:
    """It has been deposed and the broker knows it."""
    stage = Stage(OldRequestsAreRefused())
    answer(stage, 3)

    with pytest.raises(Violation, match="controller epoch 2 after 3"):
        answer(stage, 2)


def test_obeying_what_an_earlier_registration_was_told_is_found() -> None:
    """The controller did not know yet that the broker had been away."""
    stage = Stage(OldRequestsAreRefused())
    stage.node(B2).broker.registered(BrokerEpoch(50))
    answer(stage, 1, 50)

    with pytest.raises(Violation, match="registered as 50 and obeyed a request to 40"):
        answer(stage, 1, 40)


def test_obeying_what_an_earlier_life_was_told_is_found() -> None:
    """Even before the broker is registered again and has a number to compare with."""
    stage = Stage(OldRequestsAreRefused())
    former = register(stage)
    answer(stage, 1, former)
    stage.world.kill(B2)
    stage.write(Delete(paths.broker(B2)))

    with pytest.raises(Violation, match="in its life 2"):
        answer(stage, 1, former)
