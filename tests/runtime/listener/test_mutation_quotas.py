"""Mutation quotas (KIP-599) as callers meet them: codes, waits, and a connection that is muted."""

import logging
import time
from typing import Any

import pytest
from msgspec import Struct

from regent.core.config import ControllerConfig
from regent.model.admin_requests import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
)
from regent.model.cluster_requests import DescribeCluster
from regent.model.error_codes import ErrorCode
from regent.wire.apis import APIS
from regent.wire.exchange import API_OF_REQUEST, Call, decode_answer, encode_request, to_call
from regent.zookeeper.config_writes import change_config
from regent.zookeeper.exchange import run
from tests.runtime.listener.served_node import ServedCluster, ServedNode, read_message

PATIENT_MS = 60_000
TOPICS = ("a", "b")
FINE, EXCEEDED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED
#: Three partitions a second, thirty at once.
THREE = "3"
#: The last versions that do not know the refusal.
OLD_CREATION, OLD_DELETION, OLD_GROWTH = 5, 4, 2
#: Ten thousand seconds' worth at once: no test takes so long that a burst comes back.
SLOW = ControllerConfig(quota_samples=10, quota_sample_s=1_000)


def served(cluster: ServedCluster, config: ControllerConfig | None = None) -> ServedNode:
    """A controller with bursts of ten seconds' worth, and one broker."""
    node = cluster.serve(config=config or ControllerConfig(quota_samples=10))
    cluster.start_brokers(1)
    return node


def allow(node: ServedNode, client_id: str, rate: str) -> None:
    """Set a client's quota, and let the controller hear of it."""

    def change() -> None:
        entity = f"clients/{client_id}"
        decided = {"controller_mutation_rate": rate}
        assert run(node.desk.session, change_config(entity, lambda _: decided)) is None
        node.desk.pump()

    node.do(change)


def to_client_call(request: Struct, client_id: str, api_version: int | None = None) -> Call:
    newest = APIS[API_OF_REQUEST[type(request)]].last_version
    return to_call(
        request,
        api_version=newest if api_version is None else api_version,
        correlation_id=1,
        client_id=client_id,
        timeout_ms=PATIENT_MS,
    )


def ask(node: ServedNode, client_id: str, request: Struct, api_version: int | None = None) -> Any:
    """Send a request as this client, over a connection of its own."""
    call = to_client_call(request, client_id, api_version)
    with node.connect() as link:
        link.sendall(encode_request(call))
        message = read_message(link)
    assert message is not None, "it hung up"
    return decode_answer(call, message)


def errors(answer: Any) -> list[ErrorCode]:
    return [result.error for result in answer.results]


def creation(*topics: str, partitions: int) -> CreateTopics:
    return CreateTopics(tuple(NewTopic(topic, partitions, 1) for topic in topics))


def growth(*topics: str, total: int) -> CreatePartitions:
    return CreatePartitions(tuple(MorePartitions(topic, total) for topic in topics))


def ask_again(node: ServedNode, client_id: str, request: Struct, throttle_ms: int) -> Any:
    """Wait as told, and ask once more."""
    time.sleep(throttle_ms / 1000)
    return ask(node, client_id, request)


# --- strict ---------------------------------------------------------------------------------------


def test_who_creates_too_much_is_refused_and_may_try_again(cluster: ServedCluster) -> None:
    """After the time that it is told, and not sooner."""
    node = served(cluster)
    allow(node, "app", THREE)

    answer = ask(node, "app", creation(*TOPICS, partitions=40))

    assert errors(answer) == [FINE, EXCEEDED]
    assert 0 <= answer.throttle_ms <= 10_000 / 3
    again = ask_again(node, "app", creation("b", partitions=40), answer.throttle_ms)
    assert (errors(again), again.throttle_ms) == ([FINE], 0)


@pytest.mark.behaviour("quo-009")
def test_who_adds_too_many_partitions_is_refused_and_may_try_again(cluster: ServedCluster) -> None:
    """Only what is added counts."""
    node = served(cluster)
    assert errors(ask(node, "maker", creation(*TOPICS, partitions=1))) == [FINE, FINE]
    allow(node, "app", THREE)

    answer = ask(node, "app", growth(*TOPICS, total=41))

    assert errors(answer) == [FINE, EXCEEDED]
    assert 0 <= answer.throttle_ms <= 10_000 / 3
    again = ask_again(node, "app", growth("b", total=41), answer.throttle_ms)
    assert (errors(again), again.throttle_ms) == ([FINE], 0)


@pytest.mark.behaviour("quo-017")
def test_partitions_that_are_deleted_count_like_those_that_are_made(
    cluster: ServedCluster,
) -> None:
    """18 at once: 6 made, 6 added, 12 deleted, and then not one more."""
    node = served(cluster, SLOW)
    allow(node, "app", "0.0018")

    steps = [
        creation("a", partitions=6),
        growth("a", total=12),
        DeleteTopics(("a",)),
        creation("b", partitions=1),
    ]
    answers = [errors(ask(node, "app", step)) for step in steps]

    assert answers == [[FINE], [FINE], [FINE], [EXCEEDED]]


# --- permissive -----------------------------------------------------------------------------------


@pytest.mark.behaviour("quo-007")
def test_who_cannot_be_refused_a_deletion_waits_for_it(cluster: ServedCluster) -> None:
    """30 becomes -50."""
    node = served(cluster)
    assert errors(ask(node, "maker", creation(*TOPICS, partitions=40))) == [FINE, FINE]
    allow(node, "app", THREE)

    answer = ask(node, "app", DeleteTopics(TOPICS), OLD_DELETION)

    assert errors(answer) == [FINE, FINE]
    assert 0 < answer.throttle_ms <= 50_000 / 3


@pytest.mark.behaviour("quo-010")
def test_who_cannot_be_refused_partitions_waits_for_them(cluster: ServedCluster) -> None:
    """30 becomes -50."""
    node = served(cluster)
    assert errors(ask(node, "maker", creation(*TOPICS, partitions=1))) == [FINE, FINE]
    allow(node, "app", THREE)

    answer = ask(node, "app", growth(*TOPICS, total=41), OLD_GROWTH)

    assert errors(answer) == [FINE, FINE]
    assert 0 < answer.throttle_ms <= 50_000 / 3


@pytest.mark.parametrize(
    ("last_old", "request_"),
    [
        pytest.param(OLD_CREATION, creation("new", partitions=1), id="creation"),
        pytest.param(OLD_GROWTH, growth("a", total=2), id="growth"),
        pytest.param(OLD_DELETION, DeleteTopics(("a",)), id="deletion"),
    ],
)
def test_since_which_version_a_caller_can_be_refused(
    cluster: ServedCluster, last_old: int, request_: Struct
) -> None:
    """Kafka's own limits: CreateTopics 6, CreatePartitions 3, DeleteTopics 5."""
    node = served(cluster, SLOW)
    ask(node, "maker", creation("a", partitions=1))
    allow(node, "app", "0.0000001")
    ask(node, "app", creation("b", partitions=1))

    strict = ask(node, "app", request_, last_old + 1)
    permissive = ask(node, "app", request_, last_old)

    assert (errors(strict), errors(permissive)) == ([EXCEEDED], [FINE])


# --- unlimited ------------------------------------------------------------------------------------


@pytest.mark.behaviour("quo-005")
def test_who_has_no_quota_creates_as_much_as_it_likes(cluster: ServedCluster) -> None:
    """Though others have one."""
    node = served(cluster)
    allow(node, "other", THREE)

    answer = ask(node, "app", creation(*TOPICS, partitions=40))

    assert (errors(answer), answer.throttle_ms) == ([FINE, FINE], 0)


@pytest.mark.behaviour("quo-011")
def test_who_has_no_quota_adds_as_much_as_it_likes(cluster: ServedCluster) -> None:
    """Though others have one."""
    node = served(cluster)
    allow(node, "other", THREE)
    ask(node, "app", creation(*TOPICS, partitions=1))

    answer = ask(node, "app", growth(*TOPICS, total=41))

    assert (errors(answer), answer.throttle_ms) == ([FINE, FINE], 0)


# --- the connection -------------------------------------------------------------------------------


@pytest.mark.behaviour("quo-015")
def test_a_connection_is_muted_for_as_long_as_its_caller_shall_wait(
    cluster: ServedCluster,
) -> None:
    """What it sends meanwhile is answered afterwards; another connection is not concerned."""
    node = served(cluster)
    allow(node, "app", "1")
    calls = [
        to_client_call(creation("a", partitions=11), "app", OLD_CREATION),
        to_client_call(DescribeCluster(), "app"),
    ]
    with node.connect() as link:
        began_s = time.monotonic()
        link.sendall(b"".join(map(encode_request, calls)))
        first, other = read_message(link), node.ask(DescribeCluster())
        second = read_message(link)
        took_ms = (time.monotonic() - began_s) * 1000

    assert first is not None
    assert second is not None
    answers = [decode_answer(calls[0], first), decode_answer(calls[1], second)]
    assert answers[0].throttle_ms <= 1_000
    assert took_ms >= answers[0].throttle_ms
    assert answers[1].nodes == other.nodes


def test_a_muted_caller_keeps_nobody_from_ending(
    cluster: ServedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """It has had its answer."""
    node = served(cluster, SLOW)
    allow(node, "app", "0.0000001")
    call = to_client_call(creation("a", partitions=1), "app", OLD_CREATION)
    with caplog.at_level(logging.WARNING), node.connect() as link:
        link.sendall(encode_request(call))
        message = read_message(link)
        assert message is not None
        assert decode_answer(call, message).throttle_ms > PATIENT_MS
        link.sendall(encode_request(to_client_call(DescribeCluster(), "app")))

        node.run(node.close())

        assert read_message(link) is None
    assert "without an answer" not in caplog.text
