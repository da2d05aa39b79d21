"""Asking the process that owns a cluster to do something to it, from another terminal.

Only the owner can start a broker, or close the session of one that it killed, so everything is
asked of it: one line of JSON there, one line back, over 127.0.0.1, with a token from the record.
"""

import hmac
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import msgspec
from msgspec import Struct

from regent.errors import BadInput, RegentError
from regent.testing.held_port import HOST
from regent.testing.up_record import ControlAddress

ANSWER_WITHIN_S: Final = 180.0
CONNECT_WITHIN_S: Final = 5.0
LINE_BYTES_MAX: Final = 4096

logger = logging.getLogger(__name__)


class Wish(Struct, frozen=True):
    """What shall be done, and to which broker if to one."""

    token: str
    verb: str
    broker_id: int | None = None


class WishOutcome(Struct, frozen=True):
    """What became of it; without an error, it is done."""

    error: str | None = None


class NobodyThere(RegentError):  # noqa: N818 - it is news, not an error
    """The process that owns the cluster does not answer, or is gone."""


class RemoteControl:
    """The owner's side: grants wishes one after the other, on a thread of its own."""

    def __init__(self, verbs: Mapping[str, Callable[[int | None], None]]) -> None:
        self._verbs = verbs
        self._listener = socket.create_server((HOST, 0))
        self.address = ControlAddress(self._listener.getsockname()[1], secrets.token_urlsafe(16))
        self._thread = threading.Thread(target=self._serve, name="remote control", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            with link, suppress(OSError):
                link.settimeout(CONNECT_WITHIN_S)
                outcome = self._grant(_read_line(link))
                link.sendall(msgspec.json.encode(outcome) + b"\n")

    def _grant(self, line: bytes) -> WishOutcome:
        try:
            wish = msgspec.json.decode(line, type=Wish)
        except msgspec.DecodeError as error:
            return WishOutcome(f"this is no wish: {error}")
        if not hmac.compare_digest(wish.token.encode(), self.address.token.encode()):
            return WishOutcome("the token is not that of this cluster")
        if wish.verb not in self._verbs:
            return WishOutcome(f"{wish.verb!r} is nothing that can be done")
        try:
            self._verbs[wish.verb](wish.broker_id)
        except RegentError as error:
            return WishOutcome(str(error))
        except Exception as error:
            logger.exception("%s", wish)
            return WishOutcome(f"{type(error).__name__}: {error}")
        return WishOutcome()


def wish_for(address: ControlAddress, verb: str, broker_id: int | None = None) -> None:
    """The asker's side: returns when it is done; `BadInput` says why it was not."""
    wish = Wish(address.token, verb, broker_id)
    try:
        with socket.create_connection((HOST, address.port), timeout=CONNECT_WITHIN_S) as link:
            link.settimeout(ANSWER_WITHIN_S)
            link.sendall(msgspec.json.encode(wish) + b"\n")
            outcome = msgspec.json.decode(_read_line(link), type=WishOutcome)
    except (OSError, msgspec.DecodeError) as error:
        raise NobodyThere(
            f"the process that runs this cluster does not answer ({error}): it is on its way up or"
            " down, or dead; `regent down` sees to what is left"
        ) from error
    if outcome.error is not None:
        raise BadInput(outcome.error)


def _read_line(link: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX:
        piece = link.recv(LINE_BYTES_MAX)
        if not piece:
            break
        line += piece
    return line
