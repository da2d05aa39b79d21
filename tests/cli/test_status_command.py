"""`regent status` as a person types it, against scripted brokers."""

import json

import pytest

from regent.cli.bootstrap import EXIT_UNREACHABLE
from regent.cli.main import main
from regent.model.admin_requests import ListReassignments, ListReassignmentsAnswer
from regent.model.cluster_requests import Metadata
from regent.model.config_requests import (
    ConfigDescription,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    DescribeConfigs,
    DescribeConfigsAnswer,
    ResourceType,
)
from regent.wire.apis import ApiKey
from tests.support.scripted_broker import Fault, ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def worried(cluster: ScriptedCluster) -> ScriptedCluster:
    """Nobody leads seven partitions, and one lacks a replica."""
    lost = (partition(n, 9, leader=-1, isr=(9,), offline=(9,)) for n in range(1, 8))
    cluster.topics = [topic("t", partition(0, 1, 2, isr=(1,)), *lost)]
    cluster.answer(ListReassignmentsAnswer(), to=ListReassignments)
    entry = ConfigEntry("min.insync.replicas", "1", ConfigSource.DEFAULT)
    described = ConfigDescription(ConfigResource(ResourceType.TOPIC, "t"), entries=(entry,))
    cluster.answer(DescribeConfigsAnswer((described,)), to=DescribeConfigs)
    return cluster


def typed(cluster: ScriptedCluster, *arguments: str) -> int:
    return main(["status", "--bootstrap", cluster.bootstrap, *arguments])


EXPECTED = """\
cluster scripted: controller 1

Brokers (3)
  broker  address          rack    replicas  leaders  preferred
  1       127.0.0.1:{0}  rack-1  1         1        1          controller
  2       127.0.0.1:{1}  rack-2  1         0        0
  3       127.0.0.1:{2}  rack-3  0         0        0
  9       not alive

Partitions

  topics                        1
  partitions                    8
  without a leader              7          t-1, t-2, t-3, t-4, t-5 and 2 more
  under-replicated              1          t-0
  under min ISR                 0
  at min ISR                    8          t-0, t-1, t-2, t-3, t-4 and 3 more
  not led by the first replica  7          t-1, t-2, t-3, t-4, t-5 and 2 more
  being moved                   0
  topics being deleted          not known

"""


def test_a_cluster_is_shown(worried: ScriptedCluster, capsys: Captured) -> None:
    """What is wrong has names; what is not told is not zero."""
    assert typed(worried) == 0

    ports = [broker.port for broker in worried.brokers.values()]
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        line.split() for line in EXPECTED.format(*ports).splitlines()
    ]


def test_scripts_get_everything(worried: ScriptedCluster, capsys: Captured) -> None:
    """All names, and null for what is not known."""
    assert typed(worried, "--json") == 0

    told = json.loads(capsys.readouterr().out)
    assert told["offline"] == [f"t-{number}" for number in range(1, 8)]
    assert (told["controller_id"], told["missing_brokers"], told["deleting"]) == (1, [9], None)


def test_what_a_broker_refuses_is_noted(worried: ScriptedCluster, capsys: Captured) -> None:
    """The rest is shown all the same."""
    worried.serve(ApiKey.DESCRIBE_CONFIGS, last_version=None)

    assert typed(worried) == 0

    shown = capsys.readouterr().out
    assert "note: min.insync.replicas is not known: 127.0.0.1:" in shown
    assert "under min ISR" in shown


def test_a_watch_gives_one_line_of_json_for_each_look(
    worried: ScriptedCluster, capsys: Captured
) -> None:
    """So that a script can read on."""
    worried.controllers.extend([1, 1, 2])

    assert typed(worried, "--watch", "--json", "--count", "3", "--interval-s", "0.01") == 0

    looks = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(looks) == 3
    assert [look["controller_id"] for look in looks] == [1, 1, 2]


def test_whoever_watches_waits_out_trouble(worried: ScriptedCluster, capsys: Captured) -> None:
    """A cluster that is away for a moment is what one watches for."""

    def trouble_the_second_look(_: object) -> None:
        if worried.heard_of(Metadata).count(Metadata(None, may_create=False)) == 2:
            # The open connection, and a new one to each of the three.
            worried.fail(*[Fault.CLOSE] * 4, to=Metadata)

    worried.on_heard = trouble_the_second_look

    assert typed(worried, "--watch", "--count", "3", "--interval-s", "0.01") == 0

    captured = capsys.readouterr()
    assert captured.out.count("cluster scripted: controller 1") == 2
    assert captured.err.startswith("regent: no broker answers: ")
    assert captured.err.count("\n") == 1


def test_a_watch_of_nothing_does_not_begin(cluster: ScriptedCluster, capsys: Captured) -> None:
    """A typing error is not worth watching."""
    cluster.close()

    assert typed(cluster, "--watch") == EXIT_UNREACHABLE
    assert "check --bootstrap" in capsys.readouterr().err


def test_without_a_controller_it_is_said(worried: ScriptedCluster, capsys: Captured) -> None:
    """First of all."""
    worried.controllers[0] = 0

    assert typed(worried) == 0
    assert capsys.readouterr().out.startswith("cluster scripted: no controller\n")
