"""`regent reassign` as a person types it, against scripted brokers."""

import json
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from regent.cli import move_progress
from regent.cli.bootstrap import EXIT_REFUSED, EXIT_UNDER_WAY
from regent.cli.main import EXIT_INTERRUPTED, EXIT_USAGE, main
from regent.client import waiting
from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    PartitionResult,
    ReassignmentTarget,
)
from regent.model.assignment import Assignment
from regent.model.config_requests import DescribeConfigs, DescribeConfigsAnswer
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from tests.support.builders import assignment, ids
from tests.support.scripted_broker import Fault, ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]
MOVE = assignment(2, 3, 1, adding=(2, 3), removing=(1,))
NOTHING = ListReassignmentsAnswer()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster) -> None:
    """Scripted brokers need no time to hear of anything, and have no throttles."""
    monkeypatch.setattr(waiting, "SETTLING_PAUSE_S", 0.001)
    cluster.answer(DescribeConfigsAnswer(), to=DescribeConfigs)


def typed(cluster: ScriptedCluster, *arguments: str) -> int:
    return main(["reassign", *arguments, "--bootstrap", cluster.bootstrap])


def plan(folder: Path, name: str, *moves: tuple[int, list[int]]) -> str:
    """A file that moves partitions of `t`."""
    entries = [{"topic": "t", "partition": number, "replicas": to} for number, to in moves]
    file = folder / name
    file.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(file)


def moving(**moves: Assignment) -> ListReassignmentsAnswer:
    """`p0=MOVE`: partition 0 of `t` is on its way."""
    return ListReassignmentsAnswer(
        moving=tuple((TopicPartition("t", int(name[1:])), move) for name, move in moves.items())
    )


def accepted(*numbers: int) -> AlterReassignmentsAnswer:
    return AlterReassignmentsAnswer(results=tuple(PartitionResult("t", n) for n in numbers))


def results(capsys: Captured) -> list[tuple[str, str]]:
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return [(each["name"], each["outcome"]) for each in told["results"]]


# --- start ------------------------------------------------------------------------------------


def test_moves_are_started(cluster: ScriptedCluster, tmp_path: Path, capsys: Captured) -> None:
    """And nobody waits unless told to."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)

    assert typed(cluster, "start", file) == 0

    asked = AlterReassignments((ReassignmentTarget("t", 0, ids(2, 3)),))
    assert cluster.heard_of(AlterReassignments) == [asked]
    assert capsys.readouterr().out == "t-0: started\n"


def test_refused_moves_are_named(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """The others go on, so it is done in part."""
    refused = PartitionResult("t", 1, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "Broker 9 is not here.")
    answer = AlterReassignmentsAnswer(results=(PartitionResult("t", 0), refused))
    cluster.answer(answer, to=AlterReassignments)
    file = plan(tmp_path, "plan.json", (0, [2, 3]), (1, [9]))

    assert typed(cluster, "start", file, "--wait") == EXIT_REFUSED

    assert cluster.heard_of(ListReassignments) == []
    assert capsys.readouterr().out == (
        "Moves (2)\n"
        "  name  outcome  why\n"
        "  t-1   refused  INVALID_REPLICA_ASSIGNMENT: Broker 9 is not here\n"
        "  t-0   started\n"
        "\n"
    )


def test_waiting_ends_when_all_has_arrived(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """The controller says what is under way, the brokers where it is."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(moving(p0=MOVE), moving(p0=MOVE), NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3))]

    assert typed(cluster, "start", file, "--wait", "--interval-s", "0.01") == 0

    captured = capsys.readouterr()
    assert captured.out == "t-0: arrived\n"
    assert captured.err == (
        "wave 1 of 1: 0 of 1 partitions have arrived, 2 of 2 replicas in sync\n"
        "wave 1 of 1: 1 of 1 partitions have arrived, 2 of 2 replicas in sync\n"
    )
    assert len(cluster.heard_of(ListReassignments)) == 3


def test_waves_wait_for_each_other(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """A folder of `regent plan` is its waves; plan.json and rollback.json are no waves."""
    plan(tmp_path, "wave-001.json", (0, [2, 3]))
    plan(tmp_path, "wave-002.json", (1, [3]))
    plan(tmp_path, "plan.json", (0, [9]))
    plan(tmp_path, "rollback.json", (0, [9]))
    cluster.answer(accepted(0), accepted(1), to=AlterReassignments)
    cluster.answer(moving(p0=MOVE), NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3), partition(1, 3))]

    assert typed(cluster, "start", str(tmp_path), "--wait", "--interval-s", "0.01", "--json") == 0

    assert results(capsys) == [("t-0", "arrived"), ("t-1", "arrived")]
    kinds = [
        type(request).__name__
        for _, request in cluster.heard
        if isinstance(request, AlterReassignments | ListReassignments)
    ]
    assert kinds == [
        "AlterReassignments",
        "ListReassignments",
        "ListReassignments",
        "AlterReassignments",
        "ListReassignments",
    ]


def test_a_wave_that_goes_astray_is_the_last_one(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """Somebody has cancelled it, and will have had reasons."""
    files = [plan(tmp_path, "1.json", (0, [2, 3])), plan(tmp_path, "2.json", (1, [3]))]
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 1), partition(1, 1))]

    assert typed(cluster, "start", *files, "--wait", "--json") == EXIT_REFUSED

    assert results(capsys) == [("t-0", "not as planned")]
    assert len(cluster.heard_of(AlterReassignments)) == 1


def test_a_broker_that_has_not_heard_yet_is_asked_again(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """The controller knows of the end of a move before brokers do."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3, 1))]

    def hear(_: object) -> None:
        if len(cluster.heard_of(ListReassignments)) == 2:
            cluster.topics = [topic("t", partition(0, 2, 3))]

    cluster.on_heard = hear

    assert typed(cluster, "start", file, "--wait") == 0


def test_a_broker_that_is_far_behind_is_waited_for(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """It shows a partition in the middle of a move that has ended; it cannot stay like that."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3, 1))]

    def hear(_: object) -> None:
        if len(cluster.heard_of(ListReassignments)) == waiting.SETTLING_LOOKS + 5:
            cluster.topics = [topic("t", partition(0, 2, 3))]

    cluster.on_heard = hear

    assert typed(cluster, "start", file, "--wait") == 0


def test_waiting_can_have_an_end(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """The moves go on."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(moving(p0=MOVE), to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3, 1, leader=1, isr=(1, 3)))]

    assert typed(cluster, "start", file, "--wait", "--wait-at-most-s", "0") == EXIT_UNDER_WAY
    assert capsys.readouterr().out == "t-0: in progress: 1 of 2 in sync\n"


def test_whoever_is_tired_of_waiting_hears_that_the_moves_go_on(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """Ctrl-C stops the waiting and nothing else."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(moving(p0=MOVE), to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 1))]

    def interrupt(_: object) -> None:
        if len(cluster.heard_of(ListReassignments)) == 2:
            signal.raise_signal(signal.SIGINT)

    cluster.on_heard = interrupt

    assert typed(cluster, "start", file, "--wait", "--interval-s", "0.01") == EXIT_INTERRUPTED
    assert "the moves go on; `regent reassign verify` says how far" in capsys.readouterr().err


def test_a_failover_while_waiting_is_waited_out(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """Moves take hours; controllers come and go."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(moving(p0=MOVE), NOTHING, to=ListReassignments)
    cluster.fail(Fault.NOT_CONTROLLER, Fault.CLOSE, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3))]

    assert typed(cluster, "start", file, "--wait", "--interval-s", "0.01", "--json") == 0
    assert results(capsys) == [("t-0", "arrived")]


def test_a_terminal_gets_a_bar(
    cluster: ScriptedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On stderr, beside the results."""
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(move_progress, "stderr", lambda: console)
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(accepted(0), to=AlterReassignments)
    cluster.answer(NOTHING, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, 2, 3))]

    assert typed(cluster, "start", file, "--wait") == 0

    assert "wave 1 of 1, 2 of 2 replicas in sync" in screen.getvalue()
    assert "1/1" in screen.getvalue()


# --- what is no plan ----------------------------------------------------------------------------


def test_several_waves_at_once_are_refused(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """They were parted for a reason."""
    files = [plan(tmp_path, "1.json", (0, [2])), plan(tmp_path, "2.json", (1, [3]))]

    assert typed(cluster, "start", *files) == EXIT_USAGE
    assert "add --wait, or start one file at a time" in capsys.readouterr().err
    assert cluster.heard == []


@pytest.mark.parametrize("command", ["start", "verify", "cancel"])
def test_a_bad_file_is_refused_with_its_line(
    cluster: ScriptedCluster, command: str, tmp_path: Path, capsys: Captured
) -> None:
    """Before anything is asked of the cluster."""
    file = tmp_path / "plan.json"
    file.write_text('{"version": 1,\n "partitions": [}')

    assert typed(cluster, command, str(file)) == EXIT_USAGE
    assert f"{file}, line 2: this is not JSON" in capsys.readouterr().err
    assert cluster.heard == []


@pytest.mark.behaviour("rsg-024")
@pytest.mark.parametrize(
    ("log_dirs", "why"),
    [
        (["/nowhere", "any"], "line 2: replicas cannot be put into directories, such as /nowhere"),
        (["/a", "/b", "any"], "line 2: t-0 has 2 replicas and 3 log_dirs"),
    ],
)
def test_a_plan_that_names_directories_is_refused(
    cluster: ScriptedCluster, tmp_path: Path, log_dirs: list[str], why: str, capsys: Captured
) -> None:
    """One that no broker has, or two for one replica: nothing of the plan is begun."""
    move = {"topic": "t", "partition": 0, "replicas": [2, 3], "log_dirs": log_dirs}
    file = tmp_path / "plan.json"
    file.write_text(f'{{"version": 1, "partitions": [\n{json.dumps(move)}]}}')

    assert typed(cluster, "start", str(file)) == EXIT_USAGE
    assert why in capsys.readouterr().err
    assert cluster.heard == []


def test_any_directory_will_do(cluster: ScriptedCluster, tmp_path: Path) -> None:
    """That is what Kafka's tool writes."""
    move = {"topic": "t", "partition": 0, "replicas": [2, 3], "log_dirs": ["any", "any"]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))
    cluster.answer(accepted(0), to=AlterReassignments)

    assert typed(cluster, "start", str(file)) == 0


def test_a_folder_without_waves_is_refused(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """With where such folders come from."""
    assert typed(cluster, "start", str(tmp_path)) == EXIT_USAGE
    assert "a folder without wave-001.json" in capsys.readouterr().err


# --- list, cancel, verify -------------------------------------------------------------------------


def test_moves_are_listed(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Who comes and who goes."""
    cluster.answer(moving(p0=MOVE), to=ListReassignments)

    assert typed(cluster, "list") == 0
    assert capsys.readouterr().out == (
        "Being moved (1)\n"
        "  partition  replicas  adding  removing\n"
        "  t-0        2,3,1     2,3     1\n"
        "\n"
    )

    assert typed(cluster, "list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"topic": "t", "partition": 0, "replicas": [2, 3, 1], "adding": [2, 3], "removing": [1]}
    ]


@pytest.mark.parametrize("arguments", [("list",), ("cancel", "--all")])
def test_a_cluster_at_rest_says_so(
    cluster: ScriptedCluster, arguments: tuple[str, ...], capsys: Captured
) -> None:
    """An empty table would leave room for doubt."""
    cluster.answer(NOTHING, to=ListReassignments)

    assert typed(cluster, *arguments) == 0
    assert capsys.readouterr().out == "nothing is being moved\n"
    assert cluster.heard_of(AlterReassignments) == []


def test_all_moves_are_cancelled(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Those that the controller names."""
    cluster.answer(moving(p0=MOVE, p2=MOVE), to=ListReassignments)
    cluster.answer(accepted(0, 2), to=AlterReassignments)

    assert typed(cluster, "cancel", "--all", "--json") == 0

    targets = (ReassignmentTarget("t", 0, None), ReassignmentTarget("t", 2, None))
    assert cluster.heard_of(AlterReassignments) == [AlterReassignments(targets)]
    assert results(capsys) == [("t-0", "cancelled"), ("t-2", "cancelled")]


def test_the_moves_of_a_file_are_cancelled(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """What has arrived already is not moving, and that is no failure."""
    file = plan(tmp_path, "plan.json", (0, [2]), (1, [3]))
    idle = PartitionResult("t", 1, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    answer = AlterReassignmentsAnswer(results=(PartitionResult("t", 0), idle))
    cluster.answer(answer, to=AlterReassignments)
    cluster.answer(NOTHING, to=ListReassignments)

    assert typed(cluster, "cancel", file, "--json") == 0
    assert results(capsys) == [("t-0", "cancelled"), ("t-1", "was not being moved")]


@pytest.mark.parametrize("arguments", [(), ("--all", "plan.json")])
def test_what_to_cancel_is_said_in_one_way(
    cluster: ScriptedCluster, arguments: tuple[str, ...], capsys: Captured
) -> None:
    """To undo everything because nothing was said would be a surprise."""
    assert typed(cluster, "cancel", *arguments) == EXIT_USAGE
    assert "the FILE that started them, or --all" in capsys.readouterr().err
    assert cluster.heard == []


VERIFIED = """\
Not done (2)
  partition                  planned
  t-1        not as planned  9        it is on 3
  t-0        in progress     2,3      1 of 2 in sync

1 done, 1 in progress, 1 not as planned
"""


def test_a_plan_is_verified(cluster: ScriptedCluster, tmp_path: Path, capsys: Captured) -> None:
    """What is not done is named, the worst first."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]), (1, [9]), (2, [1]))
    cluster.answer(moving(p0=MOVE), to=ListReassignments)
    cluster.topics = [
        topic("t", partition(0, 2, 3, 1, leader=1, isr=(1, 3)), partition(1, 3), partition(2, 1))
    ]

    assert typed(cluster, "verify", file) == EXIT_REFUSED
    assert capsys.readouterr().out == VERIFIED


@pytest.mark.parametrize(
    ("answer", "replicas", "code", "counts"),
    [
        (moving(p0=MOVE), (2, 3, 1), EXIT_UNDER_WAY, (0, 1, 0)),
        (NOTHING, (2, 3), 0, (1, 0, 0)),
        (NOTHING, (1,), EXIT_REFUSED, (0, 0, 1)),
    ],
)
def test_scripts_can_tell_how_far_a_plan_is(  # noqa: PLR0913, PLR0917 - pytest's own
    cluster: ScriptedCluster,
    answer: ListReassignmentsAnswer,
    replicas: tuple[int, ...],
    code: int,
    counts: tuple[int, int, int],
    tmp_path: Path,
    capsys: Captured,
) -> None:
    """By the exit code alone, or by figures."""
    file = plan(tmp_path, "plan.json", (0, [2, 3]))
    cluster.answer(answer, to=ListReassignments)
    cluster.topics = [topic("t", partition(0, *replicas))]

    assert typed(cluster, "verify", file, "--json") == code

    told = json.loads(capsys.readouterr().out)
    assert (told["done"], told["in_progress"], told["not_as_planned"]) == counts
    assert told["partitions"][0]["target"] == [2, 3]
