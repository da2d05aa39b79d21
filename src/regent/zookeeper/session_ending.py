"""Ending the session of a process that is dead, so that nobody has to wait for its timeout.

Only for whoever knows that the owner is dead, such as the one who started it: a session that is
taken from a living owner makes two of one. The owner has handed its session id and password over
while it lived.
"""

import logging
from enum import Enum, auto
from typing import Final

from regent.errors import ZooKeeperUnreachable
from regent.zookeeper.handshake import dial, say_goodbye, shake_hands
from regent.zookeeper.options import ZooKeeperOptions

logger = logging.getLogger(__name__)

_TIMEOUT_S: Final = 2.0


class SessionEnding(Enum):
    """What became of the session."""

    ENDED = auto()
    #: It had expired or been closed before, or the password is not its own.
    WAS_OVER = auto()


def end_session(
    options: ZooKeeperOptions,
    session_id: int,
    password: bytes,
    *,
    timeout_s: float = _TIMEOUT_S,
    tries: int = 1,
) -> SessionEnding:
    """Take the session over and close it; its ephemerals are gone when this returns.

    All servers are asked up to so many times: they may be slow, or an owner that lives may take its
    session back in the moment before it is closed.
    """
    failure: OSError | None = None
    for address in options.addresses() * tries:
        try:
            with dial(options, address, timeout_s) as connection:
                granted = shake_hands(
                    connection,
                    session_id=session_id,
                    password=password,
                    timeout_ms=options.session_timeout_ms,
                )
                if granted.timeout_ms <= 0:
                    return SessionEnding.WAS_OVER
                say_goodbye(connection)
                return SessionEnding.ENDED
        except OSError as error:
            logger.info("%s:%d could not end the session: %s", *address, error)
            failure = error
    raise ZooKeeperUnreachable(
        f"no ZooKeeper at {options.hosts} could be asked to end session {session_id:#x}, "
        f"which ends by itself when its timeout is over: {failure}"
    )
