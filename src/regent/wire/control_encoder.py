"""What a controller sends to brokers, as frames in one set of versions.

One encoder lives as long as a controller's reign, for all of its channels.
"""

from collections.abc import Mapping
from typing import assert_never

from regent.model.brokers import Endpoint
from regent.model.control_requests import ControlRequest, LeaderAndIsr, StopReplica, UpdateMetadata
from regent.model.ids import BrokerId
from regent.model.protocol_version import RequestVersions
from regent.wire import stop_replica
from regent.wire.apis import ApiKey
from regent.wire.bulk_encoder import LeaderAndIsrEncoder, UpdateMetadataEncoder
from regent.wire.exchange import Call
from regent.wire.frames import frame_prefix
from regent.wire.headers import RequestHeader, encode_request_header
from regent.wire.payloads import encode_payload, request_schema


class ControlRequestEncoder:
    """Writes the three requests, each in its version."""

    def __init__(self, versions: RequestVersions, *, client_id: str) -> None:
        self._versions = versions
        self._client_id = client_id
        self._leader_and_isr = LeaderAndIsrEncoder(self._versions.leader_and_isr)
        self._update_metadata = UpdateMetadataEncoder(self._versions.update_metadata)

    def to_call(self, request: ControlRequest, correlation_id: int) -> Call:
        """The request, addressed: what reading its answer needs."""
        match request:
            case LeaderAndIsr():
                api_key, api_version = ApiKey.LEADER_AND_ISR, self._versions.leader_and_isr
            case UpdateMetadata():
                api_key, api_version = ApiKey.UPDATE_METADATA, self._versions.update_metadata
            case StopReplica():
                api_key, api_version = ApiKey.STOP_REPLICA, self._versions.stop_replica
            case _:
                assert_never(request)
        return Call(RequestHeader(api_key, api_version, correlation_id, self._client_id), request)

    def encode(self, call: Call, endpoints: Mapping[BrokerId, Endpoint]) -> list[bytes]:
        """The frame in parts, for `writelines`; the big parts are shared with other brokers.

        `endpoints` says where brokers listen for one another.
        """
        content = self._content(call, endpoints)
        header = encode_request_header(call.header)
        return [frame_prefix((header, *content)) + header, *content]

    def _content(self, call: Call, endpoints: Mapping[BrokerId, Endpoint]) -> list[bytes]:
        request, api_version = call.request, call.header.api_version
        if isinstance(request, LeaderAndIsr):
            return [b"".join(self._leader_and_isr.encode(request, endpoints))]
        # In every batch all LeaderAndIsr come first (C3): with these the batch has moved on.
        self._leader_and_isr.forget()
        if isinstance(request, UpdateMetadata):
            return self._update_metadata.encode(request)
        values = stop_replica.request_values(request, api_version)
        return [encode_payload(request_schema(ApiKey.STOP_REPLICA, api_version), values)]
