"""How a broker's registration was and is written: five versions since 0.8.

Version 1 has a host and a port, 2 adds endpoints named by their protocol, 3 a rack, 4 listeners
with a map to protocols, 5 features. Kafka reads a newer number like the newest it knows.
"""

import re
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from regent.errors import CorruptZnode
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.zookeeper import paths
from regent.zookeeper.decoding import AnyVersionNumber, Int32, read_json

_PLAINTEXT = "PLAINTEXT"
#: `LISTENER://host:port`; the host may be missing, or an IPv6 address in brackets.
_ENDPOINT = re.compile(r"(\w+)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class _FeatureRange(Struct):
    min_version: Int32
    max_version: Int32


class _BrokerRecord(Struct):
    version: AnyVersionNumber
    host: str | None = None
    port: Annotated[int, Meta(ge=-1, le=65535)] | None = None
    endpoints: tuple[str, ...] | None = None
    listener_security_protocol_map: dict[str, str] | None = None
    rack: str | None = None
    features: dict[str, _FeatureRange] = {}


_BROKER_DECODER = msgspec.json.Decoder(_BrokerRecord)


def encode_broker(broker: Broker, now_ms: int) -> bytes:
    """Version 5. Its host and port are those of the first plaintext endpoint, for old clients."""
    plain = next((e for e in broker.endpoints if e.security_protocol == _PLAINTEXT), None)
    record: dict[str, object] = {
        "version": 5,
        "host": plain.host if plain else None,
        "port": plain.port if plain else -1,
        "jmx_port": -1,
        "timestamp": str(now_ms),
        "endpoints": [_encode_endpoint(endpoint) for endpoint in broker.endpoints],
        "listener_security_protocol_map": {
            endpoint.listener: endpoint.security_protocol for endpoint in broker.endpoints
        },
    }
    if broker.rack is not None:
        record["rack"] = broker.rack
    record["features"] = {
        name: _FeatureRange(min_version, max_version)
        for name, min_version, max_version in broker.features
    }
    return msgspec.json.encode(record)


def _encode_endpoint(endpoint: Endpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"


def decode_broker(broker_id: BrokerId, raw: bytes | None) -> Broker:
    """A registration of any version."""
    path = paths.broker(broker_id)
    record = read_json(_BROKER_DECODER, path, raw)
    return Broker(
        broker_id=broker_id,
        endpoints=_decode_endpoints(path, record),
        rack=record.rack,
        features=tuple(
            (name, record.features[name].min_version, record.features[name].max_version)
            for name in sorted(record.features)
        ),
    )


def _decode_endpoints(path: str, record: _BrokerRecord) -> tuple[Endpoint, ...]:
    if record.version == 1:
        if record.host is None or record.port is None:
            found = f"host {record.host} and port {record.port}"
            raise CorruptZnode(path, f"expected a host and a port in version 1, found {found}")
        return (Endpoint(record.host, record.port),)
    if record.endpoints is None:
        raise CorruptZnode(path, f"expected endpoints in version {record.version}, found none")
    protocols = record.listener_security_protocol_map
    return tuple(_decode_endpoint(path, text, protocols) for text in record.endpoints)


def _decode_endpoint(path: str, text: str, protocols: dict[str, str] | None) -> Endpoint:
    parts = _ENDPOINT.fullmatch(text)
    if parts is None:
        raise CorruptZnode(path, f"expected an endpoint LISTENER://host:port, found {text!r}")
    listener, host, port = parts.groups()
    # Before version 4 a listener had no name of its own.
    protocol = listener if protocols is None else protocols.get(listener)
    if protocol is None:
        found = ", ".join(sorted(protocols or ())) or "none"
        raise CorruptZnode(path, f"expected the protocol of listener {listener}, found {found}")
    return Endpoint(host, int(port), listener, protocol)
