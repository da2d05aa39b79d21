"""A write that should have been fenced is found by who wrote it, or by what it says."""

import pytest

from regent.broker.broker_config import IsrMode
from regent.model.assignment import Assignment
from regent.sim.checkers.deposed_controllers_are_fenced import DeposedControllersAreFenced
from regent.sim.observer import Violation
from regent.zookeeper import paths
from regent.zookeeper.store import Create, Delete, SetData
from regent.zookeeper.znodes import encode_controller, encode_topic
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import B1, B2, Stage

TOPIC = SetData(paths.topic("orders"), encode_topic("id", {0: Assignment((B1, B2))}))
NOTIFICATION = paths.isr_notification("isr_change_0000000000")


def in_the_reign_of_two(isr_mode: IsrMode = IsrMode.BY_REQUEST) -> Stage:
    """Node 1 was controller in epoch 2; node 2 is, in epoch 3."""
    stage = Stage(DeposedControllersAreFenced(), isr_mode)
    stage.elect(B1, 2)
    stage.write(Delete(paths.CONTROLLER))
    stage.elect(B2, 3)
    return stage


def test_the_controller_may_write() -> None:
    """So may an operator, and a node may give up its own role."""
    stage = in_the_reign_of_two()
    stage.write_leadership(leadership(1, (1, 2), controller_epoch=3), by=B2)
    stage.write(Create(NOTIFICATION), by=B1)

    stage.write(Delete(NOTIFICATION), TOPIC, Delete(paths.CONTROLLER), by=B2)
    stage.write(TOPIC)


def test_an_election_by_a_deposed_controller_is_found() -> None:
    """The new controller has decided otherwise, and tells the brokers so."""
    stage = in_the_reign_of_two()

    with pytest.raises(Violation, match="was written in epoch 3"):
        stage.write_leadership(leadership(1, (1, 2), controller_epoch=2), by=B1)


def test_an_isr_altered_by_a_deposed_controller_is_found() -> None:
    """Where only controllers write, every write carries the current epoch."""
    stage = in_the_reign_of_two()
    stage.write_leadership(leadership(1, (1, 2), controller_epoch=3), by=B2)
    stage.set_epoch(4)

    with pytest.raises(Violation, match="was written in epoch 4"):
        stage.write_leadership(leadership(1, (1,), controller_epoch=3), by=B2)


def test_a_leader_may_write_its_isr_itself() -> None:
    """Where it may, it keeps the controller epoch that it was told, which may be over."""
    stage = in_the_reign_of_two(IsrMode.DIRECT)
    stage.write_leadership(leadership(1, (1, 2), controller_epoch=3), by=B2)
    stage.set_epoch(4)

    stage.write_leadership(leadership(1, (1,), controller_epoch=3), by=B1)
    with pytest.raises(Violation, match="was written in epoch 4"):
        stage.write_leadership(leadership(2, (2,), leader_epoch=1, controller_epoch=3), by=B2)


def test_a_topic_written_by_a_deposed_controller_is_found() -> None:
    """It would undo what the new one has assigned."""
    stage = in_the_reign_of_two()

    with pytest.raises(Violation, match="node 1 wrote /brokers/topics/orders"):
        stage.write(TOPIC, by=B1)


def test_a_notification_eaten_by_a_deposed_controller_is_found() -> None:
    """The new one would never hear of that ISR."""
    stage = in_the_reign_of_two()
    stage.write(Create(NOTIFICATION))

    with pytest.raises(Violation, match="node 1 wrote /isr_change_notification"):
        stage.write(Delete(NOTIFICATION), by=B1)


def test_ending_the_reign_of_another_is_found() -> None:
    """A deposed controller that resigns must not depose its successor."""
    stage = in_the_reign_of_two()

    with pytest.raises(Violation, match="node 1 ended the reign of node 2"):
        stage.write(Delete(paths.CONTROLLER), by=B1)


def test_a_reign_without_a_new_epoch_is_found() -> None:
    """Taking the role and raising the epoch are one act, or nothing is fenced."""
    stage = in_the_reign_of_two()
    stage.write(Delete(paths.CONTROLLER))

    with pytest.raises(Violation, match="without a new epoch"):
        stage.write(Create(paths.CONTROLLER, encode_controller(B1, 0), ephemeral=True), by=B1)


def test_making_another_node_controller_is_found() -> None:
    """That node would not know."""
    stage = Stage(DeposedControllersAreFenced())

    with pytest.raises(Violation, match="node 2 made node 1 controller"):
        stage.write(Create(paths.CONTROLLER, encode_controller(B1, 0), ephemeral=True), by=B2)
