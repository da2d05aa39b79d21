"""A port that is held: free for the broker that it is held for, and for nobody else."""

import socket

import pytest

from regent.errors import BadInput
from regent.runtime.listener import bind
from regent.testing.held_port import HOST, HeldPort


def test_a_broker_can_listen_on_a_port_that_is_held() -> None:
    """Again and again, as a broker does that is killed and started."""
    held = HeldPort()

    for _ in range(3):
        with bind(HOST, held.port) as listening:
            listening.listen()
            socket.create_connection((HOST, held.port)).close()

    held.release()


def test_a_port_that_is_held_is_not_given_to_anybody() -> None:
    """Otherwise a broker that is down could not come back."""
    held = HeldPort()

    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind((HOST, held.port))

    held.release()


def test_a_port_that_is_in_use_is_refused() -> None:
    with socket.create_server((HOST, 0)) as somebody:
        port = somebody.getsockname()[1]

        with pytest.raises(BadInput, match=f"port {port} .* is in use; end what uses it"):
            HeldPort(port)


def test_a_port_of_a_broker_that_has_just_ended_can_be_had() -> None:
    """The connections that it ended keep the port busy for a minute, and are no obstacle."""
    with socket.create_server((HOST, 0)) as ended:
        port = ended.getsockname()[1]
        with socket.create_connection((HOST, port)) as client:
            ended.accept()[0].close()
            assert client.recv(1) == b""

    HeldPort(port).release()


def test_a_number_that_is_no_port_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no port 65536"):
        HeldPort(65_536)


def test_a_port_is_free_again_when_it_is_released() -> None:
    held = HeldPort()
    held.release()

    with socket.create_server((HOST, held.port)):
        pass
