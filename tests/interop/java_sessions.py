"""Ending the ZooKeeper session of a Java broker that was killed, without waiting for its timeout.

A broker of ours hands its session's password to its launcher; one of Apache's does not. But a
ZooKeeper server derives the password from the session's id, by Java's own random numbers, so that
it can be had by whoever knows that rule (`ZooKeeperServer.generatePasswd`).
"""

from typing import Final

from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_ending import end_session

#: `ZooKeeperServer.superSecret`, which is none.
_SECRET: Final = 0xB3415C00
#: `java.util.Random`.
_MULTIPLIER: Final = 0x5DEECE66D
_MASK: Final = (1 << 48) - 1
_PASSWORD_WORDS: Final = 4


def end_java_session(options: ZooKeeperOptions, session_id: int) -> None:
    """Close it; what it held is gone when this returns."""
    end_session(options, session_id, session_password(session_id))


def session_password(session_id: int) -> bytes:
    """What the server gave to the owner of this session."""
    seed = ((session_id ^ _SECRET) ^ _MULTIPLIER) & _MASK
    password = b""
    for _ in range(_PASSWORD_WORDS):
        seed = (seed * _MULTIPLIER + 0xB) & _MASK
        password += (seed >> 16).to_bytes(4, "little")
    return password
