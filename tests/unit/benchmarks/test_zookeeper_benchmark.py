"""The benchmark of ZooKeeper runs, and says what it promises to say."""

import msgspec
import pytest

from benchmarks import zookeeper


def test_zookeeper_is_measured_against_plain_kazoo(capsys: pytest.CaptureFixture[str]) -> None:
    zookeeper.main(["--json", "--quick"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "zookeeper"
    (size,) = figures["sizes"]
    assert (size["partitions"], size["writes"]) == (2000, 1000)
    assert set(size) >= {"create_s", "cold_read_s", "watched_topics_s", "cas_per_s"}
    assert set(size) >= {"kazoo_get_per_s", "kazoo_set_per_s", "read_ratio", "write_ratio"}
