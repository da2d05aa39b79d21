"""The page on dry runs: its example can be read, and it names all that there is to name."""

import re
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import fields

from regent.dryrun.run import DryRunAnswer
from regent.dryrun.snapshot import (
    Snapshot,
    SnapshotBroker,
    SnapshotEndpoint,
    SnapshotLeadership,
    SnapshotPartition,
    SnapshotTopic,
    decode_snapshot,
)

PAGE = (Path(__file__).parents[3] / "docs" / "what-if.md").read_text(encoding="utf-8")


def test_the_example_on_the_page_is_a_snapshot() -> None:
    """Whoever writes one by hand starts from it."""
    found = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None

    snapshot = decode_snapshot(found[1].encode(), "the example")

    assert [topic.name for topic in snapshot.topics] == ["orders"]


@pytest.mark.parametrize(
    "kind",
    [
        Snapshot,
        SnapshotBroker,
        SnapshotEndpoint,
        SnapshotTopic,
        SnapshotPartition,
        SnapshotLeadership,
        DryRunAnswer,
    ],
)
def test_the_page_names_every_field(kind: type[Struct]) -> None:
    """A new field must be told of where the others are."""
    said = re.findall(r"`(?:\w+(?:\[\])?\.)?(\w+)`", PAGE)

    assert [each.name for each in fields(kind) if each.name not in said] == []
