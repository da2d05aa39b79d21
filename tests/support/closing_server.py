"""Close a server of asyncio while callers still come."""

import asyncio
from typing import Final

#: Rounds of the event loop from a connection that is accepted to whoever serves it, and some more.
ROUNDS_TO_ACCEPT: Final = 5


async def close_server(server: asyncio.Server) -> None:
    """Listen no more, and serve whoever has got through.

    Python 3.11 leaves a connection open that it is accepting while its server is closed, and the
    collector finds it in the middle of a later test.
    """
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening.fileno())
    for _ in range(ROUNDS_TO_ACCEPT):
        await asyncio.sleep(0)
    server.close()
