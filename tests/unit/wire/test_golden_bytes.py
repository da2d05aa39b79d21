"""Our bytes are Kafka's bytes: every message in every version against what Kafka 3.9.1 wrote.

`golden/messages.json` holds the fields and the bytes; `golden/MakeGolden.java` says how they were
made.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from kio.serial import entity_reader

from regent.wire import leader_and_isr, stop_replica, update_metadata
from regent.wire.apis import APIS
from regent.wire.bulk_encoder import LeaderAndIsrEncoder, UpdateMetadataEncoder
from regent.wire.exchange import CONVERSIONS, Call
from regent.wire.headers import RequestHeader
from regent.wire.message_tables import Values
from regent.wire.payloads import encode_payload, request_schema, response_schema
from regent.wire.strict_reader import read_payload
from tests.unit.wire import samples
from tests.unit.wire.client_samples import CLIENT_REQUESTS

TIMEOUT: Final = timedelta(seconds=30)
API_BY_NAME: Final = {api.name: api for api in APIS.values()}


class Golden(NamedTuple):
    """One message in one version, as Kafka wrote it."""

    api_name: str
    api_version: int
    is_request: bool
    content: bytes

    @property
    def schema(self) -> type[Any]:
        """The dataclass that reads and writes it."""
        schema_of = request_schema if self.is_request else response_schema
        return schema_of(API_BY_NAME[self.api_name].key, self.api_version)

    def __str__(self) -> str:
        return f"{self.api_name}-{self.api_version}-{'request' if self.is_request else 'response'}"


def read_golden() -> list[Golden]:
    found = msgspec.json.decode((Path(__file__).parent / "golden" / "messages.json").read_bytes())
    return [
        Golden(
            message["message"].removesuffix("Request").removesuffix("Response"),
            int(version),
            message["message"].endswith("Request"),
            bytes.fromhex(content),
        )
        for message in found["messages"]
        for version, content in message["bytes"].items()
    ]


GOLDEN: Final = read_golden()


def values_of(golden: Golden) -> Values:
    """The values that our conversions make of the sample."""
    api_key = API_BY_NAME[golden.api_name].key
    request: Any = samples.request_of(golden.api_name, golden.api_version)
    if not golden.is_request:
        call = Call(RequestHeader(api_key, golden.api_version, 1), request)
        answer = samples.answer_of(golden.api_name, golden.api_version)
        return CONVERSIONS[api_key].answer_values(answer, call)
    match golden.api_name:
        case "LeaderAndIsr":
            return leader_and_isr.request_values(request, samples.ENDPOINTS)
        case "UpdateMetadata":
            return update_metadata.request_values(request)
        case "StopReplica":
            return stop_replica.request_values(request, golden.api_version)
        case _:
            to_values = CONVERSIONS[api_key].request_values
            assert to_values is not None
            return {**to_values(request, golden.api_version), "timeout": TIMEOUT}


def test_every_message_of_the_table_is_there() -> None:
    """But for ApiVersions, which kio has and nothing here converts, and for what clients ask.

    That is held against kio, whose messages are made from Kafka's own definitions.
    """
    expected = {
        (api.name, version)
        for api in APIS.values()
        for version in range(api.first_version, api.last_version + 1)
        if api.name != "ApiVersions" and api.name not in CLIENT_REQUESTS
    }

    for is_request in (True, False):
        found = {(g.api_name, g.api_version) for g in GOLDEN if g.is_request is is_request}
        assert found == expected


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_the_model_is_written_as_kafka_writes_it(golden: Golden) -> None:
    """A real broker reads what we send; nothing else would tell us before it does."""
    assert encode_payload(golden.schema, values_of(golden)).hex() == golden.content.hex()


@pytest.mark.parametrize(
    "golden", [g for g in GOLDEN if g.api_name == "LeaderAndIsr" and g.is_request], ids=str
)
def test_the_fast_leader_and_isr_is_kafkas(golden: Golden) -> None:
    encoder = LeaderAndIsrEncoder(golden.api_version)

    parts = encoder.encode(samples.LEADER_AND_ISR, samples.ENDPOINTS)

    assert b"".join(parts).hex() == golden.content.hex()


@pytest.mark.parametrize(
    "golden", [g for g in GOLDEN if g.api_name == "UpdateMetadata" and g.is_request], ids=str
)
def test_the_fast_update_metadata_is_kafkas(golden: Golden) -> None:
    encoder = UpdateMetadataEncoder(golden.api_version)

    parts = encoder.encode(samples.UPDATE_METADATA)

    assert b"".join(parts).hex() == golden.content.hex()


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_the_strict_reader_reads_what_kio_reads(golden: Golden) -> None:
    """The reader of kio is an independent one, and good for messages that can be trusted."""
    expected, size = entity_reader(golden.schema)(golden.content, 0)
    assert size == len(golden.content)

    assert read_payload(golden.schema, golden.content) == expected


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_what_is_read_into_the_model_is_all_that_the_version_said(golden: Golden) -> None:
    """Written again in the same version it gives the same bytes, so nothing was lost."""
    api = API_BY_NAME[golden.api_name]
    payload = read_payload(golden.schema, golden.content)
    conversion = CONVERSIONS[api.key]
    request: Any = samples.request_of(golden.api_name, golden.api_version)
    values: Values
    if golden.is_request:
        read = conversion.request_from(payload, golden.api_version)
        match golden.api_name:
            case "LeaderAndIsr":
                values = leader_and_isr.request_values(read, samples.ENDPOINTS)
            case "UpdateMetadata":
                values = update_metadata.request_values(read)
            case "StopReplica":
                values = stop_replica.request_values(read, golden.api_version)
            case _:
                assert conversion.request_values is not None
                values = conversion.request_values(read, golden.api_version)
    else:
        call = Call(RequestHeader(api.key, golden.api_version, 1), request)
        read = conversion.answer_from(payload, call)
        values = conversion.answer_values(read, call)

    assert encode_payload(golden.schema, {"timeout": TIMEOUT, **values}) == golden.content


@pytest.mark.parametrize(
    "golden",
    [g for g in GOLDEN if g.is_request and g.api_version == API_BY_NAME[g.api_name].last_version],
    ids=str,
)
def test_the_newest_version_says_all_that_the_model_has(golden: Golden) -> None:
    """So a request that comes through the wire is equal to the one that was sent."""
    payload = read_payload(golden.schema, golden.content)

    read = CONVERSIONS[API_BY_NAME[golden.api_name].key].request_from(payload, golden.api_version)

    assert read == samples.request_of(golden.api_name, golden.api_version)
