"""What must be true of a topic after a campaign, whatever befell its brokers.

Each rule is a function of what a producer was told and of what a consumer reads in the end, and
yields sentences. No sentence, no fault.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from regent.model.ids import TopicPartition
from tests.chaos.ledger import Ledger, Note
from tests.chaos.reading import ReadPartition

#: The same fault a thousand times is one fault.
SHOWN_MAX: Final = 5

Reading: TypeAlias = Mapping[TopicPartition, ReadPartition]
Places: TypeAlias = Mapping[Note, Sequence[int]]
Rule: TypeAlias = Callable[[Ledger, Places], Iterator[str]]


def judge(ledger: Ledger, reading: Reading) -> list[str]:
    """All that is wrong with the records of one writer."""
    places, strangers = _places(ledger, reading)
    found = [f"{ledger.topic}: {each}" for each in _some(strangers)]
    for rule in RULES:
        found += [f"{ledger.topic}: {each}" for each in _some(list(rule(ledger, places)))]
    return found


def acknowledged_records_are_there(ledger: Ledger, places: Places) -> Iterator[str]:
    """Present, and where the producer was told that they are."""
    for note, offset in ledger.acknowledged.items():
        found = places.get(note, ())
        if not found:
            yield f"{note} was acknowledged at offset {offset} and is LOST"
        elif offset is not None and offset not in found:
            yield f"{note} was acknowledged at offset {offset} and stands at {found[0]}"


def no_record_comes_twice(_ledger: Ledger, places: Places) -> Iterator[str]:
    """All writers are idempotent."""
    for note, offsets in places.items():
        if len(offsets) > 1:
            yield f"{note} is there {len(offsets)} times, at offsets {list(offsets)}"


def records_are_in_order(_ledger: Ledger, places: Places) -> Iterator[str]:
    """As they were sent, partition by partition."""
    by_partition: dict[int, list[tuple[int, Note]]] = defaultdict(list)
    for note, offsets in places.items():
        by_partition[note.partition].append((offsets[0], note))
    for placed in by_partition.values():
        for (_, before), (offset, after) in pairwise(sorted(placed)):
            if after.number < before.number:
                yield f"{after} stands at offset {offset}, behind {before}"


def every_record_has_an_outcome(ledger: Ledger, _places: Places) -> Iterator[str]:
    """Everything was mended before producers lost their patience: none may be given up."""
    if ledger.failure is not None:
        yield f"{ledger.writer} takes no more records: {ledger.failure}"
    if ledger.open_count:
        yield f"{ledger.open_count} records of {ledger.writer} never got an answer"
    for note, reason in ledger.given_up.items():
        yield f"{note} was given up: {reason}"


RULES: Final[Sequence[Rule]] = (
    acknowledged_records_are_there,
    no_record_comes_twice,
    records_are_in_order,
    every_record_has_an_outcome,
)


def _places(ledger: Ledger, reading: Reading) -> tuple[Places, list[str]]:
    """Where each record stands; and what nobody has sent, or not there."""
    places: dict[Note, list[int]] = defaultdict(list)
    strangers = []
    for name, read in reading.items():
        if name.topic != ledger.topic:
            continue
        missing = read.high_watermark - len(read.values)
        if missing:
            strangers.append(f"{name}: {missing} offsets below the high watermark are not read")
        for offset, value in sorted(read.values.items()):
            note = _note_of(value)
            if note is None or not _was_sent(ledger, note) or note.partition != name.partition:
                strangers.append(f"{name}, offset {offset}: nobody sent {value!r} there")
            else:
                places[note].append(offset)
    return places, strangers


def _note_of(value: bytes) -> Note | None:
    try:
        return Note.from_value(value)
    except ValueError:
        return None


def _was_sent(ledger: Ledger, note: Note) -> bool:
    is_ours = note.writer == ledger.writer and 0 <= note.partition < len(ledger.sent)
    return is_ours and 0 <= note.number < ledger.sent[note.partition]


def _some(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - SHOWN_MAX
    return [*sentences[:SHOWN_MAX], *([f"and {more} more of this kind"] if more > 0 else [])]
