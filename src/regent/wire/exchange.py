"""Whole requests and whole answers: values of the model to frames, and messages back to values.

Both ends of every exchange are here, because Regent is both: a controller that asks brokers and
is asked by them, and a client of other controllers. The three requests that a controller sends to
brokers are read here and written by `control_encoder`; Produce and Fetch have codecs of their own.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from kio.schema.errors import ErrorCode as KioErrorCode
from msgspec import Struct

from regent.model.admin_requests import (
    AlterReassignments,
    ControlledShutdown,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectLeaders,
    ListReassignments,
)
from regent.model.alter_partition import AlterPartition
from regent.model.cluster_requests import DescribeCluster, Metadata
from regent.model.config_requests import AlterConfigs, DescribeConfigs, IncrementalAlterConfigs
from regent.model.producer_ids import AllocateProducerIds
from regent.model.record_requests import FetchRecords, Produce
from regent.wire import (
    alter_partition,
    cluster,
    configs,
    controlled_shutdown,
    elections,
    fetch_codec,
    leader_and_isr,
    produce_codec,
    producer_ids,
    reassignments,
    stop_replica,
    topics,
    update_metadata,
)
from regent.wire.apis import ADVERTISED_SINCE, APIS, Api, ApiKey
from regent.wire.client_conversions import CLIENT_CONVERSIONS, ClientConversion
from regent.wire.frames import frame_prefix, to_frame
from regent.wire.headers import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from regent.wire.limits import DEFAULT_LIMITS, WireLimits
from regent.wire.message_tables import Values
from regent.wire.payloads import encode_payload, request_schema, response_schema
from regent.wire.plain_fields import Part
from regent.wire.strict_reader import Content, read_payload
from regent.wire.values import NOT_THROTTLED, to_milliseconds


class Call(Struct, frozen=True):
    """A request that came, or that was sent: all that reading or writing its answer needs.

    `request` is a value of the model where the model has one, and otherwise the message in kio's
    form. It is None for a version of ApiVersions that is unknown here.
    """

    header: RequestHeader
    request: Any
    #: How long the caller wants to wait; 0 where the request does not say, or says it itself.
    timeout_ms: int = 0


class Conversion(Struct, frozen=True):
    """How one API goes to and from the model, at both ends."""

    request_values: Callable[[Any, int], Values] | None
    request_from: Callable[[Any, int], Any]
    answer_values: Callable[[Any, Call], Values]
    answer_from: Callable[[Any, Call], Any]


class ByteCodec(Struct, frozen=True):
    """How one API goes to and from bytes where values on the way would take too long."""

    #: Content, where it starts, version, limits.
    read_request: Callable[[Content, int, int, WireLimits], Any]
    write_request: Callable[[Any, int], list[Part]]
    read_answer: Callable[[Content, int, int, WireLimits], Any]
    write_answer: Callable[[Any, int], list[Part]]


def _by_version(row: ClientConversion) -> Conversion:
    return Conversion(
        row.request_values,
        row.request_from,
        lambda answer, call: row.answer_values(answer, call.header.api_version),
        lambda payload, call: row.answer_from(payload, call.header.api_version),
    )


#: By API: what reads and writes it without kio.
CODECS: Final[Mapping[int, ByteCodec]] = {
    ApiKey.PRODUCE: ByteCodec(
        produce_codec.read_request,
        produce_codec.write_request,
        produce_codec.read_answer,
        produce_codec.write_answer,
    ),
    ApiKey.FETCH: ByteCodec(
        fetch_codec.read_request,
        fetch_codec.write_request,
        fetch_codec.read_answer,
        fetch_codec.write_answer,
    ),
}

#: By API: how its request is written and read, and how its answer is.
CONVERSIONS: Final[Mapping[int, Conversion]] = {
    ApiKey.LEADER_AND_ISR: Conversion(
        None,  # `control_encoder` writes it
        lambda payload, _: leader_and_isr.request_from(payload),
        lambda answer, call: leader_and_isr.answer_values(answer, dict(call.request.topic_ids)),
        lambda payload, call: leader_and_isr.answer_from(payload, dict(call.request.topic_ids)),
    ),
    ApiKey.UPDATE_METADATA: Conversion(
        None,
        lambda payload, _: update_metadata.request_from(payload),
        lambda answer, _: update_metadata.answer_values(answer),
        lambda payload, _: update_metadata.answer_from(payload),
    ),
    ApiKey.STOP_REPLICA: Conversion(
        None,
        lambda payload, _: stop_replica.request_from(payload),
        lambda answer, _: stop_replica.answer_values(answer),
        lambda payload, _: stop_replica.answer_from(payload),
    ),
    ApiKey.CONTROLLED_SHUTDOWN: Conversion(
        lambda request, _: controlled_shutdown.request_values(request),
        lambda payload, _: controlled_shutdown.request_from(payload),
        lambda answer, _: controlled_shutdown.answer_values(answer),
        lambda payload, _: controlled_shutdown.answer_from(payload),
    ),
    ApiKey.ALTER_PARTITION: Conversion(
        lambda request, _: alter_partition.request_values(request),
        alter_partition.request_from,
        lambda answer, _: alter_partition.answer_values(answer),
        lambda payload, _: alter_partition.answer_from(payload),
    ),
    ApiKey.CREATE_TOPICS: Conversion(
        lambda request, _: topics.creation_values(request),
        lambda payload, _: topics.creation_from(payload),
        lambda answer, _: topics.creation_answer_values(answer),
        lambda payload, _: topics.creation_answer_from(payload),
    ),
    ApiKey.CREATE_PARTITIONS: Conversion(
        lambda request, _: topics.growth_values(request),
        lambda payload, _: topics.growth_from(payload),
        lambda answer, _: topics.growth_answer_values(answer),
        lambda payload, _: topics.growth_answer_from(payload),
    ),
    ApiKey.DELETE_TOPICS: Conversion(
        topics.deletion_values,
        lambda payload, _: topics.deletion_from(payload),
        lambda answer, call: topics.deletion_answer_values(
            answer, call.request, call.header.api_version
        ),
        lambda payload, _: topics.deletion_answer_from(payload),
    ),
    ApiKey.ELECT_LEADERS: Conversion(
        elections.request_values,
        lambda payload, _: elections.request_from(payload),
        lambda answer, _: elections.answer_values(answer),
        lambda payload, _: elections.answer_from(payload),
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Conversion(
        lambda request, _: reassignments.alteration_values(request),
        lambda payload, _: reassignments.alteration_from(payload),
        lambda answer, _: reassignments.alteration_answer_values(answer),
        lambda payload, _: reassignments.alteration_answer_from(payload),
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Conversion(
        lambda request, _: reassignments.listing_values(request),
        lambda payload, _: reassignments.listing_from(payload),
        lambda answer, _: reassignments.listing_answer_values(answer),
        lambda payload, _: reassignments.listing_answer_from(payload),
    ),
    ApiKey.METADATA: Conversion(
        cluster.metadata_values,
        cluster.metadata_from,
        lambda answer, _: cluster.metadata_answer_values(answer),
        lambda payload, _: cluster.metadata_answer_from(payload),
    ),
    ApiKey.DESCRIBE_CLUSTER: Conversion(
        lambda request, _: cluster.cluster_values(request),
        lambda payload, _: cluster.cluster_from(payload),
        lambda answer, _: cluster.cluster_answer_values(answer),
        lambda payload, _: cluster.cluster_answer_from(payload),
    ),
    ApiKey.DESCRIBE_CONFIGS: Conversion(
        lambda request, _: configs.question_values(request),
        lambda payload, _: configs.question_from(payload),
        lambda answer, _: configs.description_values(answer),
        lambda payload, _: configs.description_from(payload),
    ),
    ApiKey.ALTER_CONFIGS: Conversion(
        lambda request, _: configs.replacement_values(request),
        lambda payload, _: configs.replacement_from(payload),
        lambda answer, _: configs.result_values(answer),
        lambda payload, _: configs.result_from(payload),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Conversion(
        lambda request, _: configs.alteration_values(request),
        lambda payload, _: configs.alteration_from(payload),
        lambda answer, _: configs.result_values(answer),
        lambda payload, _: configs.result_from(payload),
    ),
    ApiKey.ALLOCATE_PRODUCER_IDS: Conversion(
        lambda request, _: producer_ids.request_values(request),
        lambda payload, _: producer_ids.request_from(payload),
        lambda answer, _: producer_ids.answer_values(answer),
        lambda payload, _: producer_ids.answer_from(payload),
    ),
    **{key: _by_version(row) for key, row in CLIENT_CONVERSIONS.items()},
}

#: Which API carries which request of the model.
API_OF_REQUEST: Final[Mapping[type[Struct], ApiKey]] = {
    ControlledShutdown: ApiKey.CONTROLLED_SHUTDOWN,
    AlterPartition: ApiKey.ALTER_PARTITION,
    CreateTopics: ApiKey.CREATE_TOPICS,
    CreatePartitions: ApiKey.CREATE_PARTITIONS,
    DeleteTopics: ApiKey.DELETE_TOPICS,
    ElectLeaders: ApiKey.ELECT_LEADERS,
    AlterReassignments: ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ListReassignments: ApiKey.LIST_PARTITION_REASSIGNMENTS,
    Metadata: ApiKey.METADATA,
    DescribeCluster: ApiKey.DESCRIBE_CLUSTER,
    DescribeConfigs: ApiKey.DESCRIBE_CONFIGS,
    AlterConfigs: ApiKey.ALTER_CONFIGS,
    IncrementalAlterConfigs: ApiKey.INCREMENTAL_ALTER_CONFIGS,
    AllocateProducerIds: ApiKey.ALLOCATE_PRODUCER_IDS,
    Produce: ApiKey.PRODUCE,
    FetchRecords: ApiKey.FETCH,
    **{row.request_type: key for key, row in CLIENT_CONVERSIONS.items()},
}


# --- the end that asks --------------------------------------------------------------------------


def to_call(
    request: Struct,
    *,
    api_version: int,
    correlation_id: int,
    client_id: str | None = None,
    timeout_ms: int = 0,
) -> Call:
    """A request of the model, addressed."""
    api_key = API_OF_REQUEST[type(request)]
    header = RequestHeader(api_key, api_version, correlation_id, client_id)
    return Call(header, request, timeout_ms)


def encode_request(call: Call) -> bytes:
    """The frame of a request of the model."""
    header = call.header
    codec = CODECS.get(header.api_key)
    if codec is not None:
        parts = codec.write_request(call.request, header.api_version)
        return to_frame(encode_request_header(header), *parts)
    conversion = CONVERSIONS[header.api_key]
    assert conversion.request_values is not None, "control_encoder writes what a controller sends"
    values = conversion.request_values(call.request, header.api_version)
    return encode_request_values(
        header, {**values, "timeout": timedelta(milliseconds=call.timeout_ms)}
    )


def encode_request_values(header: RequestHeader, values: Values) -> bytes:
    """The frame of a request that the model does not have, such as ApiVersions."""
    schema = request_schema(header.api_key, header.api_version)
    return to_frame(encode_request_header(header), encode_payload(schema, values))


def decode_answer(call: Call, message: Content, limits: WireLimits = DEFAULT_LIMITS) -> Any:
    """The answer of the model, or in kio's form where the model has none."""
    header = call.header
    offset = decode_response_header(message, header)
    codec = CODECS.get(header.api_key)
    if codec is not None:
        return codec.read_answer(message, offset, header.api_version, limits)
    schema = response_schema(header.api_key, header.api_version)
    payload = read_payload(schema, message, offset, limits)
    conversion = CONVERSIONS.get(header.api_key)
    return payload if conversion is None else conversion.answer_from(payload, call)


# --- the end that answers -----------------------------------------------------------------------


def decode_request(message: Content, limits: WireLimits = DEFAULT_LIMITS) -> Call:
    """The request that is in a message; `ProtocolError` for what is none that is spoken here.

    Records are views of the message: a caller that reuses its buffer has to copy them first.
    """
    header, offset = decode_request_header(message, limits)
    if not header.api.speaks(header.api_version):
        return Call(header, None)
    codec = CODECS.get(header.api_key)
    if codec is not None:
        return Call(header, codec.read_request(message, offset, header.api_version, limits))
    schema = request_schema(header.api_key, header.api_version)
    payload = read_payload(schema, message, offset, limits)
    conversion = CONVERSIONS.get(header.api_key)
    if conversion is None:
        return Call(header, payload)
    timeout_ms = to_milliseconds(getattr(payload, "timeout", NOT_THROTTLED))
    return Call(header, conversion.request_from(payload, header.api_version), timeout_ms)


def encode_answer(call: Call, answer: Struct) -> bytes:
    """The frame of an answer of the model."""
    if call.header.api_key in CODECS:
        return b"".join(encode_answer_parts(call, answer))
    values = CONVERSIONS[call.header.api_key].answer_values(answer, call)
    return encode_answer_values(call.header, values)


def encode_answer_parts(call: Call, answer: Struct) -> list[Part]:
    """The frame in parts, in which records are not copied; good for `writelines`."""
    codec = CODECS.get(call.header.api_key)
    if codec is None:
        return [encode_answer(call, answer)]
    header = encode_response_header(call.header)
    parts = codec.write_answer(answer, call.header.api_version)
    return [frame_prefix((header, *parts)) + header, *parts]


def encode_answer_values(header: RequestHeader, values: Values) -> bytes:
    """The frame of an answer that the model does not have, such as that to ApiVersions."""
    schema = response_schema(header.api_key, header.api_version)
    return to_frame(encode_response_header(header), encode_payload(schema, values))


def encode_api_versions_answer(
    header: RequestHeader, served: Iterable[Api] = tuple(APIS.values())
) -> bytes:
    """What is spoken here.

    Whoever asks in a version that is too new hears so in version 0, which everybody can read,
    and asks again.
    """
    is_spoken = APIS[ApiKey.API_VERSIONS].speaks(header.api_version)
    values = {
        "error_code": KioErrorCode.none if is_spoken else KioErrorCode.unsupported_version,
        "api_keys": [
            {
                "api_key": api.key,
                "min_version": ADVERTISED_SINCE.get(api.key, api.first_version),
                "max_version": api.last_version,
            }
            for api in served
        ],
        "throttle_time": NOT_THROTTLED,
    }
    answered = header if is_spoken else RequestHeader(header.api_key, 0, header.correlation_id)
    return encode_answer_values(answered, values)
