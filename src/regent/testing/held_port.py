"""A port that stays ours while nobody listens on it, so that a broker finds it again.

Between two lives of a broker its port would be free for everybody. On Linux a socket that is bound
and does not listen keeps others away, and lets those in who say that they may share the address,
as Kafka's brokers and ours do. Elsewhere it cannot be held, and is only known to have been free.
"""

import errno
import socket
import sys
from collections.abc import Mapping
from typing import Final

from regent.errors import BadInput

HOST: Final = "127.0.0.1"
ADVICE: Final[Mapping[int, str]] = {
    errno.EADDRINUSE: "it is in use; end what uses it, or name another",
    errno.EACCES: "it needs more rights than this user has; name one above 1023",
}


class HeldPort:
    """One port of 127.0.0.1; 0 takes any that is free."""

    def __init__(self, port: int = 0) -> None:
        self._holder = socket.socket()
        try:
            self._bind(port)
            self.port: int = self._holder.getsockname()[1]
            # Only now: a port that another one holds must not be given out twice.
            self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except BaseException:
            self._holder.close()
            raise
        if sys.platform != "linux":
            self._holder.close()

    def release(self) -> None:
        """Anybody may have it now."""
        self._holder.close()

    def _bind(self, port: int) -> None:
        try:
            if port and not _is_listening(port):
                # Connections of a broker that has just ended keep its port for a minute, and are
                # no obstacle. Of a port that anybody chose, only the kernel knows who has it.
                self._holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._holder.bind((HOST, port))
        except OverflowError as error:
            raise BadInput(f"there is no port {port}: ports go up to 65535") from error
        except OSError as error:
            advice = ADVICE.get(error.errno or 0, error.strerror)
            raise BadInput(f"port {port} of {HOST} cannot be used: {advice}") from error


def _is_listening(port: int) -> bool:
    """Whether somebody answers there."""
    try:
        socket.create_connection((HOST, port), timeout=1.0).close()
    except OSError:
        return False
    return True
