"""A session with a real ZooKeeper, as the store's interface wants it.

One object is one session, from its first connection to its end, and `call` may be used by several
threads. What breaks in between is told in answers: a request whose connection broke was lost, and
the answer comes when there is a connection again or the session is over. After its end, and after
a whole timeout of silence, every answer is that it has expired.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Self

from regent.errors import BadInput, RegentError, ZooKeeperUnreachable
from regent.zookeeper.exchange import unexpected
from regent.zookeeper.frames import CONNECTION_ERRORS, Frame, FrameReply, plan
from regent.zookeeper.jute import RequestEncoder
from regent.zookeeper.kazoo_client import OneSessionClient, Ticket, is_refused_login
from regent.zookeeper.lifeline import Lifeline
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.session_call import SessionCall
from regent.zookeeper.session_state import SessionNews, SessionState
from regent.zookeeper.store import (
    Answered,
    Create,
    Done,
    Exists,
    Failed,
    Request,
    WatchEvent,
    ZkError,
)
from regent.zookeeper.watch_table import WatchTable, WatchType

logger = logging.getLogger(__name__)

#: How long the end of a session may take until we leave without an answer.
_FAREWELL_S: Final = 2.0
#: Each set again with one frame after a connection has been lost.
_WATCHES_PER_FRAME: Final = 1000


class KazooSession:
    """One session. Make it with `open`; end it with `close`, or with `abandon`."""

    def __init__(
        self,
        options: ZooKeeperOptions,
        on_watch: Callable[[WatchEvent], None] | None,
        on_state: Callable[[SessionState], None] | None,
    ) -> None:
        self._options = options
        self._encoder = RequestEncoder(options.chroot)
        self._inbox: deque[WatchEvent] = deque()
        self._tell = on_watch or self._inbox.append
        #: Only the connection's thread touches it.
        self._watches = WatchTable()
        self._client = OneSessionClient(options, self)
        self._lifeline = Lifeline(
            on_state=on_state or (lambda _state: None), on_lost=self._client.say_goodbye
        )
        self._session_id = 0
        self._password = b""

    @classmethod
    def open(
        cls,
        options: ZooKeeperOptions,
        *,
        on_watch: Callable[[WatchEvent], None] | None = None,
        on_state: Callable[[SessionState], None] | None = None,
        on_attempt: Callable[[Self], None] | None = None,
    ) -> Self:
        """Wait until there is a session, or say why there is none.

        `on_watch` hears of watches on the connection's thread, each before any answer that shows
        the change; without it they wait in `watch_events`. `on_state` hears of every change after
        the opening, but not of the end by `close` or `abandon`. Neither may block or call back.
        `on_attempt` is given the session before it begins, so that another thread can `give_up`.
        """
        if options.tls is not None:
            options.tls.context()  # Files that cannot be used are known before anything is tried.
        session = cls(options, on_watch, on_state)
        if on_attempt is not None:
            on_attempt(session)
        try:
            session._begin()
            session._find_chroot()
        except BaseException:
            session.close()
            raise
        return session

    # --- the interface ------------------------------------------------------------------------

    @property
    def session_id(self) -> int:
        """Who owns the ephemerals made here."""
        return self._session_id

    @property
    def password(self) -> bytes:
        """With it, whoever has started this process can end the session after its death."""
        return self._password

    @property
    def state(self) -> SessionState:
        """What may be believed of the session right now."""
        return self._lifeline.state

    @property
    def lives_until_s(self) -> float:
        """Until when, on the monotonic clock, the session lives for sure."""
        return self._lifeline.lives_until_s

    def call(self, requests: Sequence[Request]) -> Sequence[Answered]:
        """Send all of these in order and wait for all the answers."""
        return self._call(requests, self._encoder)

    def watch_events(self) -> Sequence[WatchEvent]:
        """The watch events since the last look; of all that was answered to anybody before."""
        self._new_call().run(iter((_Sync(self._encoder),)))
        return [self._inbox.popleft() for _ in range(len(self._inbox))]

    def close(self) -> None:
        """End the session; its ephemerals go at once if a server can be asked."""
        self._lifeline.hush()
        self._lifeline.hear(SessionNews.ENDED)
        self._client.say_goodbye()
        if not self._client.wait_for_end(_FAREWELL_S):
            self._client.hang_up()
            self._client.wait_for_end(_FAREWELL_S)

    def give_up(self) -> None:
        """Wait for no server any more: whoever does is told that the session is over.

        From any thread, at any time; its owner closes it all the same.
        """
        self._lifeline.hear(SessionNews.ENDED)

    def abandon(self) -> None:
        """Leave without a word, as a crash would: the ephemerals stay until the server gives up."""
        self._lifeline.hush()
        self._client.hang_up()
        self._client.wait_for_end(_FAREWELL_S)
        self._lifeline.hear(SessionNews.ENDED)

    def _call(self, requests: Sequence[Request], encoder: RequestEncoder) -> Sequence[Answered]:
        return self._new_call().run(plan(requests, encoder, self._options.request_bytes_max))

    def _new_call(self) -> SessionCall:
        return SessionCall(self._lifeline, self._watches, self._client.submit)

    # --- opening ------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._client.start_async()
        timeout_s = self._options.connect_timeout_ms / 1000
        if not self._lifeline.await_beginning(timeout_s):
            raise self._unreachable(self._client.last_failure, timeout_s)

    def _unreachable(self, failure: Exception | None, timeout_s: float) -> RegentError:
        where = self._options.hosts
        if is_refused_login(failure):
            return BadInput(f"ZooKeeper at {where} refuses the credentials that it was given")
        why = f": {failure}" if failure is not None and str(failure) else ""
        return ZooKeeperUnreachable(
            f"no session with ZooKeeper at {where} within {timeout_s:g} s{why}; "
            "check the address, and that a server is running there"
        )

    def _find_chroot(self) -> None:
        """Below a chroot that is not there, every znode would seem to be missing."""
        options = self._options
        (reply,) = self.call((Exists("/"),))
        if isinstance(reply, Done):
            return
        if isinstance(reply, Failed) and reply.error is ZkError.NO_AUTH:
            raise unexpected(Failed(reply.error, options.chroot or "/"))
        if reply != Failed(ZkError.NO_NODE, "/"):
            raise ZooKeeperUnreachable(f"ZooKeeper at {options.hosts} answered {reply}; try again")
        if not options.creates_chroot:
            raise BadInput(
                f"ZooKeeper at {options.hosts} has no znode {options.chroot}; correct the chroot "
                f"in {options.connect!r}, or start a Kafka broker with it, which creates it"
            )
        parts = options.chroot.strip("/").split("/")
        steps = ["/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))]
        for made in self._call([Create(step) for step in steps], RequestEncoder("")):
            if isinstance(made, Failed) and made.error is not ZkError.NODE_EXISTS:
                raise BadInput(
                    f"the chroot {options.chroot} cannot be made on ZooKeeper at {options.hosts}: "
                    f"{made.error.name}"
                )

    # --- what the connection hears, on its own thread -------------------------------------------

    def on_connected(self, *, timeout_s: float, asked_at_s: float) -> None:
        """The first connection of the session, or another one."""
        if self._session_id:
            self._lifeline.go_on(asked_at_s=asked_at_s, first=self._set_watches_again)
        else:
            self._session_id, self._password = self._client.credentials
            self._lifeline.begin(timeout_s=timeout_s, asked_at_s=asked_at_s)

    def on_disconnected(self) -> None:
        """What is under way will be given up."""
        self._lifeline.hear(SessionNews.DISCONNECTED)

    def on_ended(self) -> None:
        """The server said so, or we did."""
        self._lifeline.hear(SessionNews.ENDED)

    def on_heard(self, sent_at_s: float) -> None:
        """A ping has come back."""
        self._lifeline.prove(sent_at_s)

    def on_watch(self, event: WatchEvent) -> None:
        """Passed on before anything that comes after it on the connection."""
        seen = WatchEvent(event.kind, self._encoder.from_server(event.path))
        if self._watches.fire(seen):
            self._tell(seen)

    def _set_watches_again(self) -> None:
        """Those on which something happened in between will fire at once."""
        # Nothing was read since: whatever we have not seen is later than this.
        zxid = self._client.last_zxid
        for chunk in self._watches.chunks(_WATCHES_PER_FRAME):
            payload = self._encoder.set_watches(
                zxid,
                data=chunk[WatchType.DATA],
                absent=chunk[WatchType.ABSENT],
                children=chunk[WatchType.CHILDREN],
            )
            self._client.submit(_RestoringTicket(payload, self._on_restored))

    def _on_restored(self, error: ZkError) -> None:
        if error is not ZkError.OK and error not in CONNECTION_ERRORS:
            logger.error("ZooKeeper refused to set watches again (%s): the session ends", error)
            self._lifeline.hear(SessionNews.ENDED)


class _RestoringTicket(Ticket):
    """Sets watches on a new connection; if that breaks too, the next one begins anew."""

    def __init__(self, payload: bytes, on_done: Callable[[ZkError], None]) -> None:
        super().__init__(payload)
        self._on_done = on_done

    def finish(self, reply: FrameReply) -> None:
        """Nobody waits for this."""
        self._on_done(reply.error)


class _Sync:
    """A round trip after which everything has been heard of that happened before it."""

    def __init__(self, encoder: RequestEncoder) -> None:
        self._encoder = encoder

    def frames(self) -> Iterator[Frame]:
        yield Frame(self._encoder.sync(), lambda reply: reply.error)

    def answers(self, _decoded: Sequence[Any]) -> Iterable[Answered]:
        return ()
