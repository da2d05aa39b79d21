"""The envelope and the vocabulary."""

from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from regent.journal.record import (
    FIELDS,
    KINDS,
    SCHEMA_VERSION,
    NewerSchema,
    Record,
    collect_fields,
    decode,
    encode,
    type_name,
)
from regent.model.facts import Fact, FactBase, LoadedPartition, MoveRefused
from tests.unit.journal.builders import FACT_CLASSES, record, sample


@pytest.mark.parametrize("fact_class", FACT_CLASSES, ids=lambda c: c.__name__)
def test_every_fact_survives_the_way_to_disk_and_back(fact_class: type[Fact]) -> None:
    """The list is the union itself, so a kind not written yet is tested once it is."""
    written = record(1, sample(fact_class))

    line = encode(written)

    assert b"\n" not in line
    assert decode(line) == written
    assert encode(decode(line)) == line


def test_every_kind_of_fact_is_in_the_union() -> None:
    """A class that nobody put into `Fact` could be made, but not read back."""
    assert set(FactBase.__subclasses__()) == set(FACT_CLASSES)


@given(st.from_type(Record))
def test_any_record_survives_the_way_to_disk_and_back(written: Record) -> None:
    """Whatever text a reason or a topic holds, one line is one record."""
    current = Record(
        v=SCHEMA_VERSION,
        seq=written.seq,
        at_ms=written.at_ms,
        controller_id=written.controller_id,
        controller_epoch=written.controller_epoch,
        cause=written.cause,
        fact=written.fact,
    )

    line = encode(current)

    assert b"\n" not in line
    assert decode(line) == current


def test_a_field_that_we_do_not_know_is_ignored() -> None:
    """A later Regent may add optional fields within the same version."""
    line = encode(record(1)).replace(b'{"v"', b'{"mood":"fine","v"')

    assert decode(line) == record(1)


def test_a_newer_version_is_named_even_if_nothing_else_can_be_read() -> None:
    """The reader learns what to do instead of hearing that a field is missing."""
    with pytest.raises(NewerSchema, match="schema version 2 is newer than 1") as caught:
        decode(b'{"v":2,"shape":"unheard of"}')

    assert caught.value.version == 2


def test_a_newer_version_is_refused_even_if_it_looks_familiar() -> None:
    """The same names may mean something else there."""
    with pytest.raises(NewerSchema):
        decode(encode(record(1)).replace(b'{"v":1', b'{"v":2'))


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"null", b"\xff\xfe", b'{"v":1}', encode(record(1)).replace(b'"v":1', b'"v":0')],
)
def test_what_is_not_a_record_is_a_value_error(line: bytes) -> None:
    """One type of refusal, whatever is wrong; the reader adds where it was."""
    with pytest.raises(ValueError, match=r"."):
        decode(line)


def test_a_name_with_two_types_is_refused() -> None:
    """Otherwise no table could have one column per name."""

    class Counted(Struct, tag="counted"):
        amount: int

    class Named(Struct, tag="named"):
        amount: str

    with pytest.raises(TypeError, match="`amount` is str in named, but int in counted"):
        collect_fields((Counted, Named))


def test_the_partitions_of_a_loaded_topic_use_the_names_as_all_facts_do() -> None:
    """The nested object is no fact, so the check at import does not see it."""

    class Flat(LoadedPartition, frozen=True, gc=False, tag="flat"):
        pass

    nested = {name: field.type_name for name, field in collect_fields((Flat,)).items()}

    assert nested == {name: FIELDS[name].type_name for name in nested}


def test_the_fields_know_who_has_them_and_who_may_leave_them_out() -> None:
    """Documents and tables are derived from this, so one field is spelt out here."""
    broker_id = FIELDS["broker_id"]

    assert (broker_id.type_name, broker_id.json_type) == ("BrokerId", "integer")
    assert broker_id.is_optional
    assert KINDS["move_refused"] is MoveRefused
    assert "move_refused" in broker_id.kinds
    assert "controller_resigned" not in broker_id.kinds


def test_the_envelope_and_the_facts_agree_on_shared_names() -> None:
    """A record's own columns stand beside those of its fact."""
    shared = {
        name: type_name(hint) for name, hint in get_type_hints(Record).items() if name in FIELDS
    }

    assert shared == {name: FIELDS[name].type_name for name in shared}
