"""The grammar of Kafka's logs, against one line of every form of every release (Q1)."""

import string
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from regent.journal.record import KINDS
from regent.pipeline import schemas
from regent.pipeline.sources.log_grammar import (
    GRAMMAR,
    NOT_A_LOG_LINE,
    UNKNOWN_LOGGER,
    UNKNOWN_SENTENCE,
    Parsed,
    Unparsed,
    parse_line,
)
from regent.pipeline.sources.log_shapes import LOG_KINDS

pytestmark = pytest.mark.requirement("Q1")

RELEASES: Final = ("0.8.1", "0.10.2", "1.1", "2.4", "2.8", "3.9")


class KnownLine(Struct):
    """A line as Kafka prints it, and what it says; read from `data/log_lines.jsonl`."""

    kafka: str
    line: str
    shape: str
    who: str
    node: int | None
    epoch: int | None
    said: list[tuple[str, dict[str, Any]]]


LINES: Final = [
    msgspec.json.decode(line, type=KnownLine)
    for line in (Path(__file__).parent / "data" / "log_lines.jsonl").read_bytes().splitlines()
]
SHAPES: Final = {shape.name: shape for table in GRAMMAR for shape in table.shapes}


def parsed(line: str) -> Parsed:
    result = parse_line(line)
    assert isinstance(result, Parsed), f"{result}: {line}"
    return result


def columns(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what only splits a line; lists as JSON has them."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
        if not name.startswith("_")
    }


@pytest.mark.parametrize("known", LINES, ids=lambda known: f"{known.kafka} {known.shape}")
def test_a_line_says_what_it_says(known: KnownLine) -> None:
    result = parsed(known.line)

    assert (result.shape.name, result.who, result.node_id, result.epoch) == (
        known.shape,
        known.who,
        known.node,
        known.epoch,
    )
    assert [(kind, columns(fields)) for kind, fields in result.said] == known.said


def test_every_shape_has_a_line() -> None:
    assert set(SHAPES) == {known.shape for known in LINES}


def test_shapes_have_names_of_their_own() -> None:
    assert len(SHAPES) == sum(len(table.shapes) for table in GRAMMAR)


def test_every_release_is_among_the_lines() -> None:
    assert set(RELEASES) <= {known.kafka for known in LINES}


def test_the_lines_are_of_releases_that_print_their_shape() -> None:
    def number(release: str) -> tuple[int, ...]:
        return tuple(map(int, release.split(".")))

    wrong = [
        (known.kafka, known.shape)
        for known in LINES
        if not number(SHAPES[known.shape].since)
        <= number(known.kafka)
        <= number(SHAPES[known.shape].until)
    ]

    assert wrong == []


def test_every_kind_is_of_the_journal_or_explained() -> None:
    kinds = {kind for shape in SHAPES.values() for kind in shape.kinds}

    assert kinds - set(KINDS) == set(LOG_KINDS)


def test_every_field_is_a_column() -> None:
    named = {name for known in LINES for _, fields in known.said for name in fields}

    assert named <= set(schemas.TRANSITIONS.fieldNames())


# --- traps ------------------------------------------------------------------------------------


def sentence(text: str, logger: str = "state.change.logger") -> str:
    return f"[2024-05-01 12:00:00,123] TRACE {text} ({logger})"


@pytest.mark.parametrize(
    ("written", "topic", "partition"),
    [
        ("orders-0", "orders", 0),
        ("a-b.c_d-12", "a-b.c_d", 12),
        ("a-1-2", "a-1", 2),
        ("--0", "-", 0),
        ("[orders,0]", "orders", 0),
        ("[a-1,2]", "a-1", 2),
    ],
)
def test_a_topic_may_look_like_a_partition(written: str, topic: str, partition: int) -> None:
    moved = f"[Controller id=1 epoch=2] Changed partition {written} state from OnlinePartition"
    ((_, fields),) = parsed(sentence(f"{moved} to OfflinePartition")).said

    assert (fields["topic"], fields["partition"]) == (topic, partition)


def test_a_message_may_have_parentheses_of_its_own() -> None:
    line = sentence(
        "[Topic Deletion Manager 1] Deletion of topic a (re)started",
        "kafka.controller.TopicDeletionManager$DeleteTopicsThread",
    )

    assert parsed(line).shape.name == "deletion_started"


def test_a_recovering_leader_that_is_not_alone_was_elected_cleanly() -> None:
    """The mark of an unclean election outlives it; its ISR of one does not."""
    state = "LeaderAndIsr(leader=1, leaderEpoch=4, isr=List(1, 2), leaderRecoveryState=RECOVERING"
    line = sentence(
        "[Controller id=1 epoch=2] Changed partition t-0 from OnlinePartition to OnlinePartition"
        f" with state {state}, partitionEpoch=3)"
    )
    ((_, fields),) = parsed(line).said

    assert (fields["recovering"], fields["unclean"]) == (True, False)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", NOT_A_LOG_LINE),
        ("garbage", NOT_A_LOG_LINE),
        ("[2024-05-01 12:00:00,123] TRACE", NOT_A_LOG_LINE),
        ("[2024-05-01 12:00:00.123] TRACE x (state.change.logger)", NOT_A_LOG_LINE),
        ("[2024-05-01 12:00:00,123] LOUD x (state.change.logger)", NOT_A_LOG_LINE),
        ("[2024-05-01 12:00:00,123] TRACE cut short", NOT_A_LOG_LINE),
        (sentence("x", "kafka.server.ReplicaManager"), UNKNOWN_LOGGER),
        (sentence("something else"), UNKNOWN_SENTENCE),
        (sentence("[Controller id=1 epoch=2] Resigned"), UNKNOWN_SENTENCE),
        (sentence("[Broker id=1] Leader t-0 starts at leader epoch x"), UNKNOWN_SENTENCE),
        (
            sentence("[Controller id=99999999999] Shutting down broker 1", "kafka.controller.K"),
            UNKNOWN_SENTENCE,
        ),
        (
            sentence("[Controller id=1] Shutting down broker 99999999999", "kafka.controller.K"),
            UNKNOWN_SENTENCE,
        ),
        (
            sentence("Controller 1 epoch 2 elected leader 1 for Offline partition [t,3000000000]"),
            UNKNOWN_SENTENCE,
        ),
        (
            sentence(
                "[Controller id=1 epoch=2] Changed partition t-0 from NewPartition to"
                " OnlinePartition with state LeaderAndIsr(leader=one)"
            ),
            UNKNOWN_SENTENCE,
        ),
    ],
)
def test_what_is_not_known_says_why(line: str, reason: str) -> None:
    assert parse_line(line) == Unparsed(reason)


# --- anything at all --------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text())
def test_garbage_never_raises(text: str) -> None:
    assert isinstance(parse_line(text), Unparsed)


@settings(deadline=None)
@given(st.sampled_from(LINES), st.data())
def test_a_damaged_line_never_raises(known: KnownLine, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(known.line)))
    cut = data.draw(st.integers(0, 20))
    put = data.draw(st.text(alphabet=string.printable, max_size=12))

    parse_line(known.line[:at] + put + known.line[at + cut :])


TOPICS: Final = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20)
BROKERS: Final = st.lists(st.integers(0, 2**31 - 1), max_size=5)


@settings(deadline=None)
@given(TOPICS, st.integers(0, 10**6), BROKERS, st.integers(-2, 2**31 - 1))
def test_what_was_printed_is_read_back(
    topic: str, partition: int, isr: list[int], leader: int
) -> None:
    written = ",".join(map(str, isr))
    line = sentence(
        f"[Controller id=1 epoch=2] Partition {topic}-{partition} state changed to"
        f" (Leader:{leader},ISR:{written},LeaderEpoch:7,ZkVersion:9,ControllerEpoch:2) after"
        " removing replica 3 from the ISR as part of transition to OfflineReplica"
    )
    ((kind, fields),) = parsed(line).said

    assert kind == "isr_shrunk"
    assert (fields["topic"], fields["partition"]) == (topic, partition)
    assert (list(fields["isr"]), fields["leader"]) == (isr, leader)
