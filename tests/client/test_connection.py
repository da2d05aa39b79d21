"""One connection: what is agreed on, and everything that can go wrong with it."""

import socket

import pytest

from regent.client.addresses import Address, parse_bootstrap
from regent.client.connection import Connection
from regent.client.patience import Patience
from regent.errors import BadInput, BrokerGone, NotSupported
from regent.model.admin_requests import (
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    NewTopic,
)
from regent.model.cluster_requests import Metadata, MetadataAnswer
from regent.wire.apis import ApiKey
from tests.support.scripted_broker import HOST, Fault, ScriptedCluster

HASTY = Patience(connect_s=2, answer_s=2)


def opened(cluster: ScriptedCluster, patience: Patience = Patience()) -> Connection:  # noqa: B008
    return Connection.open(Address(HOST, cluster.brokers[1].port), patience)


def test_an_answer_comes_back(cluster: ScriptedCluster) -> None:
    """And a second one on the same connection."""
    connection = opened(cluster)
    try:
        answers = [connection.ask(Metadata(())) for _ in range(2)]
    finally:
        connection.close()

    assert answers == [cluster.metadata(Metadata(()))] * 2
    assert isinstance(answers[0], MetadataAnswer)


@pytest.mark.parametrize("last_version", [0, 2, 3])
def test_a_broker_that_finds_our_question_too_new_is_asked_in_its_own_version(
    cluster: ScriptedCluster, last_version: int
) -> None:
    """Before 2.4 it does not even say which version it knows."""
    cluster.api_versions_last = last_version
    connection = opened(cluster)
    connection.close()

    assert connection.version_for(ApiKey.CREATE_TOPICS) == 7


def test_the_highest_common_version_is_spoken(cluster: ScriptedCluster) -> None:
    """Older brokers are asked as they can hear."""
    cluster.serve(ApiKey.METADATA, last_version=5)
    connection = opened(cluster)
    connection.close()

    assert connection.version_for(ApiKey.METADATA) == 5
    assert connection.version_for(ApiKey.CREATE_TOPICS) == 7


@pytest.mark.parametrize(
    ("api_key", "last_version", "request_"),
    [
        # Version 0 has no word for it, and would create the topic.
        (ApiKey.CREATE_TOPICS, 0, CreateTopics((NewTopic("t"),), validate_only=True)),
        (ApiKey.DELETE_TOPICS, 5, DeleteTopics(("AAAAAAAAAAAAAAAAAAAAAQ",), by_id=True)),
        (ApiKey.ELECT_LEADERS, 0, ElectLeaders(ElectionType.UNCLEAN)),
        (ApiKey.METADATA, 0, Metadata()),
        (ApiKey.ELECT_LEADERS, None, ElectLeaders(ElectionType.PREFERRED)),
    ],
)
def test_what_a_broker_cannot_hear_is_not_said(
    cluster: ScriptedCluster, api_key: ApiKey, last_version: int | None, request_: CreateTopics
) -> None:
    """A request that loses half its meaning on the way is worse than none."""
    cluster.serve(api_key, last_version=last_version)
    connection = opened(cluster)
    try:
        with pytest.raises(NotSupported, match=r"127\.0\.0\.1:\d+ (does not speak|speaks)"):
            connection.ask(request_)
    finally:
        connection.close()

    assert cluster.heard == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.CLOSE, "it closed the connection instead of an answer; does it want SASL or TLS?"),
        (Fault.CLOSE_MID_ANSWER, "it closed the connection in the middle of an answer"),
        (Fault.GARBAGE, "it answers what is not Kafka's protocol: an answer ends within"),
        (Fault.OTHER_REQUESTS_ANSWER, "an answer to request 3 came where 2 was due"),
        (Fault.LEFTOVER_BYTES, "MetadataResponse: 1 bytes are left over"),
        (Fault.SPEAK_HTTP, "it speaks HTTP; give the address of a broker's Kafka listener"),
        (Fault.WANT_TLS, "it wants TLS; give a PLAINTEXT listener of the brokers"),
        (Fault.SILENCE, "it does not answer in time"),
    ],
)
def test_a_connection_that_fails_is_closed_and_says_why(
    cluster: ScriptedCluster, fault: Fault, reason: str
) -> None:
    """What comes later on it could be the answer to something else."""
    cluster.fail(fault, to=Metadata)
    connection = opened(cluster, HASTY)

    with pytest.raises(BrokerGone) as gone:
        connection.ask(Metadata(()))

    assert reason in str(gone.value)
    assert str(gone.value).startswith(f"127.0.0.1:{cluster.brokers[1].port}: ")
    assert not connection.is_open


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.GARBAGE, Fault.SPEAK_HTTP, Fault.SILENCE])
def test_a_port_that_is_no_broker_is_found_out_at_once(
    cluster: ScriptedCluster, fault: Fault
) -> None:
    """The first question tells; no socket stays open."""
    cluster.fail(fault, to=None)

    with pytest.raises(BrokerGone):
        opened(cluster, HASTY)


def test_a_closed_port_is_told_as_the_system_tells_it() -> None:
    """With the address, which may be a typing error."""
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]

    with pytest.raises(BrokerGone, match=rf"127\.0\.0\.1:{port}: connection refused"):
        Connection.open(Address(HOST, port), HASTY)


def test_a_host_that_cannot_be_a_name_is_refused() -> None:
    """An empty label trips Python's encoder, not the resolver."""
    with pytest.raises(BrokerGone, match="this is no name of a host"):
        Connection.open(Address("a..b", 9092), HASTY)


def test_addresses_are_read() -> None:
    """Each once, and IPv6 in brackets."""
    read = parse_bootstrap("a:1, [::1]:2,a:1")

    assert read == (Address("a", 1), Address("::1", 2))
    assert [str(address) for address in read] == ["a:1", "[::1]:2"]


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:0", "a:65536", "a:b", "::1:2", "a:1,"])
def test_what_is_no_address_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(BadInput, match="write it like broker-1:9092"):
        parse_bootstrap(text)
