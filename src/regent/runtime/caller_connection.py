"""One caller's connection: frames in, answers out, in order and one at a time.

As in Kafka, a request of a connection is looked at when the one before it has been answered. A
caller that sends more is not read any further, and one that does not take its answers gets no
more of them. One that has used up a quota is muted: answered, and then not listened to for a while.
Whatever is wrong ends this connection and nothing else.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias, cast

from msgspec import Struct

from regent.errors import ProtocolError, RegentError
from regent.wire.exchange import Call, decode_request
from regent.wire.frames import FrameReader
from regent.wire.limits import WireLimits
from regent.wire.strict_reader import Content

#: Far more than any request to a controller needs; Kafka's 100 MB are for records.
FRAME_BYTES: Final = 16 * 1024 * 1024

#: From so many bytes on, one more call of the system is cheaper than a copy of all parts.
COPIED_BYTES: Final = 64 * 1024

logger = logging.getLogger(__name__)

#: A frame, whole or in parts that are sent one after the other; no part at all is no answer.
Frame: TypeAlias = bytes | Sequence[bytes | bytearray | memoryview]


class MutingFrame(Struct, frozen=True):
    """A frame after which the caller is muted for so long (KIP-219)."""

    frame: Frame
    mute_ms: int


#: Makes the frame that answers a request of the caller at an address.
ToAnswer: TypeAlias = Callable[[Call, str], Awaitable[Frame | MutingFrame]]


class ConnectionSettings(Struct, frozen=True):
    """What one connection may ask for."""

    limits: WireLimits = WireLimits(frame_bytes=FRAME_BYTES)
    #: Requests that may be waiting for their answer before no more are read.
    unanswered_max: int = 10


class CallerConnection(asyncio.BufferedProtocol):
    """Lives on the event loop, from `connection_made` to `connection_lost`."""

    def __init__(
        self,
        settings: ConnectionSettings,
        to_answer: ToAnswer,
        on_lost: Callable[["CallerConnection"], None],
    ) -> None:
        self._settings = settings
        self._to_answer = to_answer
        self._on_lost = on_lost
        self._frames = FrameReader(settings.limits)
        self._waiting: deque[Content] = deque()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        #: Set while the caller is muted.
        self._unmuting: asyncio.TimerHandle | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()
        #: Nothing more is read; the connection ends when what is under way is answered.
        self._is_closing = False
        self.peer = "?"
        self.active_at_s = asyncio.get_running_loop().time()

    @property
    def is_busy(self) -> bool:
        """Whether it is us who keep the caller waiting, and not the caller us."""
        is_waiting = self._task is not None or self._unmuting is not None
        return is_waiting and self._can_write.is_set()

    # --- from the event loop ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has called."""
        self._transport = cast("asyncio.Transport", transport)
        host, port = (transport.get_extra_info("peername") or ("?", 0))[:2]
        self.peer = f"{host}:{port}"
        if self._is_closing:
            transport.close()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        """Where bytes shall be received to."""
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come; the frames that are complete wait for their turn."""
        self._touch()
        if self._is_closing:
            return
        try:
            self._waiting.extend(self._frames.filled(nbytes))
        except ProtocolError as error:
            self._complain(error)
            self.finish()
        self._pace()
        self._go_on()

    def eof_received(self) -> bool:
        """The caller has hung up; as in Kafka, nobody hangs up on one side only."""
        if not self._frames.is_between_frames and not self._is_closing:
            self._complain("it ended within a frame")
        self._is_closing = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Nobody is there any more to hear an answer."""
        self._is_closing = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        if self._unmuting is not None:
            self._unmuting.cancel()
        self._on_lost(self)

    def pause_writing(self) -> None:
        """The caller does not take its answers."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._touch()
        self._can_write.set()

    # --- the end ----------------------------------------------------------------------------------

    def finish(self) -> None:
        """Take no more requests, answer what is under way, and hang up."""
        self._is_closing = True
        self._waiting.clear()
        if self._transport is None:  # Accepted this very moment: `connection_made` hangs up.
            return
        if self._task is None:
            self._transport.close()
        else:
            self._transport.pause_reading()

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()

    # --- inside -----------------------------------------------------------------------------------

    def _touch(self) -> None:
        self.active_at_s = asyncio.get_running_loop().time()

    def _pace(self) -> None:
        """Read only as long as few are waiting, and nothing of a caller that is muted."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._is_closing:
            return
        is_full = len(self._waiting) >= self._settings.unanswered_max
        if is_full or self._unmuting is not None:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def _go_on(self) -> None:
        if self._task is None and self._unmuting is None and self._waiting:
            self._task = asyncio.get_running_loop().create_task(
                self._answer_all(), name=f"answers to {self.peer}"
            )

    async def _answer_all(self) -> None:
        """Answer what waits, until nothing does or the caller is muted."""
        assert self._transport is not None, "it has been made"
        try:
            while self._waiting and self._unmuting is None:
                frame = await self._answer(self._waiting.popleft())
                if frame is None:
                    self._transport.close()
                    return
                if isinstance(frame, MutingFrame):
                    self._mute(frame.mute_ms)
                    frame = frame.frame
                _send(self._transport, frame)
                self._touch()
                await self._can_write.wait()
                self._pace()
        finally:
            self._task = None
        if self._is_closing:
            self._transport.close()

    def _mute(self, mute_ms: int) -> None:
        loop = asyncio.get_running_loop()
        self._unmuting = loop.call_later(mute_ms / 1000, self._unmute)

    def _unmute(self) -> None:
        self._unmuting = None
        self._pace()
        self._go_on()

    async def _answer(self, message: Content) -> Frame | MutingFrame | None:
        """The answer to one message; None if nothing can be said any further."""
        try:
            call = decode_request(message, self._settings.limits)
            return await self._to_answer(call, self.peer)
        except RegentError as error:  # No protocol, or ZooKeeper is away: it may call again.
            self._complain(error)
        except Exception:
            logger.exception("a request of %s failed; its connection is closed", self.peer)
        return None

    def _complain(self, reason: object) -> None:
        logger.warning("the connection of %s is closed: %s", self.peer, reason)


def _send(transport: asyncio.Transport, frame: Frame) -> None:
    if isinstance(frame, bytes):
        transport.write(frame)
    elif sum(map(len, frame)) < COPIED_BYTES:
        transport.writelines(frame)
    else:
        for part in frame:
            if part:
                # A view, because what the socket does not take at once is cut off in front.
                transport.write(memoryview(part))
