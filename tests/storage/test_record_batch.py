"""What a batch says of itself, and which batches are refused."""

import struct
from collections.abc import Callable

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.records.readers import read_batch

from regent.model.error_codes import ErrorCode
from regent.storage.record_batch import (
    CheckedBatch,
    RecordsRefused,
    check_produced,
    read_header,
    split_batches,
    stamped,
)
from regent.storage.records import build_batch, records_in
from tests.storage.batches import batch_of, checked

LIMIT = 1_000_000

#: Three records as kafka-python 3.0.12 writes them: key k, values v0 to v2, times 1000 to 1002.
KAFKA_PYTHON_BATCH = bytes.fromhex(
    "00000000000000000000004f0000000002ae3d8b6300000000000200000000000003e800000000000003ea"
    "ffffffffffffffffffffffffffff0000000312000000026b0476300012000202026b0476310012000404026b"
    "04763200"
)


def patched(content: bytes, position: int, form: str, value: int) -> bytes:
    """The batch with one number changed, and with the checksum that then is right."""
    changed = bytearray(content)
    struct.pack_into(form, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c(changed[21:]))
    return bytes(changed)


def refusal(content: bytes, limit: int = LIMIT) -> ErrorCode:
    outcome = check_produced(content, limit)
    assert isinstance(outcome, RecordsRefused)
    assert outcome.reason
    return outcome.error


def test_a_batch_of_a_real_client_is_understood() -> None:
    """The offsets in the header are those of Kafka, not those of our own builder."""
    batch = check_produced(KAFKA_PYTHON_BATCH, LIMIT)

    assert isinstance(batch, CheckedBatch)
    header = batch.header
    assert (header.base_offset, header.last_offset, header.next_offset) == (0, 2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (1_000, 1_002)
    assert (header.producer_id, header.record_count, header.compression) == (-1, 3, 0)
    assert [(r.offset, r.timestamp, r.key, r.value) for r in records_in(batch)] == [
        (0, 1_000, b"k", b"v0"),
        (1, 1_001, b"k", b"v1"),
        (2, 1_002, b"k", b"v2"),
    ]


def test_a_compressed_batch_is_stored_and_stays_shut() -> None:
    """A broker passes records through."""
    batch = check_produced(patched(KAFKA_PYTHON_BATCH, 21, ">h", 1), LIMIT)

    assert isinstance(batch, CheckedBatch)
    assert batch.header.compression == 1
    assert list(records_in(batch)) == []


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.none() | st.binary(max_size=300), st.none() | st.binary(max_size=300)),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 2**40),
)
def test_others_can_read_what_is_built_here(
    records: list[tuple[bytes | None, bytes | None]], timestamp: int
) -> None:
    """A coordinator's records are read by clients and by other brokers."""
    content = build_batch(
        records, timestamp=timestamp, producer_id=7, producer_epoch=2, base_sequence=11
    )

    theirs, size = read_batch(content, 0)

    assert size == len(content)
    assert [(r.key, r.value) for r in theirs.records] == records
    assert [(r.key, r.value) for r in records_in(checked(content))] == records
    header = checked(content).header
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 11)


def test_stamping_changes_offset_and_epoch_and_nothing_else() -> None:
    """The checksum must stay right without being computed again."""
    content = batch_of(b"a", b"b")

    result = b"".join(stamped(checked(content), 500, 9))

    header = read_header(result)
    assert not isinstance(header, RecordsRefused)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (500, 501, 9)
    assert result[16:] == content[16:]
    assert result[8:12] == content[8:12]
    assert [type(each) for each in split_batches(result)] == [CheckedBatch]


def test_the_last_sequence_number_wraps_around() -> None:
    """After the largest comes zero, as with Kafka's producers."""
    content = batch_of(b"a", b"b", b"c", producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)

    assert checked(content).header.last_sequence == 0


NO_TRANSACTIONS = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
NO_COMPRESSION = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE

# fmt: off
REFUSALS: dict[str, tuple[Callable[[bytes], bytes], ErrorCode]] = {
    "nothing":            (lambda _: b"", ErrorCode.INVALID_RECORD),
    "a few bytes":        (lambda c: c[:10], ErrorCode.CORRUPT_MESSAGE),
    "a torn header":      (lambda c: c[:40], ErrorCode.CORRUPT_MESSAGE),
    "a torn batch":       (lambda c: c[:-1], ErrorCode.CORRUPT_MESSAGE),
    "a flipped bit":      (lambda c: c[:-1] + bytes([c[-1] ^ 1]), ErrorCode.CORRUPT_MESSAGE),
    "magic 0":            (lambda c: c[:16] + b"\0" + c[17:], ErrorCode.INVALID_RECORD),
    "magic 1":            (lambda c: c[:16] + b"\1" + c[17:], ErrorCode.INVALID_RECORD),
    "magic 3":            (lambda c: c[:16] + b"\3" + c[17:], ErrorCode.CORRUPT_MESSAGE),
    "a negative length":  (lambda c: c[:8] + b"\xff" * 4 + c[12:], ErrorCode.CORRUPT_MESSAGE),
    "a huge length":      (lambda c: c[:8] + b"\x7f" * 4 + c[12:], ErrorCode.CORRUPT_MESSAGE),
    "two batches":        (lambda c: c + c, ErrorCode.INVALID_RECORD),
    "a wrong count":      (lambda c: patched(c, 57, ">i", 5), ErrorCode.INVALID_RECORD),
    "no records":         (lambda c: patched(c, 57, ">i", 0), ErrorCode.INVALID_RECORD),
    "negative delta":     (lambda c: patched(c, 23, ">i", -1), ErrorCode.CORRUPT_MESSAGE),
    "a base offset":      (lambda c: patched(c, 0, ">q", 1), ErrorCode.INVALID_RECORD),
    "control records":    (lambda c: patched(c, 21, ">h", 0x20), ErrorCode.INVALID_RECORD),
    "a transaction":      (lambda c: patched(c, 21, ">h", 0x10), NO_TRANSACTIONS),
    "a compression":      (lambda c: patched(c, 21, ">h", 5), NO_COMPRESSION),
    "no sequence":        (lambda c: patched(c, 43, ">q", 7), ErrorCode.INVALID_RECORD),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSALS)
def test_what_a_producer_may_not_send(name: str) -> None:
    """Each with the code that Kafka gives."""
    spoil, error = REFUSALS[name]

    assert refusal(spoil(batch_of(b"a"))) is error


def test_a_batch_may_be_as_large_as_allowed_and_no_larger() -> None:
    """The limit counts the whole batch."""
    content = batch_of(b"a" * 100)

    assert isinstance(check_produced(content, len(content)), CheckedBatch)
    assert refusal(content, len(content) - 1) is ErrorCode.MESSAGE_TOO_LARGE


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_refused_and_never_raises(garbage: bytes) -> None:
    """A broker survives whatever a client sends."""
    assert isinstance(check_produced(garbage, LIMIT), RecordsRefused)
    assert not any(isinstance(each, CheckedBatch) for each in split_batches(garbage))


def test_a_sequence_of_batches_is_split_up_to_the_first_unsound_one() -> None:
    """A follower must not lose its place."""
    good, bad = batch_of(b"a"), batch_of(b"b")[:-1] + b"?"

    parts = list(split_batches(good + good + bad + good))

    assert [type(part) for part in parts] == [CheckedBatch, CheckedBatch, RecordsRefused]
