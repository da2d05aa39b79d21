"""`regent elect` as a person types it, against scripted brokers."""

import json
from pathlib import Path

import pytest

from regent.cli.bootstrap import EXIT_REFUSED
from regent.cli.main import EXIT_USAGE, main
from regent.model.admin_requests import (
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    PartitionResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.apis import ApiKey
from tests.support.scripted_broker import ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def typed(cluster: ScriptedCluster, *arguments: str) -> int:
    return main(["elect", *arguments, "--bootstrap", cluster.bootstrap])


def test_each_partition_has_its_result(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Elected, not needed, or refused and why."""
    results = (
        PartitionResult("t", 0),
        PartitionResult("t", 1, ErrorCode.ELECTION_NOT_NEEDED, "Leader is fine."),
        PartitionResult("t", 2, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    )
    cluster.answer(ElectLeadersAnswer(results=results), to=ElectLeaders)

    assert typed(cluster, "preferred", "--all") == EXIT_REFUSED

    assert cluster.heard_of(ElectLeaders) == [ElectLeaders(ElectionType.PREFERRED)]
    assert capsys.readouterr().out == (
        "Elections (3)\n"
        "  name  outcome     why\n"
        "  t-2   refused     PREFERRED_LEADER_NOT_AVAILABLE: its first replica is dead or not in"
        " sync; `regent topics describe` shows which\n"
        "  t-0   elected\n"
        "  t-1   not needed\n"
        "\n"
    )


def test_what_is_not_needed_is_no_failure(cluster: ScriptedCluster, capsys: Captured) -> None:
    """The cluster is as it was wanted."""
    result = PartitionResult("t", 0, ErrorCode.ELECTION_NOT_NEEDED)
    cluster.answer(ElectLeadersAnswer(results=(result,)), to=ElectLeaders)

    assert typed(cluster, "unclean", "--topic", "t", "--partition", "0", "--json") == 0

    assert cluster.heard_of(ElectLeaders) == [ElectLeaders(ElectionType.UNCLEAN, (T0,))]
    (told,) = json.loads(capsys.readouterr().out)["results"]
    assert (told["name"], told["outcome"], told["is_good"]) == ("t-0", "not needed", True)


def test_a_cluster_in_which_all_is_well_is_told_so(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """An answer for all names only those that needed one."""
    cluster.answer(ElectLeadersAnswer(), to=ElectLeaders)

    assert typed(cluster, "preferred", "--all") == 0
    assert capsys.readouterr().out == "no partition needs an election\n"


def test_a_topic_stands_for_its_partitions(cluster: ScriptedCluster) -> None:
    """The cluster is asked which these are."""
    cluster.topics = [topic("t", partition(1, 1), partition(0, 1))]
    cluster.answer(ElectLeadersAnswer(), to=ElectLeaders)

    assert typed(cluster, "preferred", "--topic", "t") == 0

    assert cluster.heard_of(ElectLeaders) == [ElectLeaders(ElectionType.PREFERRED, (T0, T1))]


def test_a_topic_that_is_not_there_is_refused_by_the_cluster(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """Not passed over in silence."""
    result = PartitionResult("t", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    cluster.answer(ElectLeadersAnswer(results=(result,)), to=ElectLeaders)

    assert typed(cluster, "preferred", "--topic", "t") == EXIT_REFUSED
    assert "t-0: refused: UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().out


def test_partitions_come_from_a_file(cluster: ScriptedCluster, tmp_path: Path) -> None:
    """The one that kafka-leader-election takes."""
    file = tmp_path / "partitions.json"
    file.write_text('{"partitions": [{"topic": "t", "partition": 1}, {"topic":"t","partition":0}]}')
    cluster.answer(ElectLeadersAnswer(), to=ElectLeaders)

    assert typed(cluster, "preferred", "--file", str(file)) == 0

    assert cluster.heard_of(ElectLeaders) == [ElectLeaders(ElectionType.PREFERRED, (T1, T0))]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"partitions": []}',
        b'{"partitions": [{"topic": "", "partition": 0}]}',
        b'{"partitions": [{"topic": "t", "partition": -1}]}',
        b'{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}',
    ],
)
def test_a_bad_file_is_refused_with_an_example(
    cluster: ScriptedCluster, content: bytes, tmp_path: Path, capsys: Captured
) -> None:
    """And nothing is asked of the cluster."""
    file = tmp_path / "partitions.json"
    file.write_bytes(content)

    assert typed(cluster, "preferred", "--file", str(file)) == EXIT_USAGE

    complaint = capsys.readouterr().err
    assert complaint.startswith(f"regent: {file} lists no partitions: ")
    assert 'it must be like {"partitions": [' in complaint
    assert cluster.heard == []


@pytest.mark.behaviour("prf-019")
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--all", "--topic", "t"),
        ("--partition", "0"),
        ("--all", "--partition", "0"),
        ("--file", "x.json", "--topic", "t"),
    ],
)
def test_partitions_are_chosen_in_one_way(
    cluster: ScriptedCluster, options: tuple[str, ...], capsys: Captured
) -> None:
    """To elect for all because nothing was said would be a surprise."""
    assert typed(cluster, "unclean", *options) == EXIT_USAGE
    complaint = capsys.readouterr().err
    for way in ("--topic T", "--topic T --partition P", "--file FILE", "--all"):
        assert way in complaint
    assert cluster.heard == []


@pytest.mark.behaviour("prf-019")
def test_an_election_of_no_kind_is_refused(cluster: ScriptedCluster, capsys: Captured) -> None:
    """The kind is a command of its own; without it there is nothing that could be done."""
    bootstrap = ("--bootstrap", cluster.bootstrap)

    assert main(["elect", "--all", *bootstrap]) == EXIT_USAGE
    assert "No such option: --all" in capsys.readouterr().err
    assert main(["elect"]) == EXIT_USAGE
    shown = capsys.readouterr().err
    assert shown.startswith("Usage: regent elect")
    assert "preferred" in shown
    assert "unclean" in shown
    assert cluster.heard == []


def test_a_file_that_is_not_there_is_named(cluster: ScriptedCluster, capsys: Captured) -> None:
    """With what it should hold."""
    assert typed(cluster, "preferred", "--file", "no/such.json") == EXIT_USAGE
    assert "cannot read no/such.json: No such file" in capsys.readouterr().err


def test_an_election_that_is_refused_as_a_whole(cluster: ScriptedCluster, capsys: Captured) -> None:
    """One sentence."""
    cluster.answer(ElectLeadersAnswer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), to=ElectLeaders)

    assert typed(cluster, "preferred", "--all") == EXIT_REFUSED
    assert capsys.readouterr().err == (
        "regent: the controller refuses ElectLeaders: CLUSTER_AUTHORIZATION_FAILED: its ACLs do"
        " not let this client do that\n"
    )


def test_old_brokers_know_no_unclean_elections(cluster: ScriptedCluster, capsys: Captured) -> None:
    """They would take it for a preferred one."""
    cluster.serve(ApiKey.ELECT_LEADERS, last_version=0)

    assert typed(cluster, "unclean", "--all") == EXIT_REFUSED
    assert "and this needs one of 1 to 2" in capsys.readouterr().err
    assert cluster.heard_of(ElectLeaders) == []
