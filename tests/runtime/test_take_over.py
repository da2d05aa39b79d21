"""`regent controller --take-over`: the role is taken from whoever has it, once and by force."""

import signal

from regent.model.facts import ControllerResigned
from tests.support.controllers import Controllers
from tests.support.waiting import wait_until


def test_a_controller_can_be_deposed_by_another_one(controllers: Controllers) -> None:
    """The one that was in office resigns and stands by; nobody was in office between the two."""
    former = controllers.start(100)
    before = controllers.elected()
    controllers.start(101, "--take-over")
    after = controllers.elected(after=before.controller_epoch)

    assert (before.node_id, after.node_id) == (100, 101)
    assert after.controller_epoch == before.controller_epoch + 1
    wait_until(
        lambda: any(isinstance(each.fact, ControllerResigned) for each in former.records()),
        "the deposed one to resign",
    )
    assert controllers.holder() == after
    reigns = {before.controller_epoch: 100, after.controller_epoch: 101}
    wait_until(lambda: controllers.reigns() == reigns, "both reigns in the journals")


def test_a_controller_that_has_taken_over_can_lose_the_role_for_good(
    controllers: Controllers,
) -> None:
    """It takes the role once, at its start; a second one that does so later keeps it."""
    for node_id in (100, 101):
        before = controllers.holder()
        epoch = 0 if before is None else before.controller_epoch
        controllers.start(node_id, "--take-over")
        holder = controllers.elected(after=epoch)
    controllers.by_id[101].signal(signal.SIGTERM)

    assert controllers.elected(after=holder.controller_epoch).node_id == 100
    wait_until(
        lambda: controllers.reigns() == {1: 100, 2: 101, 3: 100}, "three reigns in the journals"
    )
