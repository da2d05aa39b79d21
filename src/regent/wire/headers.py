"""What stands before the content of each request and response.

Request headers have three versions: 0 without a client id (ControlledShutdown 0 alone), 1 with it,
and 2 with tagged fields. Response headers have two: 0, and 1 with tagged fields, where the answer
to ApiVersions always has 0, because its reader does not know yet what we speak.
"""

import struct
from typing import Final

from msgspec import Struct

from regent.errors import ProtocolError
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.strict_reader import Content, skip_tagged_fields

_FIXED: Final = struct.Struct(">hhi")
_CORRELATION: Final = struct.Struct(">i")
_NO_TAGGED_FIELDS: Final = b"\0"
_NO_STRING: Final = struct.pack(">h", -1)


class RequestHeader(Struct, frozen=True):
    """Which request it is, and which answer belongs to it."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None = None

    @property
    def api(self) -> Api:
        """The row of the table; only for headers that were read or can be written."""
        return APIS[self.api_key]


def encode_request_header(header: RequestHeader) -> bytes:
    """The header in the version that its API and version ask for."""
    header_version = _request_header_version(header.api_key, header.api_version)
    encoded = _FIXED.pack(header.api_key, header.api_version, header.correlation_id)
    if header_version > 0:
        encoded += _encode_client_id(header.client_id)
    if header_version > 1:
        encoded += _NO_TAGGED_FIELDS
    return encoded


def decode_request_header(
    message: Content, limits: WireLimits = DEFAULT_LIMITS
) -> tuple[RequestHeader, int]:
    """The header, and where the content starts.

    A version of ApiVersions that is unknown here is let through, because it has an answer.
    """
    if len(message) < _FIXED.size:
        raise ProtocolError(f"a request of {len(message)} bytes has no header")
    api_key, api_version, correlation_id = _FIXED.unpack_from(message)
    header_version = _request_header_version(api_key, api_version)
    client_id, offset = None, _FIXED.size
    try:
        if header_version > 0:
            client_id, offset = _decode_client_id(message, offset, limits)
        if header_version > 1:
            offset = skip_tagged_fields(message, offset)
    except (struct.error, IndexError):
        raise ProtocolError("a request ends within its header") from None
    except UnicodeDecodeError:
        raise ProtocolError("a client id is not UTF-8") from None
    return RequestHeader(api_key, api_version, correlation_id, client_id), offset


def encode_response_header(header: RequestHeader) -> bytes:
    """The header of the answer to a request."""
    encoded = _CORRELATION.pack(header.correlation_id)
    return encoded + _NO_TAGGED_FIELDS if _has_tags_in_answer(header) else encoded


def decode_response_header(message: Content, header: RequestHeader) -> int:
    """Where the content of an answer starts, if it is the answer to this request."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(message)
        offset = _CORRELATION.size
        if _has_tags_in_answer(header):
            offset = skip_tagged_fields(message, offset)
    except (struct.error, IndexError):
        raise ProtocolError("an answer ends within its header") from None
    if correlation_id != header.correlation_id:
        raise ProtocolError(
            f"an answer to request {correlation_id} came where {header.correlation_id} was due"
        )
    return offset


def _has_tags_in_answer(header: RequestHeader) -> bool:
    return header.api_key != ApiKey.API_VERSIONS and header.api.is_flexible(header.api_version)


def _request_header_version(api_key: int, api_version: int) -> int:
    api = APIS.get(api_key)
    if api is None:
        raise ProtocolError(f"API key {api_key} is not spoken here")
    if not api.speaks(api_version):
        if api.key is ApiKey.API_VERSIONS:
            return 1  # the later ones differ after the client id, where nobody looks
        raise ProtocolError(f"{api.name} is not spoken in version {api_version}")
    if api.key is ApiKey.CONTROLLED_SHUTDOWN and api_version == 0:
        return 0
    return 2 if api.is_flexible(api_version) else 1


def _encode_client_id(client_id: str | None) -> bytes:
    if client_id is None:
        return _NO_STRING
    encoded = client_id.encode()
    if len(encoded) > DEFAULT_LIMITS.string_bytes:
        raise ProtocolError(f"a client id of {len(encoded)} bytes is too long")
    return struct.pack(">h", len(encoded)) + encoded


def _decode_client_id(message: Content, offset: int, limits: WireLimits) -> tuple[str | None, int]:
    (length,) = struct.unpack_from(">h", message, offset)
    offset += 2
    if length < -1 or length > limits.string_bytes or offset + length > len(message):
        raise ProtocolError(f"a client id has the length {length}")
    if length == -1:
        return None, offset
    return message[offset : offset + length].decode(), offset + length
