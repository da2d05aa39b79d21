"""Waiting for moves: look, and look again, until everything has arrived or time is up."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from regent.client.admin import Admin
from regent.client.verification import Arrival, MoveChecked, check_moves
from regent.model.admin_requests import ReassignmentTarget
from regent.model.ids import TopicPartition

#: A broker hears of the end of a move a little later than the controller knows of it. Before a
#: partition is called astray, brokers get this long to hear.
SETTLING_LOOKS: Final = 5
#: And so long if they show it in the middle of its move: it must have ended since.
STALE_LOOKS: Final = 150
SETTLING_PAUSE_S: Final = 0.2


def look_at_moves(admin: Admin, targets: Sequence[ReassignmentTarget]) -> list[MoveChecked]:
    """How far each partition is. The controller is asked first: what it has ended, has ended."""
    names = [TopicPartition(each.topic, each.partition) for each in targets]
    topics = tuple(dict.fromkeys(name.topic for name in names))
    checked: list[MoveChecked] = []
    for number in range(STALE_LOOKS):
        if number:
            time.sleep(SETTLING_PAUSE_S)
        moving = admin.moving(dict.fromkeys(names))
        checked = check_moves(targets, admin.describe(topics), moving)
        astray = [each for each in checked if each.arrival is Arrival.NOT_AS_PLANNED]
        if not astray or (number >= SETTLING_LOOKS - 1 and not all(map(_is_stale, astray))):
            break
    return checked


def _is_stale(checked: MoveChecked) -> bool:
    """While a partition is moved, its replicas are those of the target and then those that go."""
    return checked.replicas[: len(checked.target)] == checked.target


def wait_for_moves(
    admin: Admin,
    targets: Sequence[ReassignmentTarget],
    *,
    interval_s: float,
    at_most_s: float | None,
    on_look: Callable[[Sequence[MoveChecked]], None],
) -> list[MoveChecked]:
    """Until nothing is under way, or for so long; the last look is given back."""
    begun_s = time.monotonic()
    while True:
        checked = look_at_moves(admin, targets)
        on_look(checked)
        is_under_way = any(each.arrival is Arrival.IN_PROGRESS for each in checked)
        is_late = at_most_s is not None and time.monotonic() - begun_s >= at_most_s
        if is_late or not is_under_way:
            return checked
        time.sleep(interval_s)
