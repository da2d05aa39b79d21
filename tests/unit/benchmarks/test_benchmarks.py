"""Every benchmark runs, and says what it promises to say. How fast is not a test's business."""

from pathlib import Path

import msgspec
import pytest

from benchmarks import all as all_benchmarks
from benchmarks import core, simulation, what_if


def test_the_core_is_measured_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    core.main(["--json", "--partitions", "100,200", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "core"
    assert figures["flatness"] > 0
    assert [size["partitions"] for size in figures["sizes"]] == [100, 200]
    for size in figures["sizes"]:
        assert set(size) >= {
            "python_loop_s",
            "failover_s",
            "failover_ratio",
            "broker_death_s",
            "broker_death_ratio",
            "broker_death_us_per_partition",
            "election_step_s",
            "elections_per_s",
            "told_elections_per_s",
            "leadership_decisions_per_s",
            "alter_partitions_per_s",
            "answers_per_s",
            "new_topics_per_s",
            "events_per_s",
            "bytes_per_partition",
            "answerer_s",
        }


def test_the_dead_broker_led_a_tenth_and_followed_a_fifth() -> None:
    _, counts = core.repeat(1_000)

    assert counts == core.Counts(elections=100, isr_shrinks=200, replica_moves=300)


def test_the_simulator_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    simulation.main(["--json", "--partitions", "5", "--simulated-ms", "1000", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "simulation"
    assert set(figures) >= {
        "events",
        "events_per_s",
        "simulated_s_per_s",
        "watched_simulated_s_per_s",
        "python_loop_s",
        "ratio",
    }


def test_dry_runs_are_measured_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    """The dead broker led a tenth; a third of all partitions had a replica on it."""
    what_if.main(["--json", "--partitions", "500,1000", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "what_if"
    assert figures["flatness"] > 0
    sizes = [(s["partitions"], s["leaders_moved"], s["changes"]) for s in figures["sizes"]]
    assert sizes == [(500, 50, 150), (1_000, 100, 300)]
    for size in figures["sizes"]:
        assert set(size) >= {"python_loop_s", "read_s", "answer_s", "total_s", "ratio"}


def test_all_are_run_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "build" / "bench.json"

    all_benchmarks.main(["--quick", "--out", str(kept)])

    figures = msgspec.json.decode(kept.read_bytes())
    assert figures == msgspec.json.decode(capsys.readouterr().out)
    assert set(figures["benchmarks"]) == set(all_benchmarks.MODULES)
    for name, measured in figures["benchmarks"].items():
        assert measured["benchmark"] == name
    assert figures["cpus"]


def test_without_json_there_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    core.main(["--partitions", "100,200", "--repetitions", "1"])

    lines = capsys.readouterr().out.splitlines()
    assert ["partitions", "100", "200"] in [line.split() for line in lines]
