"""Whatever bytes come, others are answered."""

import socket
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regent.model.cluster_requests import DescribeCluster
from regent.runtime.api_table import SERVED
from regent.wire.apis import Api
from regent.wire.exchange import encode_request
from regent.wire.frames import to_frame
from tests.runtime.listener.served_node import ServedCluster, read_message, to_request

GOOD = encode_request(to_request(DescribeCluster()))


def looks_right(api: Api, version: int, rest: bytes) -> bytes:
    """A frame with a header that could be one."""
    header = api.key.to_bytes(2) + version.to_bytes(2, signed=True) + bytes(4)
    return to_frame(header + rest)


PIECES = st.lists(
    st.binary(max_size=60)
    | st.just(GOOD)
    | st.integers(1, len(GOOD)).map(lambda length: GOOD[:length])
    | st.builds(looks_right, st.sampled_from(SERVED), st.integers(-1, 9), st.binary(max_size=40)),
    max_size=6,
)


@pytest.mark.requirement("K1")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pieces=PIECES)
def test_no_bytes_harm_others(cluster: ServedCluster, pieces: list[bytes]) -> None:
    node = cluster.nodes[0] if cluster.nodes else cluster.serve()
    with node.connect() as link, suppress(OSError):
        for piece in pieces:
            link.sendall(piece)
        link.shutdown(socket.SHUT_WR)
        while read_message(link) is not None:
            pass

    assert node.ask(DescribeCluster()).controller_id == 100
