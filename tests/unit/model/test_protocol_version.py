"""Kafka's inter-broker protocol versions, and what the controller sends at each."""

import pytest

from regent.model.protocol_version import (
    ALTER_ISR_SINCE,
    FEATURES_SINCE,
    LATEST,
    RECOVERY_SINCE,
    TOPIC_IDS_SINCE,
    ProtocolVersion,
    RequestVersions,
    request_versions,
)

# Kafka 3.9, MetadataVersion.java in order, and the versions that ControllerChannelManager.scala
# takes at each: LeaderAndIsr, UpdateMetadata, StopReplica. Written out one by one on purpose.
# fmt: off
KAFKA_VERSIONS = {
    "0.8.0": (0, 0, 0), "0.8.1": (0, 0, 0), "0.8.2": (0, 0, 0),
    "0.9.0": (0, 1, 0),
    "0.10.0-IV0": (0, 1, 0), "0.10.0-IV1": (0, 2, 0),
    "0.10.1-IV0": (0, 2, 0), "0.10.1-IV1": (0, 2, 0), "0.10.1-IV2": (0, 2, 0),
    "0.10.2-IV0": (0, 3, 0),
    "0.11.0-IV0": (0, 3, 0), "0.11.0-IV1": (0, 3, 0), "0.11.0-IV2": (0, 3, 0),
    "1.0-IV0": (1, 4, 0), "1.1-IV0": (1, 4, 0),
    "2.0-IV0": (1, 4, 0), "2.0-IV1": (1, 4, 0),
    "2.1-IV0": (1, 4, 0), "2.1-IV1": (1, 4, 0), "2.1-IV2": (1, 4, 0),
    "2.2-IV0": (2, 5, 1), "2.2-IV1": (2, 5, 1),
    "2.3-IV0": (2, 5, 1), "2.3-IV1": (2, 5, 1),
    "2.4-IV0": (3, 5, 1), "2.4-IV1": (4, 6, 2), "2.5-IV0": (4, 6, 2),
    "2.6-IV0": (4, 6, 3),
    "2.7-IV0": (4, 6, 3), "2.7-IV1": (4, 6, 3), "2.7-IV2": (4, 6, 3),
    "2.8-IV0": (4, 6, 3), "2.8-IV1": (5, 7, 3),
    "3.0-IV0": (5, 7, 3), "3.0-IV1": (5, 7, 3), "3.1-IV0": (5, 7, 3),
    "3.2-IV0": (6, 7, 3),
    "3.3-IV0": (6, 7, 3), "3.3-IV1": (6, 7, 3), "3.3-IV2": (6, 7, 3), "3.3-IV3": (6, 7, 3),
    "3.4-IV0": (7, 8, 4),
    "3.5-IV0": (7, 8, 4), "3.5-IV1": (7, 8, 4), "3.5-IV2": (7, 8, 4),
    "3.6-IV0": (7, 8, 4), "3.6-IV1": (7, 8, 4), "3.6-IV2": (7, 8, 4),
    "3.7-IV0": (7, 8, 4), "3.8-IV0": (7, 8, 4), "3.9-IV0": (7, 8, 4),
}
# fmt: on


@pytest.mark.behaviour("chn-019")
@pytest.mark.parametrize(("text", "expected"), KAFKA_VERSIONS.items())
def test_each_protocol_version_speaks_kafkas_request_versions(
    text: str, expected: tuple[int, int, int]
) -> None:
    """A broker that does not know a version closes the connection."""
    assert request_versions(ProtocolVersion.from_text(text)) == RequestVersions(*expected)


def test_versions_are_in_the_order_of_kafkas_history() -> None:
    """Also where a line has ten or more: 0.10 is younger than 0.9."""
    history = [ProtocolVersion.from_text(text) for text in KAFKA_VERSIONS]

    assert history == sorted(history)
    assert len(set(map(str, history))) == len(history)


def test_a_version_without_its_internal_number_means_the_last_of_its_line() -> None:
    """Whoever sets 2.8 wants all that 2.8 can do."""
    assert ProtocolVersion.from_text("2.8") > ProtocolVersion.from_text("2.8-IV1")
    assert ProtocolVersion.from_text("2.8") < ProtocolVersion.from_text("3.0-IV0")
    assert ProtocolVersion.from_text("3.9") == LATEST


@pytest.mark.parametrize("text", ["", "3", "3.x", "v3.9", "3.9-IV", "3.9 ", "3.9\n", "3.9-IV0-x"])
def test_what_is_no_version_is_refused_with_an_example(text: str) -> None:
    """Whoever mistyped it sees what was meant."""
    with pytest.raises(ValueError, match="try one like"):
        ProtocolVersion.from_text(text)


def test_nobody_speaks_a_protocol_from_before_the_first() -> None:
    """There was no controller then."""
    with pytest.raises(ValueError, match="no broker speaks"):
        request_versions(ProtocolVersion.from_text("0.7.0"))


@pytest.mark.parametrize(
    ("since", "before", "after"),
    [
        (FEATURES_SINCE, "2.6", "2.7-IV0"),
        (ALTER_ISR_SINCE, "2.7-IV1", "2.7-IV2"),
        (TOPIC_IDS_SINCE, "2.7", "2.8-IV0"),
        (RECOVERY_SINCE, "3.1", "3.2-IV0"),
    ],
)
def test_each_feature_begins_where_kafka_began_it(
    since: ProtocolVersion, before: str, after: str
) -> None:
    """One version too early, and brokers are told what they do not understand."""
    assert ProtocolVersion.from_text(before) < since <= ProtocolVersion.from_text(after)
