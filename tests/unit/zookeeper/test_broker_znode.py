"""Registrations of brokers: five versions since 0.8, and what is none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.errors import CorruptZnode
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.zookeeper.broker_znode import decode_broker, encode_broker

B1 = BrokerId(1)


def dumped(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def test_a_broker_is_written_as_version_5() -> None:
    """Old clients find the plaintext endpoint at the top, whichever place it has."""
    broker = Broker(
        B1,
        (Endpoint("h", 9093, "SECURE", "SSL"), Endpoint("::1", 9092)),
        rack="r1",
        features=(("f", 1, 2),),
    )

    assert encode_broker(broker, now_ms=1700) == (
        b'{"version":5,"host":"::1","port":9092,"jmx_port":-1,"timestamp":"1700",'
        b'"endpoints":["SECURE://h:9093","PLAINTEXT://[::1]:9092"],'
        b'"listener_security_protocol_map":{"SECURE":"SSL","PLAINTEXT":"PLAINTEXT"},'
        b'"rack":"r1","features":{"f":{"min_version":1,"max_version":2}}}'
    )


def test_a_broker_without_plaintext_has_no_host_at_the_top() -> None:
    """Kafka writes null and -1 there."""
    raw = encode_broker(Broker(B1, (Endpoint("h", 9093, "SECURE", "SSL"),)), now_ms=0)

    top = json.loads(raw)
    assert (top["host"], top["port"], "rack" in top) == (None, -1, False)


HOSTS = st.sampled_from(["localhost", "10.0.0.1", "::1", "fe80::1%eth0", "a-b.example", ""])
LISTENERS = st.sampled_from(["PLAINTEXT", "SSL", "INTERNAL", "SASL_SSL"])
ENDPOINTS = st.builds(Endpoint, HOSTS, st.integers(0, 65535), LISTENERS, LISTENERS)
BROKERS = st.builds(
    Broker,
    st.integers(0, 2**31 - 1).map(BrokerId),
    st.lists(ENDPOINTS, max_size=3, unique_by=lambda endpoint: endpoint.listener).map(tuple),
    st.none() | st.text(),
    st.dictionaries(st.text(), st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2).map(
        lambda features: tuple((name, *features[name]) for name in sorted(features))
    ),
)


@given(BROKERS)
def test_a_broker_reads_back(broker: Broker) -> None:
    """Whatever its hosts look like."""
    assert decode_broker(broker.broker_id, encode_broker(broker, now_ms=0)) == broker


@pytest.mark.parametrize(
    ("fields", "broker"),
    [
        (
            {"version": 1, "host": "h", "port": 9092, "jmx_port": -1, "timestamp": "1"},
            Broker(B1, (Endpoint("h", 9092),)),
        ),
        (
            {"version": 2, "host": "h", "port": 9092, "endpoints": ["SSL://h:9093"]},
            Broker(B1, (Endpoint("h", 9093, "SSL", "SSL"),)),
        ),
        (
            {"version": 3, "host": "h", "port": 1, "endpoints": ["SSL://h:9093"], "rack": "r"},
            Broker(B1, (Endpoint("h", 9093, "SSL", "SSL"),), rack="r"),
        ),
        (
            {
                "version": 4,
                "host": None,
                "port": -1,
                "endpoints": ["IN://h:9093"],
                "listener_security_protocol_map": {"IN": "SSL"},
                "rack": None,
            },
            Broker(B1, (Endpoint("h", 9093, "IN", "SSL"),)),
        ),
        (
            {
                "version": 6,
                "endpoints": ["IN://h:9093"],
                "listener_security_protocol_map": {"IN": "SSL"},
                "features": {"f": {"min_version": 1, "max_version": 3}},
                "news": 1,
            },
            Broker(B1, (Endpoint("h", 9093, "IN", "SSL"),), features=(("f", 1, 3),)),
        ),
    ],
    ids=["1", "2", "3", "4", "newer"],
)
def test_every_version_of_a_broker_is_read(fields: dict[str, Any], broker: Broker) -> None:
    """A cluster under upgrade has several at a time."""
    assert decode_broker(B1, dumped(**fields)) == broker


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "expected JSON, found no data"),
        (b"{}", "Object missing required field `version`; found {}"),
        (dumped(version=0), "Expected `int` >= 1 - at `$.version`; found version: 0"),
        (dumped(version="5"), 'Expected `int`, got `str` - at `$.version`; found version: "5"'),
        (dumped(version=True), "Expected `int`, got `bool` - at `$.version`; found version: true"),
        (dumped(version=1, host="h"),
         "expected a host and a port in version 1, found host h and port None"),
        (dumped(version=1, host="h", port="1"),
         'Expected `int | null`, got `str` - at `$.port`; found port: "1"'),
        (dumped(version=5), "expected endpoints in version 5, found none"),
        (dumped(version=5, endpoints=["h:1"]),
         "expected an endpoint LISTENER://host:port, found 'h:1'"),
        (dumped(version=5, endpoints=[1]),
         "Expected `str`, got `int` - at `$.endpoints[0]`; found endpoints: [1]"),
        (dumped(version=5, endpoints=["A://h:1"], listener_security_protocol_map={"B": "SSL"}),
         "expected the protocol of listener A, found B"),
        (dumped(version=5, endpoints=[], rack=1),
         "Expected `str | null`, got `int` - at `$.rack`; found rack: 1"),
        (dumped(version=5, endpoints=[], features={"f": {"min_version": 1}}),
         ("Object missing required field `max_version` - at `$.features[...]`; "
         'found features: {"f":{"min_version":1}}')),
    ],
)  # fmt: skip
def test_a_broken_registration_says_why(raw: bytes | None, reason: str) -> None:
    """The broker is then as if it were not there, and somebody must find out why."""
    with pytest.raises(CorruptZnode) as caught:
        decode_broker(B1, raw)

    assert (caught.value.path, caught.value.reason) == ("/brokers/ids/1", reason)
