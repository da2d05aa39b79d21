"""Numbers that no two brokers draw: `/brokers/seqid`, whose version counts how often it is set.

A broker that was given no id takes one from here, above all those that people choose by hand
(`reserved.broker.max.id`).
"""

from regent.errors import SessionLost
from regent.zookeeper.exchange import RECONNECTS_MAX, Exchange, is_lost, send, unexpected
from regent.zookeeper.paths import SEQUENCE_IDS
from regent.zookeeper.store import Done, SetData


def take_sequence_id() -> Exchange[int]:
    """The next number. One whose answer was lost is never used: a gap does no harm."""
    for _ in range(RECONNECTS_MAX):
        (reply,) = yield from send((SetData(SEQUENCE_IDS, b""),))
        if isinstance(reply, Done) and reply.stat is not None:
            return reply.stat.version
        if not is_lost(reply):
            raise unexpected(reply)
    raise SessionLost(f"lost the connection {RECONNECTS_MAX} times in a row")
