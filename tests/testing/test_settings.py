"""What a person says about a cluster becomes a file that its nodes read."""

import pytest

from regent.errors import BadInput
from regent.testing.settings import to_properties


def test_settings_are_written_under_their_names() -> None:
    text = to_properties({"num.partitions": 5, "a.flag": True}, broker_count=2, for_tests=False)

    assert text.splitlines() == [
        "offsets.topic.replication.factor=2",
        "controlled.shutdown.retry.backoff.ms=500",
        "num.partitions=5",
        "a.flag=true",
    ]


def test_what_is_given_comes_before_what_suits_tests() -> None:
    given = {"zookeeper.session.timeout.ms": 9_000}

    lines = to_properties(given, broker_count=5, for_tests=True).splitlines()

    assert "zookeeper.session.timeout.ms=9000" in lines
    assert "zookeeper.session.timeout.ms=3000" not in lines
    assert "offsets.topic.replication.factor=3" in lines


@pytest.mark.parametrize("name", ["", "with space", "a=b", "two\nlines"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="no name of a setting"):
        to_properties({name: 1}, broker_count=1, for_tests=False)


def test_a_value_of_two_lines_is_refused() -> None:
    """It would be a setting more."""
    with pytest.raises(BadInput, match="the value of a must be one line"):
        to_properties({"a": "1\nb=2"}, broker_count=1, for_tests=False)
