"""A whole exchange: asked at one end, understood at the other, and back."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from regent.errors import ProtocolError
from regent.model.admin_requests import (
    DeleteTopics,
    DeleteTopicsAnswer,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    TopicResult,
)
from regent.model.cluster_requests import (
    OPERATIONS_UNTOLD,
    DescribeCluster,
    DescribeClusterAnswer,
    Metadata,
    MetadataAnswer,
)
from regent.model.config_requests import (
    ConfigDescription,
    ConfigSource,
    ConfigType,
    DescribeConfigs,
    DescribeConfigsAnswer,
)
from regent.model.control_requests import ControlAnswer, LeaderAndIsr
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.model.protocol_version import ProtocolVersion, request_versions
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.control_encoder import ControlRequestEncoder
from regent.wire.exchange import (
    API_OF_REQUEST,
    CODECS,
    CONVERSIONS,
    Call,
    decode_answer,
    decode_request,
    encode_answer,
    encode_api_versions_answer,
    encode_request,
    encode_request_values,
    to_call,
)
from regent.wire.frames import FrameReader
from regent.wire.headers import RequestHeader
from regent.wire.payloads import request_schema
from regent.wire.values import NOT_THROTTLED, to_uuid
from tests.unit.wire import samples
from tests.unit.wire.client_samples import CLIENT_REQUESTS
from tests.unit.wire.client_versions import said_by_version

VERSIONS = [
    (api, version)
    for api in APIS.values()
    if api.key in API_OF_REQUEST.values()
    for version in range(api.first_version, api.last_version + 1)
]
#: Protocol versions of brokers from 2.4 to 3.9, and how LeaderAndIsr, UpdateMetadata and
#: StopReplica are then numbered.
PROTOCOLS = {
    "2.4-IV0": (3, 5, 1),
    "2.4": (4, 6, 2),
    "2.5": (4, 6, 2),
    "2.6": (4, 6, 3),
    "2.7": (4, 6, 3),
    "2.8": (5, 7, 3),
    "3.1": (5, 7, 3),
    "3.2": (6, 7, 3),
    "3.3": (6, 7, 3),
    "3.4": (7, 8, 4),
    "3.9": (7, 8, 4),
}


def only_message(*pieces: bytes) -> bytes | bytearray:
    """The one message that these bytes are."""
    reader = FrameReader()
    (message,) = [message for piece in pieces for message in reader.feed(piece)]
    return message


def said_by(value: Struct, api_name: str, version: int) -> Struct:
    """The sample as far as a version can say it."""
    if api_name in CLIENT_REQUESTS:
        return said_by_version(value, version)
    if api_name == "ControlledShutdown" and version < 2 and hasattr(value, "broker_epoch"):
        return replace(value, broker_epoch=-1)
    if api_name == "AlterPartition" and version < 1:
        field = "proposals" if hasattr(value, "proposals") else "verdicts"
        entries = tuple(replace(entry, recovering=False) for entry in getattr(value, field))
        return replace(value, **{field: entries})
    if api_name in {"CreateTopics", "DeleteTopics"} and hasattr(value, "results"):
        return replace(value, results=_results_said_by(value.results, api_name, version))
    return replace(value, **_lost_in(value, version))


def _lost_in(value: Struct, version: int) -> dict[str, Any]:
    """What the older versions of the requests about clusters and configs cannot say."""
    match value:
        case Metadata():
            lost = {} if version >= 4 else {"may_create": True}
            return lost if version >= 8 else {**lost, "with_cluster_operations": False}
        case MetadataAnswer():
            return _metadata_lost_in(value, version)
        case DescribeCluster() | DescribeClusterAnswer():
            return {} if version >= 1 else {"endpoint_type": 1}
        case DescribeConfigs():
            lost = {} if version >= 1 else {"with_synonyms": False}
            return lost if version >= 3 else {**lost, "with_documentation": False}
        case DescribeConfigsAnswer():
            return {"results": tuple(_description_said_by(each, version) for each in value.results)}
        case _:
            return {}


def _metadata_lost_in(answer: MetadataAnswer, version: int) -> dict[str, Any]:
    lost: dict[str, Any] = {}
    topic_lost: dict[str, Any] = {}
    partition_lost: dict[str, Any] = {}
    if version < 1:
        lost |= {"controller_id": -1, "nodes": tuple(replace(n, rack=None) for n in answer.nodes)}
        topic_lost["is_internal"] = False
    if version < 2:
        lost["cluster_id"] = None
    if version < 5:
        partition_lost["offline_replicas"] = ()
    if version < 7:
        partition_lost["leader_epoch"] = -1
    if version < 8:
        lost["cluster_operations"] = topic_lost["operations"] = OPERATIONS_UNTOLD
    topics = tuple(
        replace(
            topic,
            **topic_lost,
            partitions=tuple(replace(each, **partition_lost) for each in topic.partitions),
        )
        for topic in answer.topics
    )
    return {**lost, "topics": topics}


def _description_said_by(description: ConfigDescription, version: int) -> ConfigDescription:
    lost: dict[str, Any] = {} if version >= 1 else {"synonyms": ()}
    if version < 3:
        lost |= {"kind": ConfigType.UNKNOWN, "documentation": None}
    entries = []
    for entry in description.entries:
        if version < 1 and entry.source != ConfigSource.DEFAULT:
            lost["source"] = 0
        entries.append(replace(entry, **lost))
        lost.pop("source", None)
    return replace(description, entries=tuple(entries))


def _results_said_by(results: tuple[Any, ...], api_name: str, version: int) -> tuple[Any, ...]:
    messages_since, ids_since = (1, 7) if api_name == "CreateTopics" else (5, 6)
    lost: dict[str, Any] = {}
    if version < messages_since:
        lost["message"] = None
    if version < ids_since:
        lost["topic_id"] = None
    if version < 5:
        lost |= {"partition_count": -1, "replication_factor": -1}
    return tuple(replace(result, **lost) for result in results)


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=str)
def test_a_request_is_understood_and_its_answer_too(api: Api, version: int) -> None:
    request = samples.request_of(api.name, version)
    asked = to_call(
        request, api_version=version, correlation_id=77, client_id="admin", timeout_ms=1_500
    )

    heard = decode_request(only_message(encode_request(asked)))

    expected = said_by(request, api.name, version)
    schema = request_schema(api.key, version)
    has_timeout = api.key not in CODECS and "timeout" in {field.name for field in fields(schema)}
    client_id = None if (api.name, version) == ("ControlledShutdown", 0) else "admin"
    header = RequestHeader(api.key, version, 77, client_id)
    assert heard == Call(header, expected, 1_500 if has_timeout else 0)

    answer = samples.answer_of(api.name, version)
    got = decode_answer(asked, only_message(encode_answer(heard, answer)))

    assert got == said_by(answer, api.name, version)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_brokers_of_each_protocol_are_told_in_their_versions(protocol: str) -> None:
    """A controller does not ask what a broker speaks; it knows, and must be right."""
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text(protocol)), client_id="4"
    )
    stops = samples.stop_replica(is_mixed=False)
    spoken = []

    for request in (samples.LEADER_AND_ISR, samples.UPDATE_METADATA, stops):
        call = encoder.to_call(request, 5)
        heard = decode_request(only_message(*encoder.encode(call, samples.ENDPOINTS)))
        assert heard.header == call.header
        assert heard.header.client_id == "4"
        assert type(heard.request) is type(request)
        assert len(heard.request.partitions) == 3
        spoken.append(heard.header.api_version)

    assert tuple(spoken) == PROTOCOLS[protocol]


def test_the_newest_brokers_hear_all_that_is_said() -> None:
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text("3.9")), client_id="4"
    )
    stops = samples.stop_replica(is_mixed=True)

    for request in (samples.LEADER_AND_ISR, samples.UPDATE_METADATA, stops):
        call = encoder.to_call(request, 5)
        heard = decode_request(only_message(*encoder.encode(call, samples.ENDPOINTS)))
        assert heard.request == request


@pytest.mark.parametrize("protocol", ["2.4", "2.8", "3.9"])
def test_the_answer_of_a_broker_comes_back(protocol: str) -> None:
    """From LeaderAndIsr 5 on it names topics by id, and we know from our request whose they are."""
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text(protocol)), client_id="4"
    )
    answer = ControlAnswer(partition_errors=samples.PARTITION_ERRORS[:2])

    for request in (samples.LEADER_AND_ISR, samples.stop_replica(is_mixed=False)):
        call = encoder.to_call(request, 5)
        heard = decode_request(only_message(*encoder.encode(call, samples.ENDPOINTS)))
        assert decode_answer(call, only_message(encode_answer(heard, answer))) == answer


def test_errors_of_topics_that_were_not_named_are_left_out() -> None:
    """A zero id stands for every topic without one: better no news than false news."""
    request: LeaderAndIsr = samples.LEADER_AND_ISR
    call = Call(RequestHeader(ApiKey.LEADER_AND_ISR, 7, 5), request)

    got = decode_answer(call, only_message(encode_answer(call, samples.CONTROL_ANSWER)))

    assert got.partition_errors == samples.PARTITION_ERRORS[:2]


def test_a_live_leader_without_an_address_is_left_out() -> None:
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text("3.9")), client_id="4"
    )
    call = encoder.to_call(samples.LEADER_AND_ISR, 5)
    known = {samples.B2: samples.ENDPOINTS[samples.B2]}

    heard = decode_request(only_message(*encoder.encode(call, known)))

    assert heard.request.live_leaders == (samples.B2,)


def test_an_old_stop_replica_cannot_be_mixed() -> None:
    """The core parts them; if it did not, data would be deleted that should stay."""
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text("2.4")), client_id="4"
    )
    call = encoder.to_call(samples.stop_replica(is_mixed=True), 5)

    with pytest.raises(ProtocolError, match="all of its partitions or none"):
        encoder.encode(call, samples.ENDPOINTS)


# --- what single requests need ------------------------------------------------------------------


def test_topics_are_deleted_by_id() -> None:
    """An unknown one is answered by its id and without a name."""
    unknown = "AAAAAAAAAAAAAAAAAAAAAQ"
    request = DeleteTopics((samples.ORDERS_ID, unknown), by_id=True)
    asked = to_call(request, api_version=6, correlation_id=1)
    answer = DeleteTopicsAnswer(
        (
            TopicResult("orders", topic_id=samples.ORDERS_ID),
            TopicResult(unknown, ErrorCode.UNKNOWN_TOPIC_ID, "no such id", unknown),
        )
    )

    heard = decode_request(only_message(encode_request(asked)))
    encoded = only_message(encode_answer(heard, answer))

    assert heard.request == request
    assert decode_answer(asked, encoded) == answer
    assert unknown.encode() not in encoded


def test_ids_need_the_version_that_has_them() -> None:
    asked = to_call(DeleteTopics((samples.ORDERS_ID,), by_id=True), api_version=5, correlation_id=1)

    with pytest.raises(ProtocolError, match="DeleteTopics 5 deletes by name only"):
        encode_request(asked)


@pytest.mark.parametrize("topic", [("orders", samples.ORDERS_ID), (None, None)])
def test_a_topic_to_delete_has_a_name_or_an_id(topic: tuple[str | None, str | None]) -> None:
    """Both or neither is refused, as in Kafka."""
    name, topic_id = topic
    header = RequestHeader(ApiKey.DELETE_TOPICS, 6, 1)
    values = {
        "topics": [{"name": name, "topic_id": to_uuid(topic_id)}],
        "timeout": NOT_THROTTLED,
    }

    with pytest.raises(ProtocolError, match="each topic needs a name, or each an id"):
        decode_request(only_message(encode_request_values(header, values)))


@pytest.mark.parametrize(
    ("version", "expected"),
    [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)],
)
def test_old_clients_hear_an_older_code(version: int, expected: ErrorCode) -> None:
    """Kafka 3.9, KafkaApis.scala: the code for disabled deletion came with version 3."""
    call = to_call(DeleteTopics(("t",)), api_version=version, correlation_id=1)
    answer = DeleteTopicsAnswer((TopicResult("t", ErrorCode.TOPIC_DELETION_DISABLED),))

    got = decode_answer(call, only_message(encode_answer(call, answer)))

    assert got.results[0].error is expected


def test_all_partitions_or_some() -> None:
    """None means all, and nothing means nothing."""
    some = (TopicPartition("orders", 0), TopicPartition("pâtés", 1))
    for partitions in (None, (), some):
        requests = (
            ElectLeaders(ElectionType.UNCLEAN, partitions),
            ListReassignments(partitions),
        )
        for request in requests:
            last = APIS[API_OF_REQUEST[type(request)]].last_version
            asked = to_call(request, api_version=last, correlation_id=1)
            assert decode_request(only_message(encode_request(asked))).request == request


def test_the_first_elections_were_of_preferred_leaders_only() -> None:
    asked = to_call(ElectLeaders(ElectionType.UNCLEAN), api_version=0, correlation_id=1)

    with pytest.raises(ProtocolError, match="elects preferred leaders only"):
        encode_request(asked)


def test_an_election_of_an_unknown_type_is_refused() -> None:
    header = RequestHeader(ApiKey.ELECT_LEADERS, 2, 1)
    values = {"election_type": 7, "topic_partitions": None, "timeout": NOT_THROTTLED}

    with pytest.raises(ProtocolError, match="no election of type 7"):
        decode_request(only_message(encode_request_values(header, values)))


# --- without the model --------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_clients_hear_what_is_spoken_here(version: int) -> None:
    values = {"client_software_name": "regent", "client_software_version": "1"}
    asked = Call(RequestHeader(ApiKey.API_VERSIONS, version, 9, "admin"), None)

    heard = decode_request(only_message(encode_request_values(asked.header, values)))
    got = decode_answer(asked, only_message(encode_api_versions_answer(heard.header)))

    told = {entry.api_key: (entry.min_version, entry.max_version) for entry in got.api_keys}
    spoken = {api.key: (api.first_version, api.last_version) for api in APIS.values()}
    # Older librdkafkas compress for nobody else.
    assert told == spoken | {ApiKey.PRODUCE: (0, 8)}
    assert got.error_code == 0


def test_a_client_from_the_future_hears_it_in_version_0() -> None:
    """It asks in the newest version it has, and comes back with one that we told it."""
    request = bytes.fromhex("0012 0063 00000009 0001 61 00 ffffff")

    heard = decode_request(request)
    answer = only_message(encode_api_versions_answer(heard.header, [APIS[ApiKey.API_VERSIONS]]))

    assert heard.request is None
    assert answer.hex(" ") == "00 00 00 09 00 23 00 00 00 01 00 12 00 00 00 04"


@pytest.mark.parametrize("version", range(9))
def test_all_topics_are_asked_for_by_none_or_in_the_oldest_way(version: int) -> None:
    """Version 0 had no null, and an empty list said it; from 1 on that means no topic at all."""
    for topics in (None, ()):
        asked = to_call(Metadata(topics), api_version=version, correlation_id=1)

        heard = decode_request(only_message(encode_request(asked)))

        assert heard.request == Metadata(None if version == 0 else topics)


# --- from strangers -----------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    api=st.sampled_from(list(APIS.values())),
    version=st.integers(-1, 12),
    rest=st.binary(max_size=80),
)
def test_any_request_is_understood_or_refused(api: Api, version: int, rest: bytes) -> None:
    """A value or a `ProtocolError`, and nothing else, after a header that looks right."""
    start = api.key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + bytes(4)
    try:
        call = decode_request(start + rest)
    except ProtocolError:
        return
    assert call.header.api_key == api.key


@settings(max_examples=200, deadline=None)
@given(
    api=st.sampled_from([api for api in APIS.values() if api.key in {*CONVERSIONS, *CODECS}]),
    rest=st.binary(max_size=80),
)
def test_any_answer_is_understood_or_refused(api: Api, rest: bytes) -> None:
    for version in range(api.first_version, api.last_version + 1):
        request = samples.request_of(api.name, version)
        call = Call(RequestHeader(api.key, version, 0), request)
        try:
            answer = decode_answer(call, bytes(4) + rest)
        except ProtocolError:
            continue
        assert type(answer) is type(samples.answer_of(api.name, version))
