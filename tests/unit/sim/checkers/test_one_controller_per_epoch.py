"""Two nodes that act in one epoch are found by what they record."""

import pytest

from regent.model.facts import ControllerElected, ControllerResigned
from regent.sim.checkers.one_controller_per_epoch import OneControllerPerEpoch
from regent.sim.observer import Violation
from tests.unit.sim.checkers.stage import B1, B2, Stage


def test_reigns_one_after_another_are_fine() -> None:
    """Also when the records of the old one come late, or a node is none at all."""
    stage = Stage(OneControllerPerEpoch())

    stage.record(B1, 1, ControllerElected())
    stage.record(B2, 2, ControllerElected())
    stage.record(B1, 1, ControllerResigned("deposed"))
    stage.record(B1, 0, ControllerResigned("again"))
    stage.record(B2, 0, ControllerResigned("too"))


def test_a_second_node_in_an_epoch_is_found() -> None:
    """The epoch is what tells controllers apart."""
    stage = Stage(OneControllerPerEpoch())
    stage.record(B1, 1, ControllerElected())

    with pytest.raises(Violation, match="epoch 1, which is that of node"):
        stage.record(B2, 1, ControllerElected())


def test_a_second_life_in_an_epoch_is_found() -> None:
    """A restarted node has forgotten everything and must be elected anew."""
    stage = Stage(OneControllerPerEpoch())
    stage.record(B1, 1, ControllerElected())
    stage.world.kill(B1)

    with pytest.raises(Violation, match="epoch 1, which is that of node"):
        stage.record(B1, 1, ControllerResigned("late"))


def test_a_second_election_in_an_epoch_is_found() -> None:
    """A replay would start over in the middle of a reign."""
    stage = Stage(OneControllerPerEpoch())
    stage.record(B1, 1, ControllerElected())

    with pytest.raises(Violation, match="elected twice"):
        stage.record(B1, 1, ControllerElected())


def test_acting_without_an_election_is_found() -> None:
    """A replay must find the beginning of every reign."""
    stage = Stage(OneControllerPerEpoch())

    with pytest.raises(Violation, match="was not elected"):
        stage.record(B1, 1, ControllerResigned("never was"))
