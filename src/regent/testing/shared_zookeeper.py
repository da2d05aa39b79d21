"""One embedded ZooKeeper for all clusters of a process that bring none of their own.

It starts with the first of them and ends with the process. Each cluster has a chroot of its own
there, so that nobody sees another's znodes; Java is started once.
"""

import atexit
import os
import threading
from itertools import count
from typing import Final

from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper

#: Sessions as short as a fifth of a second; a crash of the whole machine is nobody's concern.
SETTINGS: Final = EmbeddedSettings(tick_ms=100, syncs_to_disk=False)

_lock = threading.Lock()
_chroots = count(1)
_servers: list[EmbeddedZooKeeper] = []


def fresh_chroot() -> str:
    """Where a new cluster finds ZooKeeper, with nothing in it."""
    with _lock:
        if not _servers or not _servers[-1].is_running:
            server = EmbeddedZooKeeper(settings=SETTINGS)
            server.start()
            atexit.register(server.close)
            _servers.append(server)
        return f"{_servers[-1].address}/cluster-{os.getpid()}-{next(_chroots)}"
