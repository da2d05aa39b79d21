"""The grammar of Kafka's `state-change.log` and `controller.log`, and the parser that reads it.

The tables of shapes are the grammar; here they are only compiled and looked up. A line is

    [2024-11-05 07:45:59,003] INFO [Controller id=1 epoch=2] Sentence (state.change.logger)

and before 1.0 the speaker stood in the sentence itself: `Controller 1 epoch 2 sentence`. The first
words of a sentence choose the few shapes that it is tried against.

Pure Python, one line at a time: what a file remembers from line to line is in `log_lines`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from regent.pipeline.sources.log_shapes import LogFile, Said, Shape, ShapeTable, Who
from regent.pipeline.sources.log_shapes_broker import BROKER_SHAPES
from regent.pipeline.sources.log_shapes_controller import CONTROLLER_SHAPES
from regent.pipeline.sources.log_shapes_controller_log import CONTROLLER_LOG_SHAPES
from regent.pipeline.sources.log_shapes_notes import NOTE_SHAPES
from regent.pipeline.sources.log_values import VALUES, Fields, Reader, whole

#: All shapes that are known.
GRAMMAR: Final = (CONTROLLER_SHAPES, BROKER_SHAPES, CONTROLLER_LOG_SHAPES, NOTE_SHAPES)

STATE_CHANGE_LOGGER: Final = "state.change.logger"
CONTROLLER_LOGGERS: Final = "kafka.controller."

NOT_A_LOG_LINE: Final = "not a log line"
UNKNOWN_LOGGER: Final = "a logger of neither state-change.log nor controller.log"
UNKNOWN_SENTENCE: Final = "unknown sentence"


class Parsed(Struct, frozen=True, gc=False):
    """A line that has a known shape."""

    #: Local time of the node, as printed.
    at: str
    level: str
    file: LogFile
    who: Who
    #: The node that speaks, when the line names it.
    node_id: int | None
    #: The epoch of the speaker, when it is a controller and the line names it.
    epoch: int | None
    shape: Shape
    #: What the line becomes: at least one transition.
    said: Sequence[Said]


class Unparsed(Struct, frozen=True, gc=False):
    """A line that no shape fits, and why."""

    reason: str


# --- templates --------------------------------------------------------------------------------

_PIECE: Final = re.compile(r"\{(\w+)\}|<<|>>")


def pattern_of(template: str) -> tuple[str, tuple[Reader, ...]]:
    """A template as a regular expression, and who reads what its groups find."""
    pattern, readers, position = "", [], 0
    for piece in _PIECE.finditer(template):
        pattern += re.escape(template[position : piece.start()])
        position = piece.end()
        if piece[1]:
            value = VALUES[piece[1]]
            pattern += f"({value.pattern})"
            readers.append(value.read)
        else:
            pattern += "(?:" if piece[0] == "<<" else ")?"
    pattern += re.escape(template[position:])
    return _either_case(pattern), tuple(readers)


def _either_case(pattern: str) -> str:
    first = pattern[0]
    return f"[{first}{first.lower()}]{pattern[1:]}" if first.isupper() else pattern


class _Matcher(Struct, frozen=True):
    """A shape, ready for use."""

    shape: Shape
    who: Who
    fullmatch: Callable[[str], re.Match[str] | None]
    readers: tuple[Reader, ...]


#: First words of a sentence to the shapes that begin so; None for those that begin with a value.
_Heads: TypeAlias = Mapping[str | None, tuple[_Matcher, ...]]


def _compiled(tables: Iterable[ShapeTable]) -> _Heads:
    heads: dict[str | None, list[_Matcher]] = {None: []}
    for table in tables:
        for shape in table.shapes:
            pattern, readers = pattern_of(shape.template)
            compiled = re.compile(pattern, flags=re.ASCII | re.DOTALL)
            matcher = _Matcher(shape, table.who, compiled.fullmatch, readers)
            for head in _heads_of(shape.template):
                heads.setdefault(head, []).append(matcher)
    anywhere = heads[None]
    return MappingProxyType(
        {
            head: tuple(matchers if head is None else [*matchers, *anywhere])
            for head, matchers in heads.items()
        }
    )


def _heads_of(template: str) -> tuple[str | None, ...]:
    """The first two words, or one where the second is not fixed, with either first letter."""
    words = template.split(" ")[:2]
    fixed = [word for word in words if _PIECE.search(word) is None]
    if not fixed or _PIECE.search(words[0]):
        return (None,)
    head = " ".join(fixed)
    return (head, head[0].lower() + head[1:])


_SHAPES: Final[Mapping[LogFile, _Heads]] = {
    file: _compiled(table for table in GRAMMAR if table.file is file) for file in LogFile
}

# --- who speaks -------------------------------------------------------------------------------


class _Speaker(Struct, frozen=True, gc=False):
    """Who speaks, as far as the prefix of a line says."""

    who: Who
    node_id: int | None
    epoch: int | None


#: What may stand in the brackets before a sentence. In `controller.log` only controllers speak.
PREFIXES: Final = (
    r"(?P<who>Controller|Broker) id=(?P<id>\d+)(?: epoch=(?P<epoch>\d+))?",
    r"Controller (?P<id>\d+)",
    r"Partition state machine on Controller (?P<id>\d+)",
    r"Replica state machine on controller (?P<id>\d+)",
    r"\w+ controllerId=(?P<id>\d+)",
    r"\w+LeaderSelector",
    r"Topic Deletion Manager (?P<id>\d+)",
    r"delete-topics-thread(?:-(?P<id>\d+))?",
    r"Channel manager on controller (?P<id>\d+)",
    r"Controller-(?P<id>\d+)-to-broker-\d+-send-thread",
    r"\w+ on (?:[Cc]ontroller )?(?P<id>\d+)",
)
_PREFIXES: Final = tuple(re.compile(prefix, flags=re.ASCII) for prefix in PREFIXES)
_AFTER_PREFIX: Final = re.compile(r"[:,]? ")

#: Before 1.0; and in some errors since, after the prefix.
_OLD_CONTROLLER: Final = re.compile(r"Controller (\d+) epoch (\d+) ", flags=re.ASCII)
_OLD_BROKER: Final = re.compile(r"Broker (\d+) ", flags=re.ASCII)
_OLD_BROKER_IN_ERROR: Final = re.compile(r"Error on broker (\d+) ", flags=re.ASCII)

_NOBODY: Final = _Speaker(Who.CONTROLLER, None, None)
_speakers: Final[dict[str, _Speaker | None]] = {}
_SPEAKERS_MAX: Final = 10_000


def _speaker(prefix: str) -> _Speaker | None:
    """Who a prefix names; a log has few different ones, so they are kept."""
    if prefix in _speakers:
        return _speakers[prefix]
    found = next(filter(None, (known.fullmatch(prefix) for known in _PREFIXES)), None)
    speaker = None
    if found is not None:
        named = found.groupdict()
        who = Who.BROKER if named.get("who") == "Broker" else Who.CONTROLLER
        speaker = _Speaker(who, _number(named.get("id")), _number(named.get("epoch")))
    if len(_speakers) < _SPEAKERS_MAX:
        _speakers[prefix] = speaker
    return speaker


def _number(text: str | None) -> int | None:
    return None if text is None else whole(text)


def _spoken(message: str, file: LogFile) -> tuple[_Speaker, str]:
    """Who speaks, and the sentence after all prefixes."""
    speaker = _NOBODY
    if message.startswith("["):
        end = message.find("]")
        space = _AFTER_PREFIX.match(message, end + 1)
        known = _speaker(message[1:end]) if space else None
        if space is not None and known is not None:
            speaker, message = known, message[space.end() :]
    if message.startswith("Controller ") and (old := _OLD_CONTROLLER.match(message)):
        speaker = _Speaker(Who.CONTROLLER, whole(old[1]), whole(old[2]))
        message = message[old.end() :]
    elif file is LogFile.STATE_CHANGE and (old := _OLD_BROKER.match(message)):
        speaker = _Speaker(Who.BROKER, whole(old[1]), None)
        message = message[old.end() :]
    elif file is LogFile.STATE_CHANGE and (old := _OLD_BROKER_IN_ERROR.match(message)):
        speaker = _Speaker(Who.BROKER, whole(old[1]), None)
    return speaker, message


# --- lines ------------------------------------------------------------------------------------

_HEAD: Final = re.compile(
    r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ",
    flags=re.ASCII,
)


def begins_like_a_line(text: str) -> bool:
    """Whether a new line of a log begins here, and not the rest of one; cheap."""
    return text.startswith("[") and text[24:26] == "] "


def file_of(logger: str) -> LogFile | None:
    """Which of the two files a logger writes to."""
    if logger == STATE_CHANGE_LOGGER:
        return LogFile.STATE_CHANGE
    return LogFile.CONTROLLER if logger.startswith(CONTROLLER_LOGGERS) else None


def parse_line(text: str) -> Parsed | Unparsed:
    """What a line says, or why it cannot be told. Never raises."""
    try:
        return _parse(text)
    except ValueError:  # a number that is none
        return Unparsed(UNKNOWN_SENTENCE)


def _parse(text: str) -> Parsed | Unparsed:
    head = _HEAD.match(text)
    logger_at = text.rfind(" (")
    if head is None or not text.endswith(")") or logger_at < head.end() - 1:
        return Unparsed(NOT_A_LOG_LINE)
    file = file_of(text[logger_at + 2 : -1])
    if file is None:
        return Unparsed(UNKNOWN_LOGGER)
    speaker, sentence = _spoken(text[head.end() : logger_at], file)
    found = _meaning(sentence, _SHAPES[file])
    if found is None:
        return Unparsed(UNKNOWN_SENTENCE)
    matcher, said = found
    return Parsed(
        at=head[1],
        level=head[2],
        file=file,
        who=matcher.who,
        node_id=speaker.node_id,
        epoch=speaker.epoch,
        shape=matcher.shape,
        said=said,
    )


def _meaning(sentence: str, heads: _Heads) -> tuple[_Matcher, Sequence[Said]] | None:
    for matcher in _candidates(sentence, heads):
        match = matcher.fullmatch(sentence)
        if match is not None:
            fields: Fields = {}
            for read, found in zip(matcher.readers, match.groups(), strict=True):
                if found is not None and not read(found, fields):
                    break
            else:
                shape = matcher.shape
                return matcher, shape.meaning(shape, fields)
    return None


def _candidates(sentence: str, heads: _Heads) -> tuple[_Matcher, ...]:
    one = sentence.find(" ")
    two = sentence.find(" ", one + 1)
    first_two = sentence if two < 0 else sentence[:two]
    return heads.get(first_two) or heads.get(sentence[:one]) or heads[None]
