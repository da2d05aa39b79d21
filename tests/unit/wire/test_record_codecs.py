"""Produce and Fetch by hand are Produce and Fetch by kio, in every version, and never copy records.

kio's messages are made from Kafka's own definitions, so its bytes are Kafka's.
"""

import struct
import tracemalloc
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from benchmarks.plain_records import read_plain_answer, read_plain_request, write_plain
from regent.errors import ProtocolError
from regent.model.ids import TopicPartition
from regent.model.record_requests import (
    FetchedRecords,
    FetchRecordsAnswer,
    PartitionRecords,
    Produce,
    ProduceAnswer,
)
from regent.wire import fetch_codec, produce_codec
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import (
    CODECS,
    ByteCodec,
    Call,
    decode_answer,
    decode_request,
    encode_answer,
    encode_answer_parts,
    encode_request,
    to_call,
)
from regent.wire.headers import RequestHeader
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.plain_fields import Part
from tests.unit.wire import record_strategies
from tests.unit.wire.client_samples import CLIENT_ANSWERS, CLIENT_REQUESTS
from tests.unit.wire.client_versions import said_by_version

VERSIONS: Final = [
    (api.key, version)
    for api in (APIS[ApiKey.PRODUCE], APIS[ApiKey.FETCH])
    for version in range(api.first_version, api.last_version + 1)
]
REQUESTS: Final = {ApiKey.PRODUCE: record_strategies.PRODUCE, ApiKey.FETCH: record_strategies.FETCH}
ANSWERS: Final = {
    ApiKey.PRODUCE: record_strategies.PRODUCE_ANSWER,
    ApiKey.FETCH: record_strategies.FETCH_ANSWER,
}
ORDERS_0: Final = TopicPartition("orders", 0)


class Message(Struct, frozen=True):
    """A request or an answer in one version: its sample, and how it is written and read."""

    api_key: ApiKey
    version: int
    is_request: bool

    @property
    def sample(self) -> Struct:
        """With a bit of everything."""
        samples = CLIENT_REQUESTS if self.is_request else CLIENT_ANSWERS
        return samples[APIS[self.api_key].name]

    @property
    def content(self) -> bytes:
        """The sample as kio writes it."""
        return write_plain(self.sample, self.version)

    def read(self, content: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Struct:
        """By our codec."""
        codec: ByteCodec = CODECS[self.api_key]
        read = codec.read_request if self.is_request else codec.read_answer
        value: Struct = read(content, 0, self.version, limits)
        return value

    def write(self, value: Struct) -> list[Part]:
        """By our codec."""
        codec: ByteCodec = CODECS[self.api_key]
        write = codec.write_request if self.is_request else codec.write_answer
        return write(value, self.version)

    def __str__(self) -> str:
        kind = "request" if self.is_request else "answer"
        return f"{APIS[self.api_key].name}-{self.version}-{kind}"


MESSAGES: Final = [
    Message(api_key, version, is_request)
    for api_key, version in VERSIONS
    for is_request in (True, False)
]
each_message: Final = pytest.mark.parametrize("message", MESSAGES, ids=str)


# --- as kio -------------------------------------------------------------------------------------


def grouped(value: Any) -> Any:
    """Entries of a topic stand together on the wire, in the order of their topics."""
    for field in ("partitions", "results", "forgotten"):
        entries = getattr(value, field, ())
        if entries:
            topics = list(dict.fromkeys(_topic(entry) for entry in entries))
            ordered = sorted(entries, key=lambda entry: topics.index(_topic(entry)))
            value = replace(value, **{field: tuple(ordered)})
    return value


def _topic(entry: Any) -> str:
    name: TopicPartition = getattr(entry, "name", entry)
    return name.topic


@each_message
@settings(max_examples=25, deadline=None)
@given(chosen=st.data())
def test_the_bytes_are_those_of_kio(message: Message, chosen: st.DataObject) -> None:
    """A client, or a replica of another broker, reads what we write; and we what it writes."""
    strategy = (REQUESTS if message.is_request else ANSWERS)[message.api_key]
    value = chosen.draw(strategy)
    expected = write_plain(value, message.version)
    read_plain: Callable[..., Struct] = (
        read_plain_request if message.is_request else read_plain_answer
    )

    written = b"".join(message.write(value))

    assert written.hex() == expected.hex()
    assert message.read(expected) == said_by_version(grouped(value), message.version)
    assert read_plain(message.api_key, message.version, written) == message.read(written)


def test_a_produce_can_be_read_by_eye() -> None:
    """The other tests check everything at once; this one can be read."""
    request = Produce(-1, 1_500, (PartitionRecords(TopicPartition("t", 3), b"abc"),))

    content = b"".join(produce_codec.write_request(request, 8))

    expected = """
        ffff                # no transactional id
        ffff                # acks: all
        000005dc            # timeout
        00000001            # topics
          0001 74           #   its name
          00000001          #   partitions
            00000003        #     its index
            00000003 616263 #     its records
    """
    lines = (line.partition("#")[0] for line in expected.splitlines())
    assert content == bytes.fromhex("".join(lines))


# --- records are not copied ---------------------------------------------------------------------


def test_records_that_came_are_views_of_their_frame() -> None:
    """And can be changed in place, if the frame can: that is how a leader stamps offsets."""
    frame = bytearray(write_plain(CLIENT_REQUESTS["Produce"], 8))

    request = produce_codec.read_request(frame, 0, 8)

    records = request.partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is frame
    records[:5] = b"FIRST"
    assert b"FIRST records" in frame


def test_fetched_records_are_views_of_their_frame() -> None:
    content = write_plain(CLIENT_ANSWERS["Fetch"], 11)

    answer = fetch_codec.read_answer(content, 0, 11)

    records = answer.partitions[0].records
    assert isinstance(records, memoryview)
    assert records.obj is content


def test_records_go_out_as_they_are() -> None:
    """Between two partitions' records stands one piece, and none of them is joined."""
    first, second = b"a" * 1_000, memoryview(b"b" * 2_000)
    answer = FetchRecordsAnswer(
        partitions=(
            FetchedRecords(ORDERS_0, records=first),
            FetchedRecords(TopicPartition("orders", 1)),
            FetchedRecords(TopicPartition("other", 0), records=second),
        )
    )
    call = Call(RequestHeader(ApiKey.FETCH, 11, 5), CLIENT_REQUESTS["Fetch"])

    parts = encode_answer_parts(call, answer)

    assert [id(part) for part in parts if len(part) >= 1_000] == [id(first), id(second)]
    assert len(parts) == 6
    assert b"".join(parts) == encode_answer(call, answer)
    assert decode_answer(call, b"".join(parts)[4:]) == answer


# --- from strangers -----------------------------------------------------------------------------


@each_message
def test_a_message_cut_anywhere_is_refused(message: Message) -> None:
    """Half a message is none."""
    content = message.content
    for end in range(len(content)):
        with pytest.raises(ProtocolError):
            message.read(content[:end])


@each_message
def test_bytes_left_over_are_refused(message: Message) -> None:
    """Somebody wrote another version than he said."""
    with pytest.raises(ProtocolError, match="1 bytes are left over"):
        message.read(message.content + b"\0")


def reads_or_refuses(message: Message, content: bytes) -> None:
    """What can be read is a message, so it can be written and read again."""
    try:
        value = message.read(content)
    except ProtocolError:
        return
    assert message.read(b"".join(message.write(value))) == grouped(value)


@settings(max_examples=300, deadline=None)
@given(message=st.sampled_from(MESSAGES), content=st.binary(max_size=120))
def test_garbage_is_read_or_refused(message: Message, content: bytes) -> None:
    reads_or_refuses(message, content)


@settings(max_examples=300, deadline=None)
@given(
    message=st.sampled_from(MESSAGES),
    at=st.integers(0, 1_000),
    patch=st.binary(min_size=1, max_size=5),
    end=st.integers(0, 1_000),
)
def test_damaged_messages_are_read_or_refused(
    message: Message, at: int, patch: bytes, end: int
) -> None:
    """Nearly right is where readers fail."""
    content = message.content
    at %= len(content)
    damaged = content[:at] + patch + content[at + len(patch) :]

    reads_or_refuses(message, damaged)
    reads_or_refuses(message, damaged[: end % (len(damaged) + 1)])


FETCH_START: Final = struct.pack(">iiiib", -1, 500, 1, 10, 0)


@pytest.mark.parametrize(
    ("read", "content"),
    [
        (produce_codec.read_request, struct.pack(">hhii", -1, 1, 500, 900_000)),
        (produce_codec.read_request, struct.pack(">hhiihi", -1, 1, 500, 1, 0, 900_000)),
        (produce_codec.read_request, struct.pack(">hhiihiii", -1, 1, 500, 1, 0, 1, 0, 2**31 - 1)),
        (produce_codec.read_answer, struct.pack(">i", 900_000)),
        (fetch_codec.read_request, FETCH_START + struct.pack(">iii", 0, -1, 900_000)),
        (fetch_codec.read_request, FETCH_START + struct.pack(">iiihi", 0, -1, 1, 0, 900_000)),
        (fetch_codec.read_request, FETCH_START + struct.pack(">iiiihi", 0, -1, 0, 1, 0, 900_000)),
        (fetch_codec.read_answer, struct.pack(">ihihi", 0, 0, 0, 0, 900_000)),
    ],
    ids=[
        "topics", "partitions", "records", "results",
        "fetched topics", "positions", "forgotten", "answered topics",
    ],
)  # fmt: skip
def test_a_huge_count_costs_nothing(read: Callable[..., Any], content: bytes) -> None:
    """A length is believed only when the bytes are there."""
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            read(content, 0, 8)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < 100_000


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (struct.pack(">h", -2), "a string has the length -2"),
        (struct.pack(">h2s", 2, b"\xff\xff") + bytes(10), "a string is not UTF-8"),
        (struct.pack(">hhii", -1, 1, 500, -1), "a list has -1 items"),
        (struct.pack(">hhii", -1, 1, 500, 2) + bytes(11), "a list of 2 items has 11 bytes"),
        (struct.pack(">hhiih", -1, 1, 500, 1, -1) + bytes(4), "a string has the length -1"),
        (struct.pack(">hhiihiii", -1, 1, 500, 1, 0, 1, 0, -2), "records have the length -2"),
        (struct.pack(">hhiihiii", -1, 1, 500, 1, 0, 1, 0, 9), "9 bytes are announced and 0 are"),
    ],
)
def test_a_refusal_says_what_is_wrong(content: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=f"ProduceRequest: {reason}"):
        produce_codec.read_request(content, 0, 8)


def test_limits_hold() -> None:
    content = write_plain(CLIENT_REQUESTS["Produce"], 8)

    with pytest.raises(ProtocolError, match="a list has 2 items; 1 are allowed"):
        produce_codec.read_request(content, 0, 8, WireLimits(list_items=1))
    with pytest.raises(ProtocolError, match="a string has 8 bytes; 7 are allowed"):
        produce_codec.read_request(content, 0, 8, WireLimits(string_bytes=7))


@pytest.mark.parametrize(
    ("write", "value"),
    [
        (produce_codec.write_request, Produce(2**15, 0, ())),
        (fetch_codec.write_request, replace(CLIENT_REQUESTS["Fetch"], session_id=2**31)),
        (fetch_codec.write_answer, FetchRecordsAnswer(session_id=2**31)),
        (
            produce_codec.write_answer,
            ProduceAnswer((replace(CLIENT_ANSWERS["Produce"].results[0], base_offset=2**63),)),  # type: ignore[attr-defined] # it is a ProduceAnswer
        ),
    ],
    ids=["produce", "fetch", "fetched", "produced"],
)
def test_a_number_that_does_not_fit_is_refused(write: Callable[..., Any], value: Struct) -> None:
    """Whoever made it, half a message must not go out."""
    with pytest.raises(ProtocolError, match="cannot carry this"):
        write(value, 8)


# --- within an exchange -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Produce", "Fetch"])
def test_a_frame_that_can_be_written_to_is_read_too(name: str) -> None:
    """A node that receives into its own buffer need not copy it."""
    request = CLIENT_REQUESTS[name]
    asked = to_call(request, api_version=8, correlation_id=1, client_id="ü")

    heard = decode_request(bytearray(encode_request(asked)[4:]))

    assert heard == Call(asked.header, said_by_version(request, 8))


def test_an_error_code_of_the_future_is_an_error() -> None:
    answer = fetch_codec.read_answer(struct.pack(">ihii", 0, 999, 0, 0), 0, 7)

    assert answer.error.name == "UNKNOWN_SERVER_ERROR"
