"""Each header in its version; the bytes are written by hand."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regent.errors import ProtocolError
from regent.wire.apis import ApiKey
from regent.wire.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)

SHUTDOWN_0 = RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 0, 258)
SHUTDOWN_1 = RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 1, 258, "3")
SHUTDOWN_3 = RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 3, 258, "3")
NAMELESS_1 = RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 1, 258)
API_VERSIONS_3 = RequestHeader(ApiKey.API_VERSIONS, 3, 258, "3")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (SHUTDOWN_0, "0007 0000 00000102"),
        (SHUTDOWN_1, "0007 0001 00000102 0001 33"),
        (NAMELESS_1, "0007 0001 00000102 ffff"),
        (SHUTDOWN_3, "0007 0003 00000102 0001 33 00"),
        (API_VERSIONS_3, "0012 0003 00000102 0001 33 00"),
    ],
)
def test_request_headers_have_three_versions(header: RequestHeader, expected: str) -> None:
    encoded = bytes.fromhex(expected)

    assert encode_request_header(header) == encoded
    assert decode_request_header(encoded + b"content") == (header, len(encoded))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (SHUTDOWN_0, "00000102"),
        (SHUTDOWN_1, "00000102"),
        (SHUTDOWN_3, "00000102 00"),
        (API_VERSIONS_3, "00000102"),
    ],
)
def test_response_headers_have_two_versions(header: RequestHeader, expected: str) -> None:
    """Answers to ApiVersions have the old one, always: the reader cannot know better yet."""
    encoded = bytes.fromhex(expected)

    assert encode_response_header(header) == encoded
    assert decode_response_header(encoded + b"content", header) == len(encoded)


def test_tagged_fields_of_a_header_are_skipped() -> None:
    encoded = bytes.fromhex("0007 0003 00000102 0001 33 01 05 02 aabb")

    assert decode_request_header(encoded) == (SHUTDOWN_3, len(encoded))


def test_an_answer_to_another_request_is_refused() -> None:
    """Answers come in order; after a wrong one nothing on the connection can be trusted."""
    with pytest.raises(ProtocolError, match="to request 7 came where 258 was due"):
        decode_response_header(struct.pack(">i", 7), SHUTDOWN_0)


@pytest.mark.parametrize(
    ("encoded", "reason"),
    [
        ("", "0 bytes has no header"),
        ("0007 0003 000001", "7 bytes has no header"),
        ("0007 0003 00000102", "ends within its header"),
        ("0007 0003 00000102 0001 33", "ends within its header"),
        ("0007 0001 00000102 0005 33", "a client id has the length 5"),
        ("0007 0001 00000102 fffe 33", "a client id has the length -2"),
        ("0007 0001 00000102 0001 ff", "a client id is not UTF-8"),
        ("03e7 0001 00000102 0001 33", "API key 999 is not spoken here"),
        ("0007 0004 00000102 0001 33", "ControlledShutdown is not spoken in version 4"),
        ("0007 ffff 00000102 0001 33", "ControlledShutdown is not spoken in version -1"),
    ],
)
def test_what_is_no_header_is_refused(encoded: str, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        decode_request_header(bytes.fromhex(encoded))


@pytest.mark.parametrize("length", range(4))
def test_half_the_header_of_an_answer_is_refused(length: int) -> None:
    with pytest.raises(ProtocolError, match="ends within its header"):
        decode_response_header(bytes(4)[:length], SHUTDOWN_3)


def test_a_client_id_that_does_not_fit_is_refused() -> None:
    header = RequestHeader(ApiKey.CONTROLLED_SHUTDOWN, 1, 1, "x" * 40_000)

    with pytest.raises(ProtocolError, match="40000 bytes is too long"):
        encode_request_header(header)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_a_header_or_refused(garbage: bytes) -> None:
    try:
        _, offset = decode_request_header(garbage)
    except ProtocolError:
        return
    assert offset <= len(garbage)
