"""Reassignments from files: good ones with their lines, bad ones refused whole."""

from pathlib import Path

import pytest

from regent.dryrun.reassignment_file import PlannedMove, parse_reassignment, read_reassignment
from regent.errors import BadInput
from regent.model.admin_requests import ReassignmentTarget
from tests.support.builders import ids

GOOD = """\
{"version": 1,
 "partitions": [
   {"topic": "partitions", "partition": 0, "replicas": [1, 2]},
   {"topic": "t",
    "partition": 3,
    "replicas": [2, 1], "log_dirs": ["any", "any"]}
 ]}
"""


def test_each_move_knows_its_line() -> None:
    """A complaint about the twentieth entry must not send anybody counting."""
    assert parse_reassignment(GOOD, "it") == (
        PlannedMove(3, ReassignmentTarget("partitions", 0, ids(1, 2))),
        PlannedMove(4, ReassignmentTarget("t", 3, ids(2, 1)), ("any", "any")),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it, line 1: this is not JSON: Expecting value"),
        ('{"version": 1,\n "partitions": [,]}', "it, line 2: this is not JSON"),
        ("[]", "it is not a reassignment: Expected `object`"),
        ('{"version": 1}', "it is not a reassignment: Object missing required field"),
        ('{"partitions": {}}', "it is not a reassignment: Expected `array`"),
        ('{"partitions": [], "throttle": 1}', "unknown field `throttle`"),
        ('{"version": 2, "partitions": []}', "it has version 2"),
        ('{"version": 1, "partitions": []}', "it moves nothing"),
        (GOOD.replace('"topic": "t"', '"topic": ""'), "it, line 4: "),
        (GOOD.replace('"partition": 3', '"partition": -3'), "it, line 4: "),
        (GOOD.replace("[2, 1]", "[]"), "it, line 4: "),
        (GOOD.replace("[2, 1]", "[2, -1]"), "it, line 4: "),
        (GOOD.replace("[2, 1]", '"2,1"'), "it, line 4: "),
        (GOOD.replace('"replicas": [2', '"replica": [2'), "it, line 4: "),
        (
            GOOD.replace('"t",\n    "partition": 3', '"partitions",\n    "partition": 0'),
            "it, line 4: partitions-0 is already on line 3",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_line(text: str, complaint: str) -> None:
    """And whole: half of a plan is not what anybody wanted."""
    with pytest.raises(BadInput) as refused:
        parse_reassignment(text, "it")

    assert complaint in str(refused.value)


def test_a_file_is_read(tmp_path: Path) -> None:
    """As Kafka's tools leave it."""
    path = tmp_path / "plan.json"
    path.write_text(GOOD)

    plan = read_reassignment(path)

    assert (plan.path, len(plan.moves)) == (str(path), 2)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, or not text."""
    with pytest.raises(BadInput, match=r"cannot read the reassignment .*: No such file"):
        read_reassignment(tmp_path / "none.json")
    path = tmp_path / "plan.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not text in UTF-8"):
        read_reassignment(path)
