"""`regent reassign` with throttles, against scripted brokers: what is asked of whom, and when."""

import json
from pathlib import Path

import pytest

from regent.cli.bootstrap import EXIT_REFUSED, EXIT_UNDER_WAY
from regent.cli.main import EXIT_USAGE, main
from regent.client import waiting
from regent.client.config_changes import broker_resource, topic_resource
from regent.client.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    PartitionResult,
    ReassignmentTarget,
)
from regent.model.config_requests import (
    AlterConfigsAnswer,
    ConfigChange,
    ConfigChanges,
    ConfigDescription,
    ConfigEntry,
    ConfigOperation,
    ConfigResource,
    ConfigResult,
    ConfigSource,
    DescribeConfigs,
    DescribeConfigsAnswer,
    IncrementalAlterConfigs,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.apis import ApiKey
from tests.support.builders import assignment, ids
from tests.support.scripted_broker import ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]
MOVING = ListReassignmentsAnswer(
    moving=((TopicPartition("t", 0), assignment(2, 3, 1, adding=(2, 3), removing=(1,))),)
)
NOTHING = ListReassignmentsAnswer()
DONE = AlterConfigsAnswer()


@pytest.fixture(autouse=True)
def scene(monkeypatch: pytest.MonkeyPatch, cluster: ScriptedCluster) -> None:
    """Partition 0 of `t` is on broker 1, partition 1 on 2; nothing moves, nothing is throttled."""
    monkeypatch.setattr(waiting, "SETTLING_PAUSE_S", 0.001)
    cluster.topics = [topic("t", partition(0, 1), partition(1, 2))]
    cluster.answer(NOTHING, to=ListReassignments)
    started = AlterReassignmentsAnswer(results=(PartitionResult("t", 0),))
    cluster.answer(started, to=AlterReassignments)
    cluster.answer(DescribeConfigsAnswer(), to=DescribeConfigs)
    cluster.answer(DONE, to=IncrementalAlterConfigs)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Moves partition 0 from 1 to 2 and 3."""
    moves = [{"topic": "t", "partition": 0, "replicas": [2, 3]}]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": moves}))
    return str(path)


def typed(cluster: ScriptedCluster, *arguments: str) -> int:
    return main(["reassign", *arguments, "--bootstrap", cluster.bootstrap])


def altered(cluster: ScriptedCluster) -> list[tuple[int, ConfigChanges]]:
    """Who was told what, one by one."""
    return [
        (broker_id, each)
        for broker_id, request in cluster.heard
        if isinstance(request, IncrementalAlterConfigs)
        for each in request.alterations
    ]


def setting(resource: ConfigResource, **values: str) -> ConfigChanges:
    names = {
        "leaders": LEADER_REPLICAS,
        "followers": FOLLOWER_REPLICAS,
        "giving": LEADER_RATE,
        "taking": FOLLOWER_RATE,
    }
    changes = (ConfigChange(names[n], ConfigOperation.SET, v) for n, v in values.items())
    return ConfigChanges(resource, tuple(changes))


def throttled(resource: ConfigResource, source: ConfigSource, name: str) -> DescribeConfigsAnswer:
    entries = (ConfigEntry(name, "1", source), ConfigEntry("other", "1", source))
    return DescribeConfigsAnswer((ConfigDescription(resource, entries=entries),))


def removal(resource: ConfigResource, *names: str) -> ConfigChanges:
    return ConfigChanges(resource, tuple(ConfigChange(n, ConfigOperation.DELETE) for n in names))


def test_the_throttle_is_set_before_anything_moves(
    cluster: ScriptedCluster, file: str, capsys: Captured
) -> None:
    """First on the topic, then on each broker by itself, as Kafka's brokers want it."""
    assert typed(cluster, "start", file, "--throttle", "1.5KB") == 0

    topic_change = setting(topic_resource("t"), leaders="0:1", followers="0:2,0:3")
    changes = altered(cluster)
    assert changes[0][1] == topic_change
    assert changes[1:] == [
        (each, setting(broker_resource(each), giving="1500", taking="1500")) for each in (1, 2, 3)
    ]
    kinds = [type(request) for _, request in cluster.heard]
    assert kinds.index(AlterReassignments) > max(
        index for index, kind in enumerate(kinds) if kind is IncrementalAlterConfigs
    )
    captured = capsys.readouterr()
    assert captured.out == "t-0: started\n"
    assert "the throttle stays until `regent reassign verify`" in captured.err


def test_a_throttle_that_cannot_be_set_starts_nothing(
    cluster: ScriptedCluster, file: str, capsys: Captured
) -> None:
    """Copying at full speed is what was not wanted."""
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    refused = AlterConfigsAnswer((ConfigResult(broker_resource(2), denied),))
    cluster.answer(DONE, DONE, refused, to=IncrementalAlterConfigs)

    assert typed(cluster, "start", file, "--throttle", "1MB") == EXIT_REFUSED

    assert cluster.heard_of(AlterReassignments) == []
    assert "the throttle cannot be set on broker 2: CLUSTER_AUTH" in capsys.readouterr().err


def test_a_dead_broker_is_not_waited_for(cluster: ScriptedCluster, file: str) -> None:
    """It copies nothing."""
    cluster.brokers[3].close()

    assert typed(cluster, "start", file, "--throttle", "1MB") == 0
    assert [each.resource.name for _, each in altered(cluster)] == ["t", "1", "2"]


def test_what_is_on_its_way_is_not_started_again(
    cluster: ScriptedCluster, file: str, capsys: Captured
) -> None:
    """Only its throttle changes."""
    cluster.answer(MOVING, to=ListReassignments)

    assert typed(cluster, "start", file, "--throttle", "2KB") == 0

    assert cluster.heard_of(AlterReassignments) == []
    assert len(altered(cluster)) == 4
    assert capsys.readouterr().out == "t-0: goes on\n"


def test_a_move_elsewhere_is_started_although_one_is_under_way(
    cluster: ScriptedCluster, tmp_path: Path
) -> None:
    """It replaces the other one, and the sources are those from before both."""
    cluster.answer(MOVING, to=ListReassignments)
    file = tmp_path / "other.json"
    move = {"topic": "t", "partition": 0, "replicas": [3]}
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))

    assert typed(cluster, "start", str(file), "--throttle", "2KB") == 0

    target = ReassignmentTarget("t", 0, ids(3))
    assert cluster.heard_of(AlterReassignments) == [AlterReassignments((target,))]
    topic_change = setting(topic_resource("t"), leaders="0:1", followers="0:3")
    assert altered(cluster)[0][1] == topic_change


def test_verify_changes_nothing_while_anything_moves(
    cluster: ScriptedCluster, tmp_path: Path, capsys: Captured
) -> None:
    """Not even on topics of the plan that have arrived."""
    cluster.answer(MOVING, to=ListReassignments)
    cluster.topics.append(topic("u", partition(0, 3)))
    moves = [("t", [2, 3]), ("u", [3])]
    file = tmp_path / "plan.json"
    entries = [{"topic": name, "partition": 0, "replicas": to} for name, to in moves]
    file.write_text(json.dumps({"version": 1, "partitions": entries}))

    assert typed(cluster, "verify", str(file), "--json") == EXIT_UNDER_WAY

    assert cluster.heard_of(DescribeConfigs) == []
    assert json.loads(capsys.readouterr().out)["throttles_removed"] == []


def test_verify_removes_what_it_finds_on_all_brokers(
    cluster: ScriptedCluster, file: str, capsys: Captured
) -> None:
    """What was set for all brokers, or is a default, is somebody else's."""
    cluster.topics = [topic("t", partition(0, 2, 3), partition(1, 2))]
    cluster.answer(
        throttled(topic_resource("t"), ConfigSource.TOPIC, LEADER_REPLICAS),
        throttled(broker_resource(1), ConfigSource.DYNAMIC_BROKER, FOLLOWER_RATE),
        throttled(broker_resource(2), ConfigSource.DYNAMIC_DEFAULT_BROKER, FOLLOWER_RATE),
        DescribeConfigsAnswer(),
        to=DescribeConfigs,
    )
    cluster.answer(
        AlterConfigsAnswer((ConfigResult(topic_resource("t")),)),
        AlterConfigsAnswer((ConfigResult(broker_resource(1)),)),
        to=IncrementalAlterConfigs,
    )

    assert typed(cluster, "verify", file) == 0

    assert cluster.hearers_of(DescribeConfigs)[1:] == [1, 2, 3]
    assert [each for _, each in altered(cluster)] == [
        removal(topic_resource("t"), LEADER_REPLICAS),
        removal(broker_resource(1), FOLLOWER_RATE),
    ]
    assert capsys.readouterr().out == (
        "1 done, 0 in progress, 0 not as planned\nthrottles are removed from topic t, broker 1\n"
    )


def test_throttles_can_be_preserved(cluster: ScriptedCluster, file: str) -> None:
    """By `verify` as by `cancel`."""
    cluster.topics = [topic("t", partition(0, 2, 3), partition(1, 2))]

    assert typed(cluster, "verify", file, "--preserve-throttles") == 0
    assert typed(cluster, "cancel", file, "--preserve-throttles") == 0

    assert cluster.heard_of(DescribeConfigs) == []


def test_a_throttle_that_may_be_left_is_said(
    cluster: ScriptedCluster, file: str, capsys: Captured
) -> None:
    """And the exit code tells scripts."""
    cluster.topics = [topic("t", partition(0, 2, 3), partition(1, 2))]
    cluster.brokers[3].close(is_named=True)

    assert typed(cluster, "verify", file) == EXIT_REFUSED
    assert "a throttle may be left on broker 3: BROKER_NOT_AVAILABLE" in capsys.readouterr().err


def test_brokers_that_are_too_old_to_tell_are_no_failure(
    cluster: ScriptedCluster, file: str
) -> None:
    """They were verified before there were throttles here."""
    cluster.topics = [topic("t", partition(0, 2, 3), partition(1, 2))]
    cluster.serve(ApiKey.DESCRIBE_CONFIGS, last_version=None)

    assert typed(cluster, "verify", file) == 0


def test_rates_stay_while_others_move(cluster: ScriptedCluster, tmp_path: Path) -> None:
    """What was cancelled is over; what goes on shall go on as slowly."""
    cluster.topics.append(topic("u", partition(0, 1)))
    cluster.answer(MOVING, to=ListReassignments)
    file = tmp_path / "u.json"
    move = {"topic": "u", "partition": 0, "replicas": [3]}
    file.write_text(json.dumps({"version": 1, "partitions": [move]}))

    assert typed(cluster, "cancel", str(file)) == 0

    asked = [q.resource for r in cluster.heard_of(DescribeConfigs) for q in r.questions]
    assert asked == [topic_resource("u")]


def test_all_topics_are_looked_at_when_all_is_cancelled(cluster: ScriptedCluster) -> None:
    """Nobody knows any more which ones were throttled."""
    cluster.topics.append(topic("u", partition(0, 1)))

    assert typed(cluster, "cancel", "--all") == 0

    asked = [q.resource.name for r in cluster.heard_of(DescribeConfigs) for q in r.questions]
    assert asked == ["t", "u", "1", "2", "3"]


@pytest.mark.parametrize("text", ["0", "fast", "-1", "0.2"])
def test_a_throttle_that_lets_nothing_through_is_refused(
    cluster: ScriptedCluster, file: str, text: str, capsys: Captured
) -> None:
    """Before anything is asked."""
    assert typed(cluster, "start", file, "--throttle", text) == EXIT_USAGE
    assert "--throttle" in capsys.readouterr().err
    assert cluster.heard == []
