"""The page on the state machines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from regent.core import partition_machine, replica_machine
from regent.documents.state_machines import document, first_sentence
from regent.model.states import MEANINGS, PartitionState, ReplicaState

Row: TypeAlias = tuple[
    tuple[PartitionState, PartitionState] | tuple[ReplicaState, ReplicaState], Callable[..., Any]
]

PAGE = Path(__file__).parents[3] / "docs" / "state-machines.md"


def test_the_page_on_the_state_machines_is_fresh() -> None:
    """`make docs` was run after the last change of a table, a move or a state."""
    assert PAGE.read_text(encoding="utf-8") == document()


def test_every_legal_move_is_drawn_and_told() -> None:
    """Each row of the tables is an arrow and a line; nothing else is."""
    page = document()
    moves: list[Row] = [
        *partition_machine.TRANSITIONS.items(),
        *replica_machine.TRANSITIONS.items(),
    ]

    arrows = [line.strip() for line in page.splitlines() if " --> " in line and "[*]" not in line]
    assert arrows == [
        f"{before.value} --> {after.value}: {move.__name__}" for (before, after), move in moves
    ]
    for (before, after), move in moves:
        row = f"| `{before.value}` | `{after.value}` | `{move.__name__}` | {first_sentence(move)} |"
        assert row in page


def test_every_state_has_its_sentence() -> None:
    """A new state without one would have no place on the page."""
    assert list(MEANINGS) == [*PartitionState, *ReplicaState]


def test_a_sentence_ends_at_its_first_stop() -> None:
    """The table has room for what a move does, not for why."""

    def move() -> None:
        """Do it now. Later would be too late."""

    assert first_sentence(move) == "Do it now."
