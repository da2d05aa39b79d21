"""The benchmarks on real ZooKeeper run, and say what they promise to say."""

import msgspec
import pytest

from benchmarks import failover, live_events
from benchmarks.live_cluster import BROKERS, REPLICAS, replicas_of


def test_one_failover_is_told_with_its_breakdown(capsys: pytest.CaptureFixture[str]) -> None:
    """One size stands by itself, several in a list."""
    failover.main(["--json", "--partitions", "600", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["partitions"] == 600
    assert 0 < figures["total_s"] <= figures["answered_s"]
    parts = figures["breakdown"]
    assert set(parts) >= {"read_states_s", "write_states_s", "encode_s", "decide_s", "journal_s"}
    assert sum(parts.values()) == pytest.approx(figures["total_s"], abs=0.01)


def test_events_in_office_are_measured(capsys: pytest.CaptureFixture[str]) -> None:
    live_events.main(["--json", "--partitions", "600", "--topics", "2"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert (figures["leaders_of_a_broker"], figures["partitions_created"]) == (50, 100)
    assert set(figures) >= {
        "broker_death_s",
        "controlled_shutdown_s",
        "creation_s",
        "bytes_per_partition",
        "journal_share",
    }


def test_leaders_and_replicas_are_spread_evenly() -> None:
    """Otherwise a twelfth of the leaders would not be a twelfth."""
    everywhere = [replicas_of(number) for number in range(BROKERS * (BROKERS - 1) * 10)]

    assert all(len(set(each)) == REPLICAS for each in everywhere)
    led = [sum(each[0] == broker for each in everywhere) for broker in range(1, BROKERS + 1)]
    held = [sum(broker in each for each in everywhere) for broker in range(1, BROKERS + 1)]
    assert (len(set(led)), len(set(held))) == (1, 1)
