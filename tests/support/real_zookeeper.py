"""One real ZooKeeper for all tests of a process that do not break it, and sessions with it.

It starts when the first test wants it and ends with the process. Every test has a chroot of its
own, so that nobody sees what another one left.
"""

import atexit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions

#: For tests: quick to start, and a crash of the machine is nobody's concern.
SETTINGS = EmbeddedSettings(syncs_to_disk=False, tick_ms=100)

_chroots = count()


@cache
def shared_server() -> EmbeddedZooKeeper:
    """The one that nobody may stop or pause."""
    server = EmbeddedZooKeeper(settings=SETTINGS)
    server.start()
    atexit.register(server.close)
    return server


def fresh_options(server: EmbeddedZooKeeper | None = None, **changes: Any) -> ZooKeeperOptions:
    """Below a chroot that nobody has used, which is made by the first session."""
    address = (server or shared_server()).address
    connect = f"{address}/test-{next(_chroots)}"
    return ZooKeeperOptions(**{"connect": connect, "creates_chroot": True, **changes})


@contextmanager
def open_sessions(options: ZooKeeperOptions) -> Iterator[Callable[[], KazooSession]]:
    """Opens any number of sessions, and closes them all in the end."""
    opened: list[KazooSession] = []

    def open_one() -> KazooSession:
        opened.append(KazooSession.open(options))
        return opened[-1]

    try:
        yield open_one
    finally:
        for session in opened:
            session.close()
