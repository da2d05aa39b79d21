"""Who is in office over the brokers of a scenario: one of Apache's brokers, or Regent.

The Apache broker with the highest id is the controller and holds no replicas, so that what happens
to the others is the same under both. It is there under Regent too, as a broker like any other.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final, Protocol

from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import free_controller
from regent.zookeeper.kazoo_session import KazooSession
from tests.conformance.generator import BROKERS
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.regent_controller import RegentController

#: Holds no replicas.
APACHE_SEAT: Final = max(BROKERS) + 1


class Seat(Protocol):
    """A controller that is put into office before the brokers that hold replicas start."""

    node_id: int

    def take(self) -> None:
        """Into office, with nobody else there."""

    def leave(self) -> None:
        """At the end of all scenarios."""

    def pause(self) -> None:
        """Make it hang, with everything open."""

    def resume(self) -> None:
        """Let it go on."""


class ApacheSeat:
    """A broker of Apache's that is there first."""

    node_id = APACHE_SEAT

    def __init__(self, cluster: ApacheCluster) -> None:
        self._cluster = cluster

    def take(self) -> None:
        """Whoever is alone is elected."""
        self._cluster.start(self.node_id)

    def leave(self) -> None:
        """It goes with its cluster."""

    def pause(self) -> None:
        """Make it hang, with everything open."""
        self._cluster.broker(self.node_id).pause()

    def resume(self) -> None:
        """Let it go on."""
        self._cluster.broker(self.node_id).resume()


class RegentSeat:
    """`regent controller`."""

    def __init__(self, cluster: ApacheCluster) -> None:
        self._regent = RegentController(cluster)
        self.node_id = self._regent.node_id

    def take(self) -> None:
        """Before there is any broker."""
        self._regent.start()
        self._regent.wait_for_office()

    def leave(self) -> None:
        """Without ceremony."""
        self._regent.kill()

    def pause(self) -> None:
        """Make it hang, with everything open."""
        self._regent.pause()

    def resume(self) -> None:
        """Let it go on."""
        self._regent.resume()


def resign_and_return(cluster: ApacheCluster, seat: Seat) -> None:
    """The controller loses the role and gets it back, in the next reign and from ZooKeeper alone.

    Nobody else stands meanwhile: another reign in between would leave its own traces.
    """
    with closing(KazooSession.open(cluster.zookeeper_options)) as session:
        before = cluster.holder()
        with _others_paused(cluster, seat):
            run(session, free_controller(before))
            after = cluster.holder(after=before.controller_epoch)
    assert after.node_id == before.node_id == seat.node_id
    cluster.wait_until_followed(seat.node_id)


def bounce(cluster: ApacheCluster, seat: Seat, broker_id: int) -> None:
    """A broker dies and comes back while the controller hangs, which then finds it there."""
    seat.pause()
    try:
        cluster.kill(broker_id)
        cluster.broker(broker_id).launch()
        cluster.wait_for(
            lambda: broker_id in cluster.known().brokers, f"broker {broker_id} to register"
        )
    finally:
        seat.resume()
    cluster.wait_until_known(broker_id)


@contextmanager
def _others_paused(cluster: ApacheCluster, seat: Seat) -> Iterator[None]:
    others = [
        cluster.broker(broker_id)
        for broker_id in cluster.broker_ids
        if broker_id != seat.node_id and cluster.broker(broker_id).is_running
    ]
    try:
        for broker in others:
            broker.pause()
        yield
    finally:
        for broker in others:
            broker.resume()
