"""Finding somebody who answers, and the controller, while both may change."""

from collections import deque

import pytest

from regent.client.addresses import Address, parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.client.patience import Patience
from regent.client.refusals import DOUBT
from regent.errors import ClusterUnreachable, RequestRefused
from regent.model.admin_requests import (
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    ElectionType,
    ElectLeaders,
    ElectLeadersAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    NewTopic,
    TopicResult,
)
from regent.model.cluster_requests import Metadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.wire.apis import ApiKey
from tests.support.builders import assignment
from tests.support.scripted_broker import HOST, Fault, ScriptedCluster, partition, topic

SHORT = Patience(connect_s=2, answer_s=3, attempts=3, pause_s=0.001, pause_s_max=0.001)
CREATED = CreateTopicsAnswer((TopicResult("t", partition_count=1, replication_factor=1),))


def joined(cluster: ScriptedCluster, *others: Address) -> Cluster:
    return Cluster((*others, *parse_bootstrap(cluster.bootstrap)), SHORT)


def test_the_controller_is_asked_wherever_it_is(cluster: ScriptedCluster) -> None:
    """Any broker knows who it is."""
    cluster.controllers[0] = 3
    cluster.answer(CREATED, to=CreateTopics)

    with joined(cluster) as found:
        replied = found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert (replied.answer, replied.is_repeat) == (CREATED, False)
    assert cluster.hearers_of(CreateTopics) == [3]


def test_bootstrap_addresses_are_tried_in_turn(cluster: ScriptedCluster) -> None:
    """One that is up will do."""
    dead = Address(HOST, cluster.brokers[2].port)
    cluster.brokers[2].close()

    with joined(cluster, dead) as found:
        assert [broker.broker_id for broker in found.look(()).brokers] == [1, 3]


def test_a_broker_that_answers_nonsense_is_passed_over(cluster: ScriptedCluster) -> None:
    """Somebody else may know."""
    cluster.fail(Fault.GARBAGE, to=None)
    second = Address(HOST, cluster.brokers[2].port)

    with joined(cluster, second) as found:
        assert len(found.look(()).brokers) == 3

    assert cluster.hearers_of(Metadata) == [1]


def test_when_nobody_answers_all_who_were_asked_are_named(cluster: ScriptedCluster) -> None:
    """At once: a typing error is not worth waiting for."""
    cluster.close()

    with joined(cluster) as found, pytest.raises(ClusterUnreachable) as unreachable:
        found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert str(unreachable.value) == (
        f"no broker answers: {cluster.bootstrap}: connection refused; check --bootstrap"
    )


def test_a_controller_that_is_none_any_more_sends_us_to_its_successor(
    cluster: ScriptedCluster,
) -> None:
    """A failover between our two questions is nothing that a person should hear of."""
    cluster.controllers.extend([2])
    cluster.fail(Fault.NOT_CONTROLLER, to=CreateTopics)
    cluster.answer(CREATED, to=CreateTopics)

    with joined(cluster) as found:
        replied = found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert (replied.answer, replied.is_repeat) == (CREATED, False)
    assert cluster.hearers_of(CreateTopics) == [1, 2]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (DeleteTopics(("t",)), DeleteTopicsAnswer((TopicResult("t"),))),
        (ElectLeaders(ElectionType.PREFERRED), ElectLeadersAnswer()),
        (ListReassignments(), ListReassignmentsAnswer()),
    ],
)
def test_every_kind_of_refusal_by_a_former_controller_is_understood(
    cluster: ScriptedCluster, request_: DeleteTopics, answer: DeleteTopicsAnswer
) -> None:
    """Some say it for each item, and some for all at once."""
    cluster.fail(Fault.NOT_CONTROLLER, to=type(request_))
    cluster.answer(answer, to=type(request_))

    with joined(cluster) as found:
        assert found.ask_controller(request_).answer == answer


def test_while_there_is_no_controller_we_ask_again(cluster: ScriptedCluster) -> None:
    """It is being elected."""
    cluster.controllers.extendleft([0])
    cluster.answer(CREATED, to=CreateTopics)

    with joined(cluster) as found:
        assert found.ask_controller(CreateTopics((NewTopic("t"),))).answer == CREATED


def test_a_controller_that_dies_before_it_is_asked_is_looked_for_again(
    cluster: ScriptedCluster,
) -> None:
    """Metadata may name the dead one for a while; nothing was sent, so nothing is in doubt."""
    cluster.controllers = deque([2, 3])
    cluster.brokers[2].close(is_named=True)
    cluster.answer(CREATED, to=CreateTopics)

    with joined(cluster) as found:
        replied = found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert (replied.answer, replied.is_repeat) == (CREATED, False)
    assert cluster.hearers_of(CreateTopics) == [3]


def test_a_controller_that_cannot_be_reached_is_told_with_its_address(
    cluster: ScriptedCluster,
) -> None:
    """Advertised addresses that only work inside are the commonest trouble with Kafka."""
    cluster.controllers[0] = 2
    port = cluster.brokers[2].port
    cluster.brokers[2].close(is_named=True)

    with joined(cluster) as found, pytest.raises(ClusterUnreachable) as unreachable:
        found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert str(unreachable.value) == (
        "no controller answers: the controller, broker 2, is advertised at"
        f" 127.0.0.1:{port}: connection refused (can that address be reached from here?);"
        " see to the brokers, and try again"
    )


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.CLOSE_MID_ANSWER, Fault.SILENCE])
def test_after_a_lost_answer_a_refusal_is_doubted(cluster: ScriptedCluster, fault: Fault) -> None:
    """The first request may have created the very topic that the second finds there."""
    cluster.fail(fault, to=CreateTopics)
    exists = TopicResult("t", ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists.")
    cluster.answer(CreateTopicsAnswer((exists,)), to=CreateTopics)

    with joined(cluster) as found:
        (result,) = Admin(found).create([NewTopic("t")])

    assert result.error is ErrorCode.TOPIC_ALREADY_EXISTS
    assert result.message == f"Topic 't' already exists.; {DOUBT}"


def test_a_search_for_the_controller_ends(cluster: ScriptedCluster) -> None:
    """And says what the last trouble was."""
    cluster.fail(*[Fault.NOT_CONTROLLER] * 9, to=CreateTopics)

    with joined(cluster) as found, pytest.raises(ClusterUnreachable) as unreachable:
        found.ask_controller(CreateTopics((NewTopic("t"),)))

    assert "says that it is not the controller any more" in str(unreachable.value)
    assert len(cluster.heard_of(CreateTopics)) == SHORT.attempts


def test_a_request_that_may_have_been_carried_out_is_said_to_be_in_doubt(
    cluster: ScriptedCluster,
) -> None:
    """Silence is no refusal."""
    cluster.fail(*[Fault.CLOSE] * 9, to=CreateTopics)

    with (
        joined(cluster) as found,
        pytest.raises(ClusterUnreachable, match="may have been carried out all the same"),
    ):
        found.ask_controller(CreateTopics((NewTopic("t"),)))


def test_a_connection_that_died_in_between_is_opened_again(cluster: ScriptedCluster) -> None:
    """Brokers hang up on clients that are idle."""
    with joined(cluster) as found:
        found.look(())
        cluster.fail(Fault.CLOSE, to=Metadata)

        assert len(found.look(()).brokers) == 3


def test_old_brokers_are_not_asked_by_name(cluster: ScriptedCluster) -> None:
    """Before version 4, a question about a missing topic could create it."""
    cluster.serve(ApiKey.METADATA, last_version=3)
    cluster.topics = [topic("t", partition(0, 1, 9)), topic("u", partition(0, 1))]

    with joined(cluster) as found:
        seen = found.look(["t", "none"])

    assert cluster.heard_of(Metadata) == [Metadata(None)]
    assert [each.name for each in seen.topics] == ["t"]
    # Nor did they say which replicas are offline.
    assert seen.topics[0].partitions[0].offline == (9,)


def test_a_request_refused_as_a_whole_is_an_exception_with_the_code(
    cluster: ScriptedCluster,
) -> None:
    """There are no results that could carry it."""
    refusal = ListReassignmentsAnswer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Not you.")
    cluster.answer(refusal, to=ListReassignments)

    with joined(cluster) as found, pytest.raises(RequestRefused) as refused:
        Admin(found).moving()

    assert str(refused.value) == (
        "the controller refuses ListReassignments: CLUSTER_AUTHORIZATION_FAILED: Not you; its"
        " ACLs do not let this client do that"
    )
    assert refused.value.error_code == 31


def test_moves_are_told_by_partition(cluster: ScriptedCluster) -> None:
    """As the controller has them."""
    move = assignment(3, 1, adding=(3,), removing=(1,))
    cluster.answer(
        ListReassignmentsAnswer(moving=((TopicPartition("t", 0), move),)), to=ListReassignments
    )

    with joined(cluster) as found:
        assert Admin(found).moving([TopicPartition("t", 0)]) == {TopicPartition("t", 0): move}

    assert cluster.heard_of(ListReassignments) == [ListReassignments((TopicPartition("t", 0),))]
