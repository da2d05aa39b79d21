"""On what loop a node runs."""

import asyncio
import sys
from pathlib import Path

import pytest
import uvloop
from confluent_kafka import Producer

from regent.runtime import event_loop
from regent.testing import Cluster
from regent.testing.patient import PATIENCE_S

UVLOOP = "/uvloop/"


async def note_loop(into: list[type[asyncio.AbstractEventLoop]]) -> None:
    into.append(type(asyncio.get_running_loop()))


def test_it_is_uvloop_where_that_is_installed() -> None:
    seen: list[type[asyncio.AbstractEventLoop]] = []

    event_loop.run(note_loop(seen))

    assert issubclass(seen[0], uvloop.Loop)


def test_without_it_asyncio_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regent.runtime.audited_loop", None)
    seen: list[type[asyncio.AbstractEventLoop]] = []

    event_loop.run(note_loop(seen))

    assert not issubclass(seen[0], uvloop.Loop)


def test_brokers_run_on_it(kafka_cluster: Cluster) -> None:
    assert UVLOOP in loaded_by(kafka_cluster)


def test_brokers_run_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other tests of whole brokers have it."""
    (tmp_path / "uvloop.py").write_text("raise ImportError('not here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Cluster(brokers=2) as cluster:
        assert UVLOOP not in loaded_by(cluster)
        cluster.create_topic("orders", replication_factor=2)
        follower = next(each for each in (1, 2) if each != cluster.leader("orders"))
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        producer.produce("orders", b"one")
        assert producer.flush(PATIENCE_S) == 0

        cluster.kill(cluster.leader("orders"))

        cluster.wait_until(lambda: cluster.leader("orders") == follower, "another leader")
        producer.produce("orders", b"two")
        assert producer.flush(PATIENCE_S) == 0


def loaded_by(cluster: Cluster) -> str:
    """The libraries of a broker."""
    maps = Path(f"/proc/{cluster.broker(1).pid}/maps")
    if not maps.exists():
        pytest.skip("what a process has loaded is told by /proc, on Linux")
    return maps.read_text()
