"""uvloop, of which Python hears as it hears of its own sockets.

Before Python connects, it tells its audit hooks (PEP 578), and any of them may forbid it; a cut
between two brokers of a test is such a hook. libuv connects by itself and tells nobody.
"""

import sys
from typing import Any

import uvloop


class AuditedLoop(uvloop.Loop):
    """Asks before it connects."""

    async def create_connection(  # type: ignore[override] # as we call it
        self, protocol_factory: Any, host: str, port: int, **options: Any
    ) -> Any:
        """Hooks see the name of the host where that is what was given, and not its address."""
        sys.audit("socket.connect", self, (host, port))
        return await super().create_connection(protocol_factory, host, port, **options)
