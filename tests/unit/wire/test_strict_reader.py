"""Whatever bytes come, the answer is a message or a `ProtocolError`, and little memory."""

import struct
import tracemalloc
from io import BytesIO
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.serial.writers import write_unsigned_varint
from kio.static.primitive import uvarint

from regent.errors import ProtocolError
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import CODECS
from regent.wire.limits import WireLimits
from regent.wire.payloads import encode_payload, request_schema, response_schema
from regent.wire.primitives import to_uvarint
from regent.wire.strict_reader import read_payload, read_uvarint
from tests.unit.wire.test_golden_bytes import GOLDEN, Golden

SCHEMAS: Final = [
    schema_of(api.key, version)
    for api in APIS.values()
    if api.key not in CODECS
    for version in range(api.first_version, api.last_version + 1)
    for schema_of in (request_schema, response_schema)
]
CREATE_TOPICS_2: Final = request_schema(ApiKey.CREATE_TOPICS, 2)
ALTER_PARTITION_3: Final = request_schema(ApiKey.ALTER_PARTITION, 3)
ALTER_PARTITION_START: Final = struct.pack(">iq", 1, 2)


def written(payload: Any) -> bytes:
    return encode_payload(type(payload), _Fields(payload))


class _Fields(dict[str, Any]):
    """The fields of a payload as values."""

    def __init__(self, payload: Any) -> None:
        super().__init__(
            {name: self._plain(getattr(payload, name)) for name in payload.__dataclass_fields__}
        )

    def _plain(self, value: Any) -> Any:
        if isinstance(value, tuple) and value and hasattr(value[0], "__dataclass_fields__"):
            return [_Fields(item) for item in value]
        return value


def reads_or_refuses(schema: type[Any], content: bytes) -> None:
    """What can be read is a message, so it can be written and read again."""
    try:
        payload = read_payload(schema, content)
    except ProtocolError:
        return
    assert read_payload(schema, written(payload)) == payload


@settings(max_examples=200, deadline=None)
@given(schema=st.sampled_from(SCHEMAS), content=st.binary(max_size=200))
def test_garbage_is_read_or_refused(schema: type[Any], content: bytes) -> None:
    """The process that leads a cluster must outlive anything a stranger sends it."""
    reads_or_refuses(schema, content)


@settings(max_examples=200, deadline=None)
@given(
    golden=st.sampled_from(GOLDEN),
    at=st.integers(0, 1_000),
    patch=st.binary(min_size=1, max_size=5),
    end=st.integers(0, 1_000),
)
def test_damaged_messages_are_read_or_refused(
    golden: Golden, at: int, patch: bytes, end: int
) -> None:
    """Nearly right is where readers fail."""
    at %= len(golden.content)
    damaged = golden.content[:at] + patch + golden.content[at + len(patch) :]

    reads_or_refuses(golden.schema, damaged)
    reads_or_refuses(golden.schema, damaged[: end % (len(damaged) + 1)])


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_a_message_cut_anywhere_is_refused(golden: Golden) -> None:
    """Half a message is none."""
    for end in range(len(golden.content)):
        with pytest.raises(ProtocolError):
            read_payload(golden.schema, golden.content[:end])


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_bytes_left_over_are_refused(golden: Golden) -> None:
    """Somebody wrote another version than he said."""
    with pytest.raises(ProtocolError, match="1 bytes are left over"):
        read_payload(golden.schema, golden.content + b"\0")


@pytest.mark.parametrize(
    ("schema", "content"),
    [
        (CREATE_TOPICS_2, struct.pack(">i", 2**31 - 1)),
        (ALTER_PARTITION_3, ALTER_PARTITION_START + b"\xff\xff\xff\xff\x07"),
    ],
    ids=["plain", "compact"],
)
def test_a_huge_count_costs_nothing(schema: type[Any], content: bytes) -> None:
    """Four bytes that say two thousand million items must not be believed."""
    tracemalloc.start()
    with pytest.raises(ProtocolError, match=r"a list has 214748364[67] items"):
        read_payload(schema, content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (struct.pack(">i", -5), "a list has -5 items"),
        (struct.pack(">i", -1), "a list has -1 items"),
        (struct.pack(">ih", 1, -1), "a string has the length -1"),
        (struct.pack(">ih", 1, -7), "a string has the length -7"),
        (struct.pack(">ih", 1, 9), "9 bytes are announced and 0 are there"),
        (struct.pack(">ih", 1, 2) + b"\xff\xff", "a string is not UTF-8"),
        (struct.pack(">i", 3), "a list of 3 items has 0 bytes"),
        (b"", "it ends too early"),
    ],
)
def test_the_message_says_what_is_wrong(content: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=f"CreateTopicsRequest: {reason}"):
        read_payload(CREATE_TOPICS_2, content)


def test_limits_are_kept() -> None:
    """Each of them can be set, and each is looked at."""
    topics = [
        {
            "name": name,
            "num_partitions": 1,
            "replication_factor": 1,
            "assignments": (),
            "configs": (),
        }
        for name in ("orders", "pâtés")
    ]
    (golden,) = (g for g in GOLDEN if str(g) == "CreateTopics-2-request")
    values = {**_Fields(read_payload(golden.schema, golden.content)), "topics": topics}
    content = encode_payload(CREATE_TOPICS_2, values)

    assert read_payload(CREATE_TOPICS_2, content, 0, WireLimits(list_items=2, string_bytes=7))
    with pytest.raises(ProtocolError, match="a list has 2 items; 1 are allowed"):
        read_payload(CREATE_TOPICS_2, content, 0, WireLimits(list_items=1))
    with pytest.raises(ProtocolError, match="a string has 7 bytes; 6 are allowed"):
        read_payload(CREATE_TOPICS_2, content, 0, WireLimits(string_bytes=6))


def test_tagged_fields_of_later_versions_are_skipped() -> None:
    """KIP-482: old readers meet new writers. The reader of kio fails here."""
    plain = read_payload(ALTER_PARTITION_3, ALTER_PARTITION_START + b"\x01\x00")

    tagged = read_payload(
        ALTER_PARTITION_3, ALTER_PARTITION_START + b"\x01" + b"\x02" + b"\x05\x01a" + b"\x09\x00"
    )

    assert tagged == plain


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        (b"\x01\x05\xff\xff\xff\xff\x07a", "2147483647 bytes are announced"),
        (b"\xff\xff\xff\xff\x07", "it ends too early"),
        (b"\xff\xff\xff\xff\xff\x01", "longer than 31 bits"),
        (b"\xff\xff\xff\xff\x0f", "longer than 31 bits"),
    ],
)
def test_tagged_fields_are_held_to_their_lengths(tags: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        read_payload(ALTER_PARTITION_3, ALTER_PARTITION_START + b"\x01" + tags)


def test_a_known_tagged_field_is_read_and_held_to_its_length() -> None:
    """UpdateMetadata 8 has one: the type, which controllers of the ZooKeeper era leave at 0."""
    schema = request_schema(ApiKey.UPDATE_METADATA, 8)
    start = struct.pack(">i?iq", 1, False, 2, 3) + b"\x01\x01"

    assert read_payload(schema, start + b"\x01\x00\x01\x02").type == 2
    assert read_payload(schema, start + b"\x00").type == 0
    with pytest.raises(ProtocolError, match="tagged field 0 is not as long as it says"):
        read_payload(schema, start + b"\x01\x00\x02\x02\x00")


def test_a_code_of_a_later_kafka_is_an_unknown_error() -> None:
    schema = response_schema(ApiKey.UPDATE_METADATA, 5)

    assert read_payload(schema, struct.pack(">h", 9_999)).error_code == -1


@settings(deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_variable_length_numbers_are_read_back(number: int) -> None:
    """Written by kio, which has a writer of its own."""
    buffer = BytesIO()
    write_unsigned_varint(buffer, uvarint(number))

    assert read_uvarint(buffer.getvalue(), 0) == (number, len(buffer.getvalue()))
    assert to_uvarint(number) == buffer.getvalue()
