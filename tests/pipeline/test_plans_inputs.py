"""From tables to the solver's arrays, and `regent plan` as a person types it (Q7)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pyspark.sql import SparkSession
from typer import Typer
from typer.testing import CliRunner

from regent.cli import blast_radius, plan
from regent.dryrun.reassignment_file import read_reassignment
from regent.dryrun.snapshot import Snapshot, write_snapshot
from regent.errors import BadInput
from regent.pipeline import schemas
from regent.pipeline.plans.inputs import collect_problem, plan_inputs
from regent.pipeline.plans.problem import Weighing
from regent.pipeline.sources.loads import per_partition
from tests.unit.dryrun.builders import cluster, partition, topic

pytestmark = pytest.mark.requirement("Q7")


def test_layout_and_loads_become_arrays(spark: SparkSession) -> None:
    """Rows of different length, a partition nobody measured, a broker that is dead."""
    layout = spark.createDataFrame(
        [
            ("c", "u", 0, [7], 7, [7], 1),
            ("c", "t", 1, [5, 9], 5, [5], 1),
            ("c", "t", 0, [9, 7, 5], 9, [9, 5], 2),
        ],
        schemas.LAYOUT,
    )
    brokers = spark.createDataFrame(
        [("c", 9, "a", True), ("c", 5, "b", False), ("c", 7, None, True)], schemas.BROKERS_TABLE
    )
    loads = spark.createDataFrame(
        [("t", 0, 1, 10.0, 5.0, None, 100), ("t", 0, 2, 30.0, None, None, 200),
         ("t", 1, 1, 40.0, None, None, 300)],
        schemas.LOADS,
    )  # fmt: skip

    inputs = plan_inputs(layout, per_partition(loads))
    problem = collect_problem(inputs, brokers, by=Weighing.RATE, capacities={9: 1000})

    assert schemas.table(*((f.name, f.dataType) for f in inputs.schema)) == schemas.PLAN_INPUTS
    assert [problem.name(index) for index in range(3)] == ["t-0", "t-1", "u-0"]
    assert [broker.broker_id for broker in problem.brokers] == [5, 7, 9]
    assert problem.replicas.tolist() == [[2, 1, 0], [0, 2, -1], [1, -1, -1]]
    assert problem.columns.in_sync.tolist() == [
        [True, False, True],
        [True, False, False],
        [True, False, False],
    ]
    assert problem.weight.tolist() == [20.0, 40.0, 30.0]
    assert problem.leader_weight.tolist() == [25.0, 40.0, 30.0]
    assert problem.size is not None
    assert problem.size.tolist() == [200.0, 300.0, 250.0]
    assert problem.is_live.tolist() == [False, True, True]
    assert problem.capacity.tolist() == [np.inf, np.inf, 1000.0]
    with pytest.raises(BadInput, match="nothing to plan"):
        collect_problem(plan_inputs(layout.limit(0)), brokers)


# --- as typed ---------------------------------------------------------------------------------


@pytest.fixture
def typed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Commands share the tests' session, which must outlive them."""

    @contextmanager
    def shared(_input_bytes: int, _master: str) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr("regent.pipeline.session.session_for", shared)
    return CliRunner()


def eight() -> Snapshot:
    """Two topics on brokers 1 to 3; broker 4 has nothing yet."""
    return cluster(
        topic("t", *(partition(i, 1, 2) for i in range(4)), min_insync_replicas="2"),
        topic("u", *(partition(i, 3, 2) for i in range(4))),
        brokers=(1, 2, 3, 4),
    )


def test_a_plan_is_printed_and_written(typed: CliRunner, tmp_path: Path) -> None:
    path, out = tmp_path / "cluster.json", tmp_path / "out"
    write_snapshot(eight(), path)

    done = typed.invoke(
        plan.app, ["rebalance", "--snapshot", str(path), "--out", str(out), "--wave-moves", "2"]
    )

    assert done.exit_code == 0, done.output
    assert "all brokers end in the band, 4 to 4" in done.output
    assert "the dry run of all waves broke nothing" in done.output
    assert sorted(each.name for each in out.iterdir()) == [
        "plan.json",
        "rollback.json",
        "wave-001.json",
        "wave-002.json",
    ]
    moves = read_reassignment(out / "plan.json").moves
    assert len(moves) == 4
    # Rack `even` has brokers 2 and 4: only from 2 to 4 keeps both racks.
    assert {move.target.replicas for move in moves} <= {(1, 4), (3, 4)}


def test_a_plan_that_falls_short_says_why_and_leaves_with_1(
    typed: CliRunner, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.json"
    snapshot = cluster(topic("t", partition(0, 1, 2, 3)))
    write_snapshot(snapshot, path)

    done = typed.invoke(plan.app, ["drain", "2", "--snapshot", str(path), "--json"])

    assert done.exit_code == plan.EXIT_SHORT
    made = msgspec.json.decode(done.output)
    assert made["summary"]["reaches_goal"] is False
    assert "t-0 has 3 replicas and 2 brokers may hold them" in made["summary"]["why_not"][0]


def test_what_moves_already_is_not_planned_for(typed: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    moving = msgspec.structs.replace(partition(0, 3, 1), adding=(3,), removing=(1,))
    write_snapshot(cluster(topic("t", moving)), path)

    with pytest.raises(BadInput, match="being moved already"):
        typed.invoke(plan.app, ["rebalance", "--snapshot", str(path)], catch_exceptions=False)


@pytest.mark.requirement("Q6")
def test_losses_are_printed_the_worst_first(typed: CliRunner, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write_snapshot(eight(), path)
    app = Typer()
    app.command()(blast_radius.blast_radius)

    whole = typed.invoke(app, ["--snapshot", str(path)])
    topics = typed.invoke(app, ["--snapshot", str(path), "--without", "1,2", "--json"])

    assert whole.exit_code == topics.exit_code == 0
    assert "  2 and 3  4        4\n  1 and 2  4        0\n" in whole.output
    assert msgspec.json.decode(topics.output) == [
        {"topic": "t", "partitions": 4, "offline": 4, "under_min_isr": 0}
    ]
    with pytest.raises(BadInput, match="not alive"):
        blast_radius.blast_radius(path, ["9"])
