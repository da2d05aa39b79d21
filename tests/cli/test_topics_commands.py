"""`regent topics` as a person types it, against scripted brokers."""

import json

import pytest

from regent.cli.bootstrap import EXIT_REFUSED, EXIT_UNREACHABLE
from regent.cli.main import EXIT_USAGE, main
from regent.model.admin_requests import (
    CreatePartitions,
    CreatePartitionsAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    MorePartitions,
    NewTopic,
    TopicResult,
)
from regent.model.cluster_requests import Metadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.apis import ApiKey
from tests.support.builders import assignment, ids
from tests.support.scripted_broker import Fault, ScriptedCluster, partition, topic

Captured = pytest.CaptureFixture[str]
EXISTS = TopicResult("t", ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def typed(cluster: ScriptedCluster, *arguments: str) -> int:
    return main(["topics", *arguments, "--bootstrap", cluster.bootstrap])


# --- create -----------------------------------------------------------------------------------


def test_a_topic_is_created(cluster: ScriptedCluster, capsys: Captured) -> None:
    """With all that was typed."""
    cluster.answer(CreateTopicsAnswer((TopicResult("t"),)), to=CreateTopics)
    options = ("--partitions", "6", "--replication-factor", "3", "--config", "retention.ms=1=2")

    assert typed(cluster, "create", "t", *options) == 0

    configs = (("retention.ms", "1=2"),)
    wanted = NewTopic("t", partition_count=6, replication_factor=3, configs=configs)
    assert cluster.heard_of(CreateTopics) == [CreateTopics((wanted,))]
    assert capsys.readouterr().out == "t: created\n"


def test_without_counts_the_brokers_choose(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Kafka's own default; `--validate-only` creates nothing."""
    cluster.answer(CreateTopicsAnswer((TopicResult("t"),)), to=CreateTopics)

    assert typed(cluster, "create", "t", "--validate-only") == 0

    assert cluster.heard_of(CreateTopics) == [CreateTopics((NewTopic("t"),), validate_only=True)]
    assert capsys.readouterr().out == "t: could be created\n"


def test_replicas_can_be_placed_by_hand(cluster: ScriptedCluster) -> None:
    """In the form that kafka-topics takes."""
    cluster.answer(CreateTopicsAnswer((TopicResult("t"),)), to=CreateTopics)

    assert typed(cluster, "create", "t", "--replica-assignment", "1:2, 2:3") == 0

    wanted = NewTopic("t", assignments=((0, ids(1, 2)), (1, ids(2, 3))))
    assert cluster.heard_of(CreateTopics) == [CreateTopics((wanted,))]


def test_a_refused_topic_is_told_with_its_reason(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """And 1, for scripts."""
    cluster.answer(CreateTopicsAnswer((EXISTS,)), to=CreateTopics)

    assert typed(cluster, "create", "t") == EXIT_REFUSED
    assert capsys.readouterr().out == (
        "t: refused: TOPIC_ALREADY_EXISTS: Topic 't' already exists; there is such a topic"
        " already; --if-not-exists is content with that\n"
    )


def test_a_topic_that_exists_may_be_good_enough(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Scripts that run twice."""
    cluster.answer(CreateTopicsAnswer((EXISTS,)), to=CreateTopics)

    assert typed(cluster, "create", "t", "--if-not-exists", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "results": [
            {
                "name": "t",
                "outcome": "exists already",
                "is_good": True,
                "error": "TOPIC_ALREADY_EXISTS",
                "message": None,
            }
        ]
    }


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--config", "retention.ms"), "write it like retention.ms=1000"),
        (("--config", "a=1", "--config", "a=2"), "a is given twice"),
        (("--replica-assignment", "1:x"), "like 1:2,2:3"),
        (("--replica-assignment", "1:2,,3"), "like 1:2,2:3"),
        (("--replica-assignment", "1:1"), "names a broker twice"),
        (("--replica-assignment", "1:2", "--partitions", "1"), "leave out --partitions"),
        (("--partitions", "0"), "--partitions"),
        (("--partitions", "3000000000"), "CreateTopicsRequest cannot carry this"),
        (("--timeout-s", "0"), "--timeout-s"),
    ],
)
def test_a_wrong_option_is_answered_with_one_sentence(
    cluster: ScriptedCluster, options: tuple[str, ...], hint: str, capsys: Captured
) -> None:
    """And nothing is asked of the cluster."""
    assert typed(cluster, "create", "t", *options) == EXIT_USAGE

    captured = capsys.readouterr()
    assert hint in captured.err
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert cluster.heard_of(CreateTopics) == []


# --- trouble with the cluster -------------------------------------------------------------------


def test_a_wrong_bootstrap_is_answered_with_one_sentence(capsys: Captured) -> None:
    """With an example."""
    assert main(["topics", "list", "--bootstrap", "nowhere"]) == EXIT_USAGE
    assert "write it like broker-1:9092" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_has_its_own_exit_code(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """A script may wait for it."""
    cluster.close()

    assert typed(cluster, "list") == EXIT_UNREACHABLE
    assert capsys.readouterr().err == (
        f"regent: no broker answers: {cluster.bootstrap}: connection refused; check --bootstrap\n"
    )


def test_a_silent_broker_is_waited_for_as_long_as_was_said(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """And no longer."""
    cluster.fail(Fault.SILENCE, Fault.SILENCE, to=Metadata)

    assert typed(cluster, "list", "--timeout-s", "0.05") == EXIT_UNREACHABLE
    assert "it does not answer in time" in capsys.readouterr().err


def test_what_the_broker_cannot_do_is_said(cluster: ScriptedCluster, capsys: Captured) -> None:
    """An old broker is no reason for a traceback."""
    cluster.serve(ApiKey.CREATE_PARTITIONS, last_version=None)

    assert typed(cluster, "add-partitions", "t", "--to", "3") == EXIT_REFUSED
    assert "does not speak CreatePartitions; its Kafka is too old" in capsys.readouterr().err


# --- delete and grow ------------------------------------------------------------------------------


def test_topics_are_deleted(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Each with its own outcome, the refused ones first."""
    results = (TopicResult("t"), TopicResult("u", UNKNOWN))
    cluster.answer(DeleteTopicsAnswer(results), to=DeleteTopics)

    assert typed(cluster, "delete", "t", "u", "t") == EXIT_REFUSED

    assert cluster.heard_of(DeleteTopics) == [DeleteTopics(("t", "u"))]
    assert capsys.readouterr().out == (
        "Topics (2)\n"
        "  name  outcome  why\n"
        "  u     refused  UNKNOWN_TOPIC_OR_PARTITION: there is no such topic or partition;"
        " `regent topics list` shows what there is\n"
        "  t     deleted\n"
        "\n"
    )


def test_a_topic_that_is_gone_may_be_good_enough(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """Scripts that run twice."""
    cluster.answer(DeleteTopicsAnswer((TopicResult("t", UNKNOWN),)), to=DeleteTopics)

    assert typed(cluster, "delete", "t", "--if-exists") == 0
    assert capsys.readouterr().out == "t: was not there\n"


def test_a_topic_grows(cluster: ScriptedCluster, capsys: Captured) -> None:
    """To a total, as Kafka counts."""
    cluster.answer(CreatePartitionsAnswer((TopicResult("t"),)), to=CreatePartitions)

    assert typed(cluster, "add-partitions", "t", "--to", "3", "--replica-assignment", "2:1") == 0

    asked = MorePartitions("t", 3, (ids(2, 1),))
    assert cluster.heard_of(CreatePartitions) == [CreatePartitions((asked,))]
    assert capsys.readouterr().out == "t: has 3 partitions\n"


# --- list and describe ----------------------------------------------------------------------------


def with_topics(cluster: ScriptedCluster) -> ScriptedCluster:
    """A healthy partition, one that lacks a replica, one that nobody leads, one that moves."""
    cluster.topics = [
        topic("u", partition(0, 1)),
        topic(
            "t",
            partition(0, 1, 2),
            partition(1, 2, 9, isr=(2,), offline=(9,)),
            partition(2, 9, leader=-1, isr=(9,), offline=(9,)),
            partition(3, 3, 1, 2, leader=1, isr=(1, 2)),
        ),
    ]
    move = assignment(3, 1, 2, adding=(3,), removing=(2,))
    cluster.answer(
        ListReassignmentsAnswer(moving=((TopicPartition("t", 3), move),)), to=ListReassignments
    )
    return cluster


def test_topics_are_listed(cluster: ScriptedCluster, capsys: Captured) -> None:
    """In order of their names."""
    assert typed(with_topics(cluster), "list") == 0
    assert capsys.readouterr().out == (
        "Topics (2)\n  name  partitions  replicas\n  t     4           2\n  u     1           1\n\n"
    )

    assert typed(cluster, "list", "--json") == 0
    assert json.loads(capsys.readouterr().out)[1] == {
        "name": "u",
        "partitions": 1,
        "replication_factor": 1,
        "is_internal": False,
    }


DESCRIBED = """\
Partitions (4)
  partition  leader  replicas  ISR  offline
  t-0        1       1,2       1,2
  t-1        2       2,9       2    9        under-replicated
  t-2        none    9         9    9        unavailable
  t-3        1       3,1,2     1,2

"""


def test_partitions_are_described_and_marked(cluster: ScriptedCluster, capsys: Captured) -> None:
    """A replica that is only being added is not missing."""
    assert typed(with_topics(cluster), "describe", "t") == 0
    assert capsys.readouterr().out == DESCRIBED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["t-0", "t-1", "t-2", "t-3", "u-0"]),
        (("--under-replicated",), ["t-1"]),
        (("--unavailable",), ["t-2"]),
        (("--unavailable", "--under-replicated"), []),
        (("u",), ["u-0"]),
    ],
)
def test_only_some_partitions_may_be_wanted(
    cluster: ScriptedCluster, options: tuple[str, ...], expected: list[str], capsys: Captured
) -> None:
    """As programs see them."""
    assert typed(with_topics(cluster), "describe", *options, "--json") == 0

    shown = json.loads(capsys.readouterr().out)
    assert [f"{each['topic']}-{each['partition']}" for each in shown] == expected


def test_a_partition_in_json(cluster: ScriptedCluster, capsys: Captured) -> None:
    """No leader is null and not -1."""
    assert typed(with_topics(cluster), "describe", "--unavailable", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {
            "topic": "t",
            "partition": 2,
            "leader": None,
            "replicas": [9],
            "isr": [9],
            "offline": [9],
            "is_unavailable": True,
            "is_under_replicated": False,
        }
    ]


def test_a_topic_that_is_not_there_is_named(cluster: ScriptedCluster, capsys: Captured) -> None:
    """Those that are there are shown all the same."""
    assert typed(with_topics(cluster), "describe", "u", "none") == EXIT_REFUSED

    captured = capsys.readouterr()
    assert "u-0" in captured.out
    assert captured.err == (
        "regent: none: UNKNOWN_TOPIC_OR_PARTITION: there is no such topic or partition;"
        " `regent topics list` shows what there is\n"
    )


def test_topics_are_described_while_there_is_no_controller(
    cluster: ScriptedCluster, capsys: Captured
) -> None:
    """That is when somebody wants to see them."""
    with_topics(cluster).controllers[0] = 0

    assert typed(cluster, "describe", "--unavailable") == 0
    assert "t-2" in capsys.readouterr().out


# --- quotas ---------------------------------------------------------------------------------------

EXCEEDED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("The throttling quota has been exceeded.", "The throttling quota has been exceeded; "),
        (None, ""),
    ],
)
def test_who_has_used_up_its_quota_hears_when_to_try_again(
    cluster: ScriptedCluster, capsys: Captured, message: str | None, told: str
) -> None:
    """Whatever else the broker says."""
    refused = (TopicResult("t", EXCEEDED, message),)
    cluster.answer(CreateTopicsAnswer(refused, throttle_ms=3_333), to=CreateTopics)
    cluster.answer(DeleteTopicsAnswer(refused, throttle_ms=200), to=DeleteTopics)

    assert typed(cluster, "create", "t") == EXIT_REFUSED
    assert typed(cluster, "delete", "t") == EXIT_REFUSED

    prefix = f"t: refused: THROTTLING_QUOTA_EXCEEDED: {told}try again in"
    assert capsys.readouterr().out == f"{prefix} 3.3 s\n{prefix} 0.2 s\n"
