"""The content of any request or response in any version: which schema it has, and its bytes."""

import struct
from collections.abc import Mapping
from functools import cache
from io import BytesIO
from typing import Any, Final

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_writer
from kio.serial.errors import SerialError
from kio.static.constants import EntityType

from regent.errors import ProtocolError
from regent.wire import (
    alter_partition,
    configs,
    controlled_shutdown,
    leader_and_isr,
    stop_replica,
    topics,
    update_metadata,
)
from regent.wire.apis import APIS
from regent.wire.message_tables import Values, WireMessage, build, make_schema

#: What kio does not have, in all versions or in some.
OWN_MESSAGES: Final[Mapping[tuple[int, EntityType], WireMessage]] = {
    (message.api_key, message.entity_type): message
    for message in (
        leader_and_isr.REQUEST,
        leader_and_isr.RESPONSE,
        update_metadata.REQUEST,
        update_metadata.RESPONSE,
        stop_replica.REQUEST,
        stop_replica.RESPONSE,
        controlled_shutdown.REQUEST,
        controlled_shutdown.RESPONSE,
        alter_partition.REQUEST,
        alter_partition.RESPONSE,
        topics.CREATE_REQUEST,
        topics.CREATE_RESPONSE,
        topics.DELETE_REQUEST,
        topics.DELETE_RESPONSE,
        configs.DESCRIBE_REQUEST,
        configs.DESCRIBE_RESPONSE,
    )
}


def request_schema(api_key: int, api_version: int) -> type[Any]:
    """The dataclass of a request, in kio's form."""
    return _schema(api_key, api_version, EntityType.request)


def response_schema(api_key: int, api_version: int) -> type[Any]:
    """The dataclass of a response, in kio's form."""
    return _schema(api_key, api_version, EntityType.response)


@cache
def _schema(api_key: int, api_version: int, entity_type: EntityType) -> type[Any]:
    api = APIS.get(api_key)
    if api is None or not api.speaks(api_version):
        raise ProtocolError(f"API key {api_key} is not spoken in version {api_version}")
    own = OWN_MESSAGES.get((api_key, entity_type))
    if own is not None and own.defines(api_version):
        return make_schema(own, api_version)
    load = load_request_schema if entity_type is EntityType.request else load_response_schema
    return load(api_key, api_version)


def encode_payload(schema: type[Any], values: Values) -> bytes:
    """The bytes of one message of one version, from the values for all versions."""
    buffer = BytesIO()
    try:
        entity_writer(schema)(buffer, build(schema, values))
    except (struct.error, SerialError, UnicodeEncodeError) as error:
        raise ProtocolError(f"{schema.__name__} cannot carry this: {error}") from error
    return buffer.getvalue()
