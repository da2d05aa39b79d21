"""SaslHandshake: how a client begins to authenticate itself. It is understood to be refused."""

from msgspec import Struct

from regent.model.error_codes import ErrorCode


class SaslHandshake(Struct, frozen=True):
    """A client wants to authenticate itself in this way."""

    mechanism: str


class SaslHandshakeAnswer(Struct, frozen=True):
    """Whether it may, and in which ways it could."""

    error: ErrorCode = ErrorCode.NONE
    mechanisms: tuple[str, ...] = ()
