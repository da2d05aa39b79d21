"""A cluster as a client knows it: whom to ask, and whom next when that one is gone.

What any broker can answer is asked of whoever answers first. What only the controller can answer
is asked of it, and again of its successor: a controller that is changing is no failure. Every
search has a bound.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from regent.client.addresses import Address
from regent.client.configs import read_min_isr
from regent.client.connection import Connection
from regent.client.patience import Patience
from regent.client.seen import ClusterSeen, seen_from
from regent.errors import BrokerGone, ClusterUnreachable
from regent.model.cluster_requests import Metadata
from regent.model.error_codes import ErrorCode
from regent.wire.apis import ApiKey

T = TypeVar("T")

#: Since when a question about a topic can say that it shall not create it.
NO_CREATION_SINCE: Final = 4
#: More addresses than these help nobody in a sentence.
TRIED_SHOWN: Final = 3


class Replied(Struct, frozen=True):
    """What the controller answered."""

    answer: Any
    #: An earlier attempt was cut off after it was sent: what was asked may have been done twice.
    is_repeat: bool


class Cluster:
    """Holds one connection to each broker that was asked; `close` ends them all."""

    def __init__(self, bootstrap: Sequence[Address], patience: Patience | None = None) -> None:
        self._bootstrap = tuple(bootstrap)
        self._patience = patience or Patience()
        #: Those that Metadata named last; empty until a broker has answered.
        self._known: tuple[Address, ...] = ()
        self._connections: dict[Address, Connection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up everywhere."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # --- what any broker can answer -----------------------------------------------------------

    def look(self, topics: Sequence[str] | None = None) -> ClusterSeen:
        """Brokers, the controller, and these topics, or with None all."""
        seen = self._ask_any(lambda connection: _read_metadata(connection, topics))
        self._known = tuple(Address(each.host, each.port) for each in seen.brokers)
        return seen

    def min_isr(self, topics: Sequence[str]) -> Mapping[str, int]:
        """How many replicas each topic needs in sync, of those whose configuration may be seen."""
        return self._ask_any(lambda connection: read_min_isr(connection, topics))

    def ask_any(self, request: Struct) -> Any:
        """Ask whoever answers first; the request must bear being asked twice."""
        return self._ask_any(lambda connection: connection.ask(request))

    def _ask_any(self, reading: Callable[[Connection], T]) -> T:
        failures: list[BrokerGone] = []
        for address in self._candidates():
            try:
                return reading(self._connect(address))
            except BrokerGone as gone:
                failures.append(gone)
        raise ClusterUnreachable(f"no broker answers: {_say_failures(failures)}; check --bootstrap")

    def _candidates(self) -> Iterator[Address]:
        """Open connections first; one that proves dead is tried once more, afresh."""
        yield from [address for address, each in self._connections.items() if each.is_open]
        yield from dict.fromkeys((*self._known, *self._bootstrap))

    def _connect(self, address: Address) -> Connection:
        connection = self._connections.get(address)
        if connection is None or not connection.is_open:
            connection = Connection.open(address, self._patience)
            self._connections[address] = connection
        return connection

    # --- what one broker can answer -----------------------------------------------------------

    def ask_at(self, address: Address, request: Struct) -> Any:
        """Ask this broker and nobody else; raises `BrokerGone` if it does not answer."""
        return self._connect(address).ask(request)

    # --- what only the controller can answer --------------------------------------------------

    def ask_controller(self, request: Struct, *, attempts: int | None = None) -> Replied:
        """Ask whoever is controller now, until one answers as such."""
        is_repeat = False
        trouble = ""
        end_s = time.monotonic() + self._patience.attempts_s
        for pause_s in islice(self._patience.pauses(), attempts):
            if trouble and time.monotonic() + pause_s > end_s:
                break
            time.sleep(pause_s)
            try:
                connection = self._connect_to_controller()
            except BrokerGone as gone:
                trouble = str(gone)
                continue
            try:
                answer = connection.ask(request)
            except BrokerGone as gone:
                trouble, is_repeat = f"the controller at {gone}", True
                continue
            if not _is_from_another(answer):
                return Replied(answer, is_repeat)
            trouble = f"{connection.address} says that it is not the controller any more"
        doubt = "; the request may have been carried out all the same" if is_repeat else ""
        raise ClusterUnreachable(
            f"no controller answers: {trouble}{doubt}; see to the brokers, and try again"
        )

    def _connect_to_controller(self) -> Connection:
        """Raises `BrokerGone` for all that may pass, and `ClusterUnreachable` at first sight."""
        is_first = not self._known
        try:
            seen = self.look(())
        except ClusterUnreachable as error:
            if is_first:
                raise
            raise BrokerGone("the cluster", str(error)) from error
        controller = seen.broker(seen.controller_id)
        if controller is None:
            raise BrokerGone("the cluster", "it has no controller at the moment")
        address = Address(controller.host, controller.port)
        try:
            return self._connect(address)
        except BrokerGone as gone:
            raise BrokerGone(
                f"the controller, broker {controller.broker_id}, is advertised at {address}",
                f"{gone.reason} (can that address be reached from here?)",
            ) from gone


def _read_metadata(connection: Connection, topics: Sequence[str] | None) -> ClusterSeen:
    """No topic is created by being asked for: where that cannot be said, all are asked for."""
    can_name = connection.version_for(ApiKey.METADATA) >= NO_CREATION_SINCE
    asked = topics if can_name or not topics else None
    wanted = None if asked is None else tuple(asked)
    seen = seen_from(connection.ask(Metadata(wanted, may_create=False)))
    if topics is None or asked is not None:
        return seen
    named = frozenset(topics)
    return replace(seen, topics=tuple(topic for topic in seen.topics if topic.name in named))


def _is_from_another(answer: Any) -> bool:
    """Whether it was not the controller who answered; then it has done nothing."""
    results = getattr(answer, "results", ())
    codes = {getattr(answer, "error", ErrorCode.NONE), *(result.error for result in results)}
    return ErrorCode.NOT_CONTROLLER in codes


def _say_failures(failures: Sequence[BrokerGone]) -> str:
    """Each address once, with its last trouble."""
    told = list({gone.address: str(gone) for gone in failures}.values())
    more = len(told) - TRIED_SHOWN
    shown = "; ".join(told[:TRIED_SHOWN])
    return f"{shown}; and {more} more" if more > 0 else shown
