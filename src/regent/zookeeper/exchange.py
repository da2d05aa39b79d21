"""Talking to ZooKeeper without a connection: a generator yields requests and is sent replies.

An exchange yields a batch of requests, which its driver sends in order on one session, pipelined
if it likes, and is sent one reply for each. After a connection loss the driver answers only when
it is connected again or the session is over. What every exchange must not forget is here: the end
of the session, and asking again.
"""

from collections.abc import Generator, Sequence
from typing import Protocol, TypeAlias, TypeVar

from regent.errors import BadInput, RegentError, SessionLost
from regent.zookeeper.store import (
    Answered,
    Data,
    Failed,
    GetMany,
    Many,
    MultiFailed,
    Request,
    ZkError,
)

A = TypeVar("A")

Exchange: TypeAlias = Generator[Sequence[Request], Sequence[Answered], A]

#: How often one thing is asked again after connection losses. A session that lives, but never
#: long enough for one answer, is as good as lost.
RECONNECTS_MAX = 100
#: How often one thing is tried again because somebody else was faster.
RACES_MAX = 100
#: Znodes in one GetMany: a quarter of a megabyte of partition states.
READ_BATCH_ZNODES = 2000


class Correspondent(Protocol):
    """The part of a session that an exchange needs."""

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Send all of these in order and wait for all the answers."""


def run(session: Correspondent, exchange: Exchange[A]) -> A:
    """Drive an exchange to its end, one call after the other."""
    try:
        requests = next(exchange)
        while True:
            requests = exchange.send(session.call(requests))
    except StopIteration as end:
        answer: A = end.value
        return answer


def send(requests: Sequence[Request]) -> Exchange[Sequence[Answered]]:
    """One batch; the end of the session ends the exchange too."""
    replies = yield requests
    if any(type(reply) is Failed and reply.error is ZkError.SESSION_EXPIRED for reply in replies):
        raise SessionLost("the session expired or was closed")
    return replies


def is_lost(reply: Answered) -> bool:
    """Whether nobody knows if the request was carried out."""
    return type(reply) is Failed and reply.error is ZkError.CONNECTION_LOSS


def read(requests: Sequence[Request]) -> Exchange[Sequence[Answered]]:
    """One batch of requests that do no harm when they are carried out twice.

    A broken connection takes its watches along, so all are asked again and not only the lost.
    """
    for _ in range(RECONNECTS_MAX):
        replies = yield from send(requests)
        if not any(map(is_lost, replies)):
            return replies
    raise SessionLost(f"lost the connection {RECONNECTS_MAX} times in a row")


def read_one(request: Request) -> Exchange[Answered]:
    """One request that does no harm when it is carried out twice."""
    replies = yield from read((request,))
    return replies[0]


def read_many(paths: Sequence[str]) -> Exchange[list[Data | None]]:
    """Many znodes without watches, in the order of the paths; None for a missing one."""
    starts = range(0, len(paths), READ_BATCH_ZNODES)
    batches = [GetMany(tuple(paths[i : i + READ_BATCH_ZNODES])) for i in starts]
    replies: Sequence[Answered] = ()
    if batches:
        replies = yield from read(batches)
    found: list[Data | None] = []
    for reply in replies:
        if not isinstance(reply, Many):
            raise unexpected(reply)
        found += [item if type(item) is Data else data_or_none(item) for item in reply.items]
    return found


def data_or_none(reply: Answered) -> Data | None:
    """What was read, or None where there is no such znode."""
    if isinstance(reply, Data):
        return reply
    if isinstance(reply, Failed) and reply.error is ZkError.NO_NODE:
        return None
    raise unexpected(reply)


def unexpected(reply: Answered) -> RegentError:
    """An answer that ZooKeeper has no reason to give: an ACL, a quota, a broken server."""
    if isinstance(reply, Failed) and reply.reason:
        return RegentError(reply.reason)
    if isinstance(reply, Failed | MultiFailed) and reply.error is ZkError.NO_AUTH:
        where = f" to {reply.path}" if isinstance(reply, Failed) and reply.path else ""
        return BadInput(
            f"ZooKeeper refuses access{where} (NO_AUTH): its ACL wants other credentials than given"
            "; REGENT_ZOOKEEPER_DIGEST=user:password can name those that the brokers have"
        )
    return RegentError(f"ZooKeeper answered {reply}")
