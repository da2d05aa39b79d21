"""Topic configs: what Kafka knows, and what it does not take."""

import pytest

from regent.core.topic_configs import TOPIC_CONFIGS, misconfigured


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "compact, delete"),
        ("cleanup.policy", ""),
        ("compression.gzip.level", "-1"),
        ("compression.type", "zstd"),
        ("compression.zstd.level", "-5"),
        ("leader.replication.throttled.replicas", "*"),
        ("follower.replication.throttled.replicas", "0:1,1:2"),
        ("leader.replication.throttled.replicas", ""),
        ("message.format.version", "2.8-IV1"),
        ("message.timestamp.type", "LogAppendTime"),
        ("min.cleanable.dirty.ratio", ".5"),
        ("min.cleanable.dirty.ratio", "1e-1"),
        ("min.insync.replicas", " 2 "),
        ("retention.bytes", "-1"),
        ("retention.ms", "9223372036854775807"),
        ("segment.bytes", "+1024"),
        ("unclean.leader.election.enable", "TRUE"),
    ],
)
def test_a_value_that_kafka_takes(name: str, value: str) -> None:
    """Spaces around it do not matter, as in Kafka."""
    assert misconfigured({name: value}) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cleanup.policy", "shred", "it is made of compact, delete"),
        ("compression.gzip.level", "0", "it is a number from 1 to 9, or -1"),
        ("leader.replication.throttled.replicas", "1", "it is * or a list of partition:broker"),
        ("message.timestamp.type", "Never", "it is one of CreateTime, LogAppendTime"),
        ("min.cleanable.dirty.ratio", "1.5", "it is a number from 0 to 1"),
        ("min.cleanable.dirty.ratio", "nan", "it is a number from 0 to 1"),
        ("min.insync.replicas", "0", "it is a number from 1 to 2147483647"),
        ("min.insync.replicas", "1_0", "it is a number from 1 to 2147483647"),
        ("segment.bytes", "2147483648", "it is a number from 14 to 2147483647"),
        ("preallocate", "yes", "it is true or false"),
        (
            "message.format.version",
            "new",
            "'new' is not a protocol version; try one like 2.8 or 2.7-IV2",
        ),
    ],
)
def test_a_value_that_kafka_refuses(name: str, value: str, message: str) -> None:
    """The message says what it could have been."""
    assert misconfigured({name: value}) == f"{name} cannot be {value!r}: {message}"


def test_a_number_too_long_to_be_read_is_no_number() -> None:
    """Text comes from callers; it must not be able to raise."""
    wrong = misconfigured({"retention.ms": "9" * 5_000})

    assert wrong is not None
    assert wrong.endswith("it is a number from -1 to 9223372036854775807")


def test_an_unknown_config_is_refused() -> None:
    """A typo would otherwise be stored and never noticed."""
    assert misconfigured({"retention.sm": "1"}) == "there is no topic config 'retention.sm'"


def test_compaction_cannot_be_due_before_it_may_begin() -> None:
    """Two values, each of which is fine."""
    configs = {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"}

    assert misconfigured(configs) == (
        "min.compaction.lag.ms 10 is more than max.compaction.lag.ms 9"
    )
    assert misconfigured({**configs, "max.compaction.lag.ms": "10"}) is None


def test_nothing_configured_is_fine() -> None:
    """Most topics have no config of their own."""
    assert misconfigured({}) is None
    assert list(TOPIC_CONFIGS) == sorted(TOPIC_CONFIGS)
