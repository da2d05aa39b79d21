"""The link of a simulated node to its ZooKeeper."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from regent.sim.network import Network
from regent.sim.schedule import Schedule
from regent.sim.zookeeper_host import ZooKeeperHost
from regent.sim.zookeeper_link import ZooKeeperLink
from regent.zookeeper.store import Request

TIMEOUT_MS = 3_000


class Owner:
    """A process that never rests, and takes its time to give things up."""

    host_id = 1

    def __init__(self) -> None:
        #: Sessions with the one before each, and None for the end of one.
        self.heard: list[tuple[int, int | None] | None] = []

    def deliver(self, action: Callable[[], None]) -> None:
        """At once."""
        action()

    def on_session(self, session_id: int, previous_session_id: int | None) -> None:
        """Kept."""
        self.heard.append((session_id, previous_session_id))

    def on_session_expired(self) -> None:
        """Kept; nothing is given up yet."""
        self.heard.append(None)

    def on_watch(self, path: str) -> None:
        """Nothing is watched."""
        raise AssertionError(f"nobody watches {path}")

    def break_point(self, _requests: Sequence[Request]) -> int | None:
        """The connection holds."""
        return None

    def on_applied(self, _requests: Sequence[Request]) -> bool:
        """It lives on."""
        return False


@pytest.mark.requirement("E4")
def test_no_session_begins_before_what_the_last_one_held_is_given_up() -> None:
    """A controller that stood again at once would do so with the last reign in its head."""
    schedule, owner = Schedule(), Owner()
    host = ZooKeeperHost(schedule, TIMEOUT_MS)
    link = ZooKeeperLink(owner, host, Network(schedule, Random(0), latency_us=100), schedule)
    link.start()
    schedule.run_until(100)
    (first,) = owner.heard
    assert first is not None

    host.close_session(first[0])
    schedule.run_until(10 * TIMEOUT_MS)
    assert owner.heard == [first, None], "the owner has not said that it is done"

    link.open_next_session()
    schedule.run_until(11 * TIMEOUT_MS)
    assert owner.heard[2:] == [(link.session_id, first[0])]
