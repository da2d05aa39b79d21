"""Wishes from another terminal: granted, refused with a reason, and heard from friends only."""

import socket

import pytest

from regent.errors import BadInput
from regent.testing.held_port import HOST
from regent.testing.remote_control import NobodyThere, RemoteControl, wish_for
from regent.testing.up_record import ControlAddress


def test_a_wish_is_granted_before_it_is_answered() -> None:
    granted: list[int | None] = []
    with RemoteControl({"kill": granted.append}) as control:
        wish_for(control.address, "kill", 2)
        wish_for(control.address, "kill")

    assert granted == [2, None]


def test_what_is_refused_says_why_and_the_next_wish_is_heard() -> None:
    def refuse(_: int | None) -> None:
        raise BadInput("broker 1 is down")

    def fail(_: int | None) -> None:
        raise ValueError("not foreseen")

    with RemoteControl({"refuse": refuse, "fail": fail}) as control:
        with pytest.raises(BadInput, match=r"^broker 1 is down$"):
            wish_for(control.address, "refuse")
        with pytest.raises(BadInput, match="ValueError: not foreseen"):
            wish_for(control.address, "fail")
        with pytest.raises(BadInput, match="'dance' is nothing that can be done"):
            wish_for(control.address, "dance")


def test_a_stranger_is_not_heard() -> None:
    """Any user of the machine can connect; the token is in a file that only its owner reads."""
    granted: list[int | None] = []
    with RemoteControl({"kill": granted.append}) as control:
        with pytest.raises(BadInput, match="the token is not that of this cluster"):
            wish_for(ControlAddress(control.address.port, "guessed"), "kill", 1)
        with socket.create_connection((HOST, control.address.port)) as link:
            link.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert b"this is no wish" in link.recv(4096)

    assert granted == []


def test_an_owner_that_is_gone_does_not_answer() -> None:
    with RemoteControl({}) as control:
        address = control.address

    with pytest.raises(NobodyThere):
        wish_for(address, "look")
