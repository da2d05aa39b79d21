"""Catalogued behaviours of Kafka that need a controller on sockets, its brokers and its tools."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from regent.cli.bootstrap import EXIT_REFUSED
from regent.cli.main import main
from regent.model.admin_requests import CreateTopics, DeleteTopics, NewTopic
from regent.model.cluster_requests import Metadata
from regent.model.config_requests import (
    ConfigChange,
    ConfigChanges,
    ConfigOperation,
    ConfigResource,
    IncrementalAlterConfigs,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.wire.exchange import decode_answer, encode_request
from regent.zookeeper import paths
from regent.zookeeper.cluster_id import read_cluster_id
from regent.zookeeper.exchange import run
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Done, Exists
from tests.runtime.listener.served_node import read_message, to_request
from tests.support.controllers import Controllers
from tests.support.leading import Leading
from tests.support.obedient_broker import ObedientBrokers
from tests.support.topics import write_topic
from tests.support.waiting import eventually

WAIT_S = 60
PATIENT_MS = WAIT_S * 1000

Captured = pytest.CaptureFixture[str]


def ask(leading: Leading, request: Struct, **details: Any) -> Any:
    """Send one request to the controller, and read its answer."""
    call = to_request(request, **details)
    with socket.create_connection(leading.address, timeout=WAIT_S) as link:
        link.sendall(encode_request(call))
        message = read_message(link)
    assert message is not None, "it hung up"
    return decode_answer(call, message)


def errors(answer: Any) -> list[ErrorCode]:
    return [result.error for result in answer.results]


def create(leading: Leading, *topics: str, partitions: int = 1) -> None:
    wishes = tuple(NewTopic(topic, partitions, 2) for topic in topics)
    answer = ask(leading, CreateTopics(wishes), timeout_ms=PATIENT_MS)
    assert errors(answer) == [ErrorCode.NONE] * len(topics)


def names(leading: Leading) -> list[str]:
    return [each.topic for each in ask(leading, Metadata()).topics]


def is_there(leading: Leading, path: str) -> bool:
    (reply,) = leading.controllers.session.call((Exists(path),))
    return isinstance(reply, Done)


def wait_until_gone(leading: Leading, topic: str) -> None:
    eventually(lambda: not is_there(leading, paths.topic(topic)), f"the end of {topic}")


# --- the name of the cluster ----------------------------------------------------------------------


@pytest.mark.behaviour("zk-029")
def test_a_cluster_without_a_name_gets_one_from_its_first_node(leading: Leading) -> None:
    """Clients are told it, and brokers that come later find it."""
    told = ask(leading, Metadata()).cluster_id

    assert told == run(leading.controllers.session, read_cluster_id())
    assert len(told) == 22


# --- deletion -------------------------------------------------------------------------------------


@pytest.mark.behaviour("del-022")
def test_the_config_of_a_deleted_topic_cannot_be_changed(leading: Leading) -> None:
    """And the attempt leaves nothing that a later topic of that name would inherit."""
    create(leading, "orders")
    ask(leading, DeleteTopics(("orders",)), timeout_ms=PATIENT_MS)
    wait_until_gone(leading, "orders")
    change = ConfigChange("retention.ms", ConfigOperation.SET, "1000")
    orders = ConfigResource(ResourceType.TOPIC, "orders")

    answer = ask(leading, IncrementalAlterConfigs((ConfigChanges(orders, (change,)),)))

    assert errors(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert not is_there(leading, paths.topic_config("orders"))


@pytest.mark.behaviour("del-031")
def test_who_has_no_time_for_a_deletion_hears_so_and_the_topic_goes(leading: Leading) -> None:
    """The timeout bounds the wait and not the work."""
    create(leading, "orders", partitions=7)

    answer = ask(leading, DeleteTopics(("orders",)), timeout_ms=0)

    assert errors(answer) == [ErrorCode.REQUEST_TIMED_OUT]
    wait_until_gone(leading, "orders")
    assert names(leading) == []


@pytest.mark.behaviour("del-034")
def test_every_version_of_the_request_deletes(leading: Leading) -> None:
    """Below 6 as a list of names, from 6 as entries that may have an id instead."""
    topics = [f"orders-{version}" for version in range(7)]
    create(leading, *topics)

    for version, topic in enumerate(topics):
        answer = ask(leading, DeleteTopics((topic,)), api_version=version, timeout_ms=PATIENT_MS)
        assert errors(answer) == [ErrorCode.NONE]
        wait_until_gone(leading, topic)

    assert names(leading) == []


# --- the tools ------------------------------------------------------------------------------------


def status(leading: Leading, capsys: Captured) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["status", "--zookeeper", leading.connect, "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


@pytest.mark.behaviour("prf-017")
def test_the_tool_brings_the_preferred_leader_back(leading: Leading, capsys: Captured) -> None:
    """As soon as it is in sync again."""
    write_topic(leading.controllers.session, "orders", {0: (2, 3)})
    eventually(lambda: status(leading, capsys)["partition_count"] == 1, "the topic")
    leading.brokers.kill(2)
    eventually(lambda: status(leading, capsys)["under_replicated"] != [], "its death")
    leading.brokers.start(2)
    eventually(lambda: not status(leading, capsys)["under_replicated"], "its return")
    assert status(leading, capsys)["not_preferred"] == ["orders-0"]

    assert main(["elect", "preferred", "--all", "--bootstrap", leading.bootstrap]) == 0

    assert status(leading, capsys)["not_preferred"] == []


@pytest.mark.behaviour("rsg-021")
def test_a_plan_for_a_partition_that_is_not_there_starts_nothing(
    leading: Leading, tmp_path: Path, capsys: Captured
) -> None:
    """It is refused, and said for which partition."""
    write_topic(leading.controllers.session, "orders", {0: (1, 2)})
    plan = tmp_path / "plan.json"
    plan.write_text(
        '{"version": 1, "partitions": [{"topic": "orders", "partition": 1, "replicas": [2, 3]}]}'
    )
    eventually(lambda: names(leading) == ["orders"], "the topic")

    started = main(["reassign", "start", str(plan), "--bootstrap", leading.bootstrap, "--json"])

    assert started == EXIT_REFUSED
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["name"], result["error"]) == ("orders-1", "UNKNOWN_TOPIC_OR_PARTITION")
    assert status(leading, capsys)["reassigning"] == []


@pytest.fixture
def forties(zookeeper_options: ZooKeeperOptions, tmp_path: Path) -> Iterator[Leading]:
    """Brokers 40 to 42, and three partitions on the first two."""
    with (
        ObedientBrokers(zookeeper_options, range(40, 43)) as brokers,
        Controllers(zookeeper_options, tmp_path) as controllers,
    ):
        write_topic(controllers.session, "orders", dict.fromkeys(range(3), (40, 41)))
        yield Leading(controllers, brokers)


@pytest.mark.behaviour("rsg-015")
def test_a_new_broker_gets_its_share_by_plan(
    forties: Leading, tmp_path: Path, capsys: Captured
) -> None:
    """From the live cluster to a snapshot, a plan, and back to the cluster."""
    kept, plans = str(tmp_path / "cluster.json"), str(tmp_path / "plans")
    eventually(lambda: status(forties, capsys)["partition_count"] == 3, "the topic")
    eventually(lambda: status(forties, capsys)["under_replicated"] == [], "its leaders")
    assert main(["snapshot", "--zookeeper", forties.connect, "--output", kept]) == 0
    subprocess.run(  # noqa: S603 - our own command; in a process of its own, as Spark is
        [
            *(sys.executable, "-m", "regent.cli.main", "plan", "rebalance"),
            *("--snapshot", kept, "--out", plans),
        ],
        check=True,
        capture_output=True,
    )

    start = ["reassign", "start", plans, "--wait", "--interval-s", "0.1"]
    assert main([*start, "--bootstrap", forties.bootstrap]) == 0

    capsys.readouterr()
    assert main(["topics", "describe", "orders", "--json", "--bootstrap", forties.bootstrap]) == 0
    replicas = [each["replicas"] for each in json.loads(capsys.readouterr().out)]
    assert sorted(broker for each in replicas for broker in each) == [40, 40, 41, 41, 42, 42]
    assert status(forties, capsys)["reassigning"] == []
