"""What a file and what ZooKeeper say, as a broker takes it."""

from pathlib import Path

import pytest

from regent.broker.broker_config import IsrMode
from regent.core.asks import Malformed
from regent.errors import BadInput
from regent.node.broker_settings import BrokerSettings, is_broker_property, read_broker_settings
from regent.node.topic_settings import TopicSettings
from regent.storage.log_config import UNLIMITED, LogConfig


def test_settings_have_kafkas_names_and_later_files_win(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text(
        "min.insync.replicas=2\nlog.retention.hours=-1\nlog.segment.bytes=5000\n"
        "group.max.size=7\nauto.create.topics.enable=false\nnum.partitions=3\n"
    )
    second.write_text("min.insync.replicas=1\nlog.retention.hours=2\n")
    settings = read_broker_settings(first, second)

    assert settings.replication.min_isr == 1
    assert settings.replication.fetch_limit == BrokerSettings().replication.fetch_limit
    assert (settings.logs.retention_ms, settings.logs.segment_bytes) == (7_200_000, 5_000)
    assert settings.groups.group_size_max == 7
    assert not settings.creates_topics
    assert is_broker_property("group.max.size")
    assert not is_broker_property("num.partitions")


@pytest.mark.parametrize(
    ("protocol", "mode"), [("2.6", IsrMode.DIRECT), ("2.7-IV2", IsrMode.BY_REQUEST)]
)
def test_the_protocol_says_who_writes_isrs(tmp_path: Path, protocol: str, mode: IsrMode) -> None:
    path = tmp_path / "server.properties"
    path.write_text(f"inter.broker.protocol.version={protocol}\n")

    assert read_broker_settings(path).replication.isr_mode is mode


def test_a_value_that_cannot_be_used_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("\nmin.insync.replicas=many\n")

    with pytest.raises(BadInput, match=r"line 2: min.insync.replicas=many"):
        read_broker_settings(path)


def test_topics_say_how_their_logs_are_kept() -> None:
    topics = TopicSettings(LogConfig(segment_bytes=1_000))
    topics.learn("t", {"retention.ms": "5", "min.insync.replicas": "2"})
    assert topics.log_config("t") == LogConfig(segment_bytes=1_000, retention_ms=5)
    assert topics.min_isr == {"t": 2}
    topics.learn("t", {})

    assert topics.log_config("t") == LogConfig(segment_bytes=1_000)
    assert topics.min_isr == {}


def test_what_is_to_be_compacted_is_not_deleted() -> None:
    topics = TopicSettings(LogConfig())
    topics.learn("t", {"cleanup.policy": "compact", "retention.ms": "5"})

    assert topics.log_config("t").retention_ms == UNLIMITED


@pytest.mark.parametrize(
    "configs", [{"segment.bytes": "many"}, {"segment.bytes": "-1"}, Malformed("/p", "no JSON")]
)
def test_what_makes_no_sense_leaves_the_defaults(configs: dict[str, str] | Malformed) -> None:
    topics = TopicSettings(LogConfig())
    topics.learn("t", configs)

    assert topics.log_config("t") == LogConfig()
    assert topics.knows("t")
