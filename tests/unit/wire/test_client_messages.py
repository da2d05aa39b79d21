"""What clients ask of brokers, beside records: read strictly, and true to what each version says.

That a request and its answer come through whole is in `test_exchange`.
"""

import struct
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader
from msgspec import Struct

from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.group_requests import (
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    LeftMember,
    OffsetCommit,
    OffsetFetch,
)
from regent.model.ids import TopicPartition
from regent.model.log_requests import DescribeLogDirs
from regent.wire.apis import APIS, ApiKey
from regent.wire.client_conversions import CLIENT_CONVERSIONS
from regent.wire.exchange import (
    API_OF_REQUEST,
    CONVERSIONS,
    Call,
    decode_answer,
    decode_request,
    encode_answer,
    encode_answer_parts,
    encode_request,
    to_call,
)
from regent.wire.headers import RequestHeader
from regent.wire.payloads import encode_payload, request_schema, response_schema
from regent.wire.strict_reader import read_payload
from tests.unit.wire import samples

TIMEOUT: Final = timedelta(seconds=30)


class ClientMessage(Struct, frozen=True):
    """A request or an answer in one version."""

    api_key: ApiKey
    version: int
    is_request: bool

    @property
    def schema(self) -> type[Any]:
        """The dataclass of kio."""
        schema_of = request_schema if self.is_request else response_schema
        return schema_of(self.api_key, self.version)

    @property
    def content(self) -> bytes:
        """The sample's bytes."""
        name, conversion = APIS[self.api_key].name, CONVERSIONS[self.api_key]
        request = samples.request_of(name, self.version)
        if not self.is_request:
            call = Call(RequestHeader(self.api_key, self.version, 1), request)
            answer = samples.answer_of(name, self.version)
            return encode_payload(self.schema, conversion.answer_values(answer, call))
        assert conversion.request_values is not None
        values = conversion.request_values(request, self.version)
        return encode_payload(self.schema, {**values, "timeout": TIMEOUT})

    def __str__(self) -> str:
        kind = "request" if self.is_request else "answer"
        return f"{APIS[self.api_key].name}-{self.version}-{kind}"


MESSAGES: Final = [
    ClientMessage(key, version, is_request)
    for key in CLIENT_CONVERSIONS
    for version in range(APIS[key].first_version, APIS[key].last_version + 1)
    for is_request in (True, False)
]
each_message: Final = pytest.mark.parametrize("message", MESSAGES, ids=str)


def through(request: Struct, version: int) -> Any:
    """The request as it arrives."""
    asked = to_call(request, api_version=version, correlation_id=1)
    return decode_request(encode_request(asked)[4:]).request


def answered(request: Struct, answer: Struct, version: int) -> Any:
    """The answer as it arrives."""
    call = to_call(request, api_version=version, correlation_id=1)
    return decode_answer(call, encode_answer(call, answer)[4:])


# --- read strictly ------------------------------------------------------------------------------


@each_message
def test_the_strict_reader_reads_what_kio_reads(message: ClientMessage) -> None:
    """The reader of kio is an independent one, and good for messages that can be trusted."""
    content = message.content
    expected, size = entity_reader(message.schema)(content, 0)
    assert size == len(content)

    assert read_payload(message.schema, content) == expected


@each_message
def test_a_message_cut_anywhere_is_refused(message: ClientMessage) -> None:
    """Half a message is none."""
    content = message.content
    for end in range(len(content)):
        with pytest.raises(ProtocolError):
            read_payload(message.schema, content[:end])


@settings(max_examples=200, deadline=None)
@given(
    message=st.sampled_from([message for message in MESSAGES if message.content]),
    at=st.integers(0, 1_000),
    patch=st.binary(min_size=1, max_size=9),
)
def test_a_damaged_request_is_understood_or_refused(
    message: ClientMessage, at: int, patch: bytes
) -> None:
    """A value or a `ProtocolError`, and nothing else."""
    content = message.content
    at %= len(content)
    damaged = content[:at] + patch + content[at + len(patch) :]
    conversion = CONVERSIONS[message.api_key]
    request = samples.request_of(APIS[message.api_key].name, message.version)
    try:
        payload = read_payload(message.schema, damaged)
    except ProtocolError:
        return
    if message.is_request:
        conversion.request_from(payload, message.version)
    else:
        call = Call(RequestHeader(message.api_key, message.version, 1), request)
        conversion.answer_from(payload, call)


@pytest.mark.parametrize(
    ("length", "reason"),
    [(-1, "bytes have the length -1"), (2**31 - 1, "2147483647 bytes are announced and 0 are")],
)
def test_the_length_of_an_assignment_is_not_believed(length: int, reason: str) -> None:
    content = struct.pack(">hi", 0, length)

    with pytest.raises(ProtocolError, match=reason):
        read_payload(response_schema(ApiKey.SYNC_GROUP, 0), content)


def test_a_time_that_is_too_long_is_refused() -> None:
    """Offsets once said how long they want to be kept, in 64 bits."""
    content = struct.pack(">hihqi", 0, -1, 0, 2**62, 0)

    with pytest.raises(ProtocolError, match="4611686018427387904 ms are too long a time"):
        read_payload(request_schema(ApiKey.OFFSET_COMMIT, 2), content)


# --- what single requests need ------------------------------------------------------------------


def test_every_request_of_clients_has_its_api() -> None:
    for key, row in CLIENT_CONVERSIONS.items():
        assert API_OF_REQUEST[row.request_type] is key


@pytest.mark.parametrize("version", range(2, 6))
def test_the_offsets_of_all_partitions_can_be_asked_for(version: int) -> None:
    assert through(OffsetFetch("readers"), version) == OffsetFetch("readers")
    assert through(OffsetFetch("readers", ()), version) == OffsetFetch("readers", ())


def test_the_first_offset_fetches_named_their_partitions() -> None:
    with pytest.raises(ProtocolError, match="OffsetFetch 1 is for partitions that it names"):
        through(OffsetFetch("readers"), 1)


@pytest.mark.parametrize("version", range(1, 5))
def test_all_log_dirs_or_some(version: int) -> None:
    """None means all, and nothing means nothing."""
    for partitions in (None, (), (TopicPartition("orders", 7),)):
        request = DescribeLogDirs(partitions)
        assert through(request, version) == request


@pytest.mark.parametrize("version", range(3))
def test_only_one_member_could_leave(version: int) -> None:
    both = LeaveGroup("readers", (LeavingMember("m-1"), LeavingMember("m-2")))

    with pytest.raises(ProtocolError, match=f"LeaveGroup {version} is for one member"):
        through(both, version)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (LeaveGroupAnswer(members=(LeftMember("m-1"),)), ErrorCode.NONE),
        (
            LeaveGroupAnswer(members=(LeftMember("m-1", error=ErrorCode.UNKNOWN_MEMBER_ID),)),
            ErrorCode.UNKNOWN_MEMBER_ID,
        ),
        (
            LeaveGroupAnswer(
                ErrorCode.NOT_COORDINATOR, (LeftMember("m-1", error=ErrorCode.UNKNOWN_MEMBER_ID),)
            ),
            ErrorCode.NOT_COORDINATOR,
        ),
    ],
)
def test_the_one_member_that_left_hears_its_own_error(
    answer: LeaveGroupAnswer, expected: ErrorCode
) -> None:
    """Before version 3 there was one code for the request and the member."""
    request = LeaveGroup("readers", (LeavingMember("m-1"),))

    assert answered(request, answer, 2) == LeaveGroupAnswer(expected)


@pytest.mark.parametrize("retention_ms", [None, 0, 5])
def test_a_commit_may_say_how_long_it_is_kept(retention_ms: int | None) -> None:
    request = OffsetCommit(group_id="readers", offsets=(), retention_ms=retention_ms)

    assert through(request, 4) == request


def test_an_answer_without_a_codec_is_one_part() -> None:
    request, answer = samples.request_of("Heartbeat", 3), samples.answer_of("Heartbeat", 3)
    call = to_call(request, api_version=3, correlation_id=1)

    assert encode_answer_parts(call, answer) == [encode_answer(call, answer)]


# --- error codes --------------------------------------------------------------------------------


def test_error_codes_have_kafkas_numbers() -> None:
    """A wrong number would make a client do the wrong thing, and nobody would see why."""
    ours = {error.name.lower(): error.value for error in ErrorCode}

    assert ours == {KioErrorCode(number).name: number for number in ours.values()}
