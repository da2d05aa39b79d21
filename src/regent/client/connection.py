"""One connection to one broker: a request, its answer, the next request.

It blocks, and it waits only so long. What was agreed on with ApiVersions decides in which version
each request goes. After anything but an answer the connection is closed and of no more use.
"""

import socket
import time
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

import regent
from regent.client.addresses import Address
from regent.client.patience import Patience
from regent.errors import BrokerGone, NotSupported, ProtocolError
from regent.model.admin_requests import CreateTopics, DeleteTopics, ElectionType, ElectLeaders
from regent.model.cluster_requests import Metadata
from regent.model.error_codes import ErrorCode
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import (
    API_OF_REQUEST,
    Call,
    decode_answer,
    encode_request,
    encode_request_values,
    to_call,
)
from regent.wire.frames import FrameReader
from regent.wire.headers import RequestHeader
from regent.wire.strict_reader import Content

CLIENT_ID: Final = "regent"
RECEIVE_BYTES: Final = 1 << 18

#: What the first bytes of an answer give away about a port that is no plain Kafka listener.
STRANGERS: Final[Mapping[bytes, str]] = {
    b"\x15\x03": "it wants TLS; give a PLAINTEXT listener of the brokers",
    b"HTTP": "it speaks HTTP; give the address of a broker's Kafka listener",
}


class Connection:
    """Opened by `Connection.open`, which also learns what the broker speaks."""

    def __init__(self, address: Address, link: socket.socket, patience: Patience) -> None:
        self.address = address
        self._link = link
        self._patience = patience
        self._correlation_id = 0
        #: By API key: the first and the last version that the broker speaks.
        self._spoken: dict[int, tuple[int, int]] = {}

    @classmethod
    def open(cls, address: Address, patience: Patience) -> "Connection":
        """Connect, and agree on versions."""
        try:
            link = socket.create_connection(address, timeout=patience.connect_s)
        except (OSError, UnicodeError) as error:
            raise BrokerGone(str(address), _reason_of(error)) from error
        connection = cls(address, link, patience)
        connection._learn_versions()
        return connection

    def close(self) -> None:
        """Hang up."""
        self._link.close()

    @property
    def is_open(self) -> bool:
        """Whether it may be asked again."""
        return self._link.fileno() != -1

    # --- asking -------------------------------------------------------------------------------

    def ask(self, request: Struct) -> Any:
        """A request of the model, and the model's answer."""
        version = self.version_for(API_OF_REQUEST[type(request)], first_version_of(request))
        call = to_call(
            request,
            api_version=version,
            correlation_id=self._next_correlation_id(),
            client_id=CLIENT_ID,
            timeout_ms=self._patience.answer_ms,
        )
        return self._decode(call, self._exchange(encode_request(call)))

    def version_for(self, api_key: ApiKey, at_least: int = 0) -> int:
        """The highest version that both speak."""
        ours = APIS[api_key]
        if api_key not in self._spoken:
            raise NotSupported(
                f"{self.address} does not speak {ours.name}; its Kafka is too old for that, or it"
                " is no broker"
            )
        theirs_first, theirs_last = self._spoken[api_key]
        version = min(ours.last_version, theirs_last)
        if version < max(ours.first_version, theirs_first, at_least):
            wanted = max(ours.first_version, at_least)
            raise NotSupported(
                f"{self.address} speaks {ours.name} in versions {theirs_first} to {theirs_last},"
                f" and this needs one of {wanted} to {ours.last_version}; ask a broker of another"
                " release"
            )
        return version

    # --- inside -------------------------------------------------------------------------------

    def _learn_versions(self) -> None:
        """Whoever finds our version too new says so in version 0, with what it knows instead."""
        own = APIS[ApiKey.API_VERSIONS]
        payload = self._ask_versions(own.last_version)
        if payload.error_code.value == ErrorCode.UNSUPPORTED_VERSION:
            known = {entry.api_key: entry.max_version for entry in payload.api_keys}
            payload = self._ask_versions(min(known.get(own.key, 0), own.last_version - 1))
        if payload.error_code.value != 0:
            raise self._gone(f"it does not say what it speaks: {payload.error_code.name}")
        self._spoken = {
            entry.api_key: (entry.min_version, entry.max_version) for entry in payload.api_keys
        }

    def _ask_versions(self, version: int) -> Any:
        header = RequestHeader(ApiKey.API_VERSIONS, version, self._next_correlation_id(), CLIENT_ID)
        values = {
            "client_software_name": CLIENT_ID,
            "client_software_version": regent.__version__,
        }
        message = self._exchange(encode_request_values(header, values))
        if int.from_bytes(message[4:6], signed=True) == ErrorCode.UNSUPPORTED_VERSION:
            header = RequestHeader(header.api_key, 0, header.correlation_id)
        return self._decode(Call(header, None), message)

    def _exchange(self, frame: bytes) -> Content:
        """Send a frame, and wait for the next message."""
        deadline = time.monotonic() + self._patience.silence_s
        frames = FrameReader()
        head = b""
        try:
            self._wait_until(deadline)
            self._link.sendall(frame)
            while True:
                self._wait_until(deadline)
                piece = self._link.recv(RECEIVE_BYTES)
                if not piece:
                    raise self._gone(_end_of(frames))
                head = (head + piece)[:4]
                for message in frames.feed(piece):
                    return message
        except OSError as error:
            raise self._gone(_reason_of(error)) from error
        except ProtocolError as error:
            raise self._gone(_strangeness(head, error)) from error
        except KeyboardInterrupt:
            self.close()  # the answer to this must not be taken for that to the next
            raise

    def _wait_until(self, deadline: float) -> None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._link.settimeout(left_s)

    def _decode(self, call: Call, message: Content) -> Any:
        try:
            return decode_answer(call, message)
        except ProtocolError as error:
            raise self._gone(f"it answers what is not Kafka's protocol: {error}") from error

    def _next_correlation_id(self) -> int:
        self._correlation_id += 1
        return self._correlation_id

    def _gone(self, reason: str) -> BrokerGone:
        self.close()
        return BrokerGone(str(self.address), reason)


def first_version_of(request: Struct) -> int:
    """The first version that can say all that the request says; an older one would drop it."""
    match request:
        case CreateTopics(validate_only=True):
            return 1  # version 0 would really create them
        case DeleteTopics(by_id=True):
            return 6
        case ElectLeaders(election=ElectionType.UNCLEAN):
            return 1
        case Metadata():
            return 1  # version 0 does not say who the controller is
        case _:
            return 0


def _reason_of(error: Exception) -> str:
    """A sentence of the system's, in lower case as ours are."""
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, UnicodeError):
        return "this is no name of a host"
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


def _end_of(frames: FrameReader) -> str:
    if frames.is_between_frames:
        return "it closed the connection instead of an answer; does it want SASL or TLS?"
    return "it closed the connection in the middle of an answer"


def _strangeness(head: bytes, error: ProtocolError) -> str:
    for start, meaning in STRANGERS.items():
        if head.startswith(start):
            return meaning
    return f"it answers what is not Kafka's protocol: {error}"
