"""What is fuzzed: any bytes are read as everything that they could be."""

from contextlib import suppress
from typing import Final

from regent.errors import ProtocolError
from regent.wire.apis import APIS
from regent.wire.exchange import CONVERSIONS, Call, decode_answer, decode_request
from regent.wire.frames import FrameReader
from regent.wire.headers import RequestHeader
from tests.unit.wire.samples import request_of

#: Every API and version with an answer of the model; the first byte of the input chooses.
ANSWERED: Final = [
    (api, version)
    for api in APIS.values()
    if api.key in CONVERSIONS
    for version in range(api.first_version, api.last_version + 1)
]


def read_anything(content: bytes) -> None:
    """As a stream of frames, as a request, and as an answer."""
    with suppress(ProtocolError):
        for message in FrameReader().feed(content):
            decode_request(message)
    with suppress(ProtocolError):
        decode_request(content)
    if content:
        api, version = ANSWERED[content[0] % len(ANSWERED)]
        call = Call(RequestHeader(api.key, version, 0), request_of(api.name, version))
        with suppress(ProtocolError):
            decode_answer(call, bytes(4) + content[1:])
