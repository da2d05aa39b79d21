"""Reading JSON out of znodes strictly, and saying what is wrong when it is not as expected.

The typed decoder is the fast way and decides alone; only after it has refused is the content
read a second time, to quote what was found.
"""

import re
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from regent.errors import CorruptZnode

Record = TypeVar("Record")

#: Kafka's ids, epochs and indexes are Java ints.
Int32 = Annotated[int, Meta(ge=0, le=2**31 - 1)]
#: A version that only has to be there and to make sense.
AnyVersionNumber = Annotated[int, Meta(ge=1, le=2**31 - 1)]
#: A version of which there is only one.
VersionOne = Annotated[int, Meta(ge=1, le=1)]

_QUOTE_LENGTH_MAX = 120
_FIELD_IN_MESSAGE = re.compile(r"\$\.(\w+)")


def read_json(decoder: "msgspec.json.Decoder[Record]", path: str, raw: bytes | None) -> Record:
    """The znode's content as a record, or CorruptZnode with what was found and expected."""
    if not raw:
        raise CorruptZnode(path, f"expected JSON, found {'no data' if raw is None else 'nothing'}")
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CorruptZnode(path, _reason(str(error), raw)) from None


def _reason(message: str, raw: bytes) -> str:
    """Why the typed decoder refused; it may do so before it has seen that this is no JSON."""
    try:
        content = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return f"expected JSON, found {quote(raw)} ({error})"
    return explain(message, content)


def explain(message: str, content: Any) -> str:
    """A decoder's complaint, completed by the value that it complains about."""
    named = _FIELD_IN_MESSAGE.search(message)
    if named and isinstance(content, dict) and named[1] in content:
        return f"{message}; found {named[1]}: {quote(msgspec.json.encode(content[named[1]]))}"
    return f"{message}; found {quote(msgspec.json.encode(content))}"


def quote(raw: bytes) -> str:
    """The beginning of a content, readable in one line."""
    text = raw.decode("utf-8", "backslashreplace")
    return text if len(text) <= _QUOTE_LENGTH_MAX else text[:_QUOTE_LENGTH_MAX] + "..."


def repeated(values: tuple[int, ...]) -> bool:
    """Whether some value is there twice."""
    return len(set(values)) != len(values)
