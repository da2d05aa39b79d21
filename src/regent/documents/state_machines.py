"""The page on the state machines, made from their tables.

`docs/state-machines.md` holds what this prints, and a test keeps it fresh. Nothing is written by
hand twice: the states' sentences are in `model.states`, the moves' in their own docstrings.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from regent.core import partition_machine, replica_machine
from regent.model.states import MEANINGS, PartitionState, ReplicaState

OPENING: Final = """\
# The state machines

Every partition and every replica is in one of these states.
The moves between them are rows of a table, and a pair of states that has no row is illegal.
An illegal move is refused and journalled, and the others of its batch go on.
The names are Kafka's, so that a journal and a `state-change.log` can be laid side by side.
This page is generated from the tables in `regent.core` and the states in `regent.model.states`.
`make docs` does it.
"""

# A state of either machine; Any: what a move takes and yields is not this page's business.
State: TypeAlias = PartitionState | ReplicaState
Moves: TypeAlias = Mapping[tuple[Any, Any], Callable[..., Any]]


def document() -> str:
    """The whole page."""
    sections = (
        OPENING,
        "\n".join(_section("Partitions", PartitionState, partition_machine.TRANSITIONS)),
        "\n".join(_section("Replicas", ReplicaState, replica_machine.TRANSITIONS)),
    )
    return "\n".join(sections)


def _section(title: str, states: Iterable[State], moves: Moves) -> Iterator[str]:
    listed = tuple(states)
    yield f"## {title}\n"
    yield from _diagram(listed, moves)
    yield from _table(
        ("State", "Means"), ((f"`{state.value}`", MEANINGS[state]) for state in listed)
    )
    rows = (
        (f"`{before.value}`", f"`{after.value}`", f"`{move.__name__}`", first_sentence(move))
        for (before, after), move in moves.items()
    )
    yield from _table(("From", "To", "Move", "What the move does"), rows)


def _diagram(states: Iterable[State], moves: Moves) -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    first, *_ = states
    yield f"    [*] --> {first.value}"
    for (before, after), move in moves.items():
        yield f"    {before.value} --> {after.value}: {move.__name__}"
    yield "```\n"


def first_sentence(move: Callable[..., Any]) -> str:
    """What a move says of itself, on one line."""
    said = " ".join((move.__doc__ or "").split())
    assert said, f"{move.__name__} does not say what it does"
    sentence, _, _ = said.partition(". ")
    return sentence.rstrip(".") + "."


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    sys.stdout.write(document())
