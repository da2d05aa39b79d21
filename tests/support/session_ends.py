"""Ending the session of an owner that lives, as ZooKeeper does when it hears nothing of it."""

from contextlib import suppress
from typing import Final

from regent.errors import ZooKeeperUnreachable
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_ending import end_session

TRIES: Final = 10


def expire(options: ZooKeeperOptions, session_id: int, password: bytes) -> None:
    """The owner may take its session back in the moment before it is closed."""
    for _ in range(TRIES - 1):
        with suppress(ZooKeeperUnreachable):
            end_session(options, session_id, password)
            return
    end_session(options, session_id, password)
