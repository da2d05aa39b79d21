"""The commands against a node of our own: its listener, its core, and brokers that obey."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from regent.cli.bootstrap import EXIT_REFUSED, EXIT_UNDER_WAY
from regent.cli.main import main
from tests.runtime.listener.served_node import ServedCluster, served_cluster

Captured = pytest.CaptureFixture[str]
#: Types a command; gives its exit code and its JSON.
Type: TypeAlias = Callable[..., tuple[int, Any]]


@pytest.fixture
def served() -> Iterator[ServedCluster]:
    """A controller and three brokers, without topics."""
    with served_cluster() as cluster:
        cluster.serve()
        cluster.start_brokers(1, 2, 3)
        yield cluster


@pytest.fixture
def typed(served: ServedCluster, capsys: Captured) -> Type:
    """Commands begin with a node that is not the controller, and find the one that is."""
    bootstrap = served.nodes[-1].address

    def type_command(*arguments: str) -> tuple[int, Any]:
        code = main([*arguments, "--json", "--bootstrap", bootstrap])
        return code, json.loads(capsys.readouterr().out)

    return type_command


def plan(folder: Path, *replicas: int) -> str:
    """A file that moves the first partition of `orders`."""
    move = {"topic": "orders", "partition": 0, "replicas": list(replicas)}
    file = folder / f"to-{'-'.join(map(str, replicas))}.json"
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))
    return str(file)


def outcomes(told: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["name"], each["outcome"]) for each in told["results"]]


def replicas_of(typed: Type, topic: str) -> list[list[int]]:
    return [each["replicas"] for each in typed("topics", "describe", topic)[1]]


def test_a_topic_lives_and_dies(typed: Type) -> None:
    """Created, refused a second time, described, grown, deleted."""
    create = ("topics", "create", "orders", "--partitions", "2", "--replication-factor", "2")

    assert typed(*create)[0] == 0
    assert typed(*create)[0] == EXIT_REFUSED
    assert typed(*create, "--if-not-exists")[0] == 0
    assert replicas_of(typed, "orders") == [[1, 2], [2, 3]]

    assert typed("topics", "add-partitions", "orders", "--to", "3")[0] == 0
    assert typed("topics", "list")[1] == [
        {"name": "orders", "partitions": 3, "replication_factor": 2, "is_internal": False}
    ]

    assert typed("topics", "delete", "orders")[0] == 0
    assert typed("topics", "list") == (0, [])


def test_a_partition_moves(served: ServedCluster, typed: Type, tmp_path: Path) -> None:
    """Started, seen under way, cancelled, started again and waited for, verified."""
    typed("topics", "create", "orders", "--replica-assignment", "1:2")
    file = plan(tmp_path, 3, 1)
    desk = served.nodes[0].desk
    desk.is_lagging = True

    assert typed("reassign", "start", file)[0] == 0
    assert typed("reassign", "verify", file)[0] == EXIT_UNDER_WAY
    (moving,) = typed("reassign", "list")[1]
    assert (moving["adding"], moving["removing"]) == ([3], [2])

    code, told = typed("reassign", "cancel", "--all")
    assert (code, outcomes(told)) == (0, [("orders-0", "cancelled")])
    assert typed("reassign", "verify", file)[0] == EXIT_REFUSED

    desk.is_lagging = False
    code, told = typed("reassign", "start", file, "--wait")
    assert (code, outcomes(told)) == (0, [("orders-0", "arrived")])
    assert typed("reassign", "verify", file)[0] == 0


def test_a_move_to_nowhere_is_refused(typed: Type, tmp_path: Path) -> None:
    """In the controller's words."""
    typed("topics", "create", "orders", "--replica-assignment", "1:2")

    code, told = typed("reassign", "start", plan(tmp_path, 9))

    assert (code, outcomes(told)) == (EXIT_REFUSED, [("orders-0", "refused")])
    assert told["results"][0]["error"] == "INVALID_REPLICA_ASSIGNMENT"


def test_leaders_are_elected(typed: Type, tmp_path: Path) -> None:
    """Another order of replicas makes another one the preferred leader."""
    typed("topics", "create", "orders", "--replica-assignment", "1:2,2:3")
    typed("reassign", "start", plan(tmp_path, 2, 1), "--wait")
    assert typed("status")[1]["not_preferred"] == ["orders-0"]

    code, told = typed("elect", "preferred", "--topic", "orders")

    assert (code, outcomes(told)) == (0, [("orders-0", "elected"), ("orders-1", "not needed")])
    assert typed("status")[1]["not_preferred"] == []


def test_a_dead_broker_shows(served: ServedCluster, typed: Type) -> None:
    """In the status, and in what is described."""
    for name, replicas in (("lost", "3"), ("orders", "3:1"), ("sound", "1:2")):
        assert typed("topics", "create", name, "--replica-assignment", replicas)[0] == 0
    served.stop_broker(3)

    code, told = typed("status")

    assert code == 0
    assert (told["controller_id"], told["missing_brokers"]) == (100, [3])
    assert told["offline"] == ["lost-0"]
    assert told["under_replicated"] == ["orders-0"]
    # min.insync.replicas is 1, which the last replica of orders-0 still is.
    assert (told["at_min_isr"], told["under_min_isr"]) == (["lost-0", "orders-0"], [])
    assert (told["reassigning"], told["notes"]) == ([], [])
    unavailable = typed("topics", "describe", "--unavailable")[1]
    assert [(each["topic"], each["partition"]) for each in unavailable] == [("lost", 0)]

    code, told = typed("elect", "unclean", "--all")
    assert (code, outcomes(told)) == (EXIT_REFUSED, [("lost-0", "refused")])


def test_a_controller_that_resigns_is_followed_by_the_next(
    served: ServedCluster, typed: Type
) -> None:
    """Whoever asks need not know."""
    typed("topics", "create", "orders", "--replica-assignment", "1:2")
    first = served.nodes[0]
    first.do(first.desk.session.close)
    first.do(first.desk.pump)
    served.settle()

    assert typed("topics", "add-partitions", "orders", "--to", "2")[0] == 0
    assert typed("status")[1]["controller_id"] != 100
