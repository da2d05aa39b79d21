"""What a cluster's owner can see of it: in ZooKeeper what is decided, from brokers what they know.

ZooKeeper is asked for the truth, dead brokers or not; a broker is asked for what its clients hear.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from regent.client.addresses import Address
from regent.client.cluster import Cluster
from regent.client.patience import Patience
from regent.client.seen import ClusterSeen
from regent.errors import ClusterUnreachable, NotSupported, RequestRefused, SessionLost
from regent.model.ids import BrokerId
from regent.model.known_cluster import KnownCluster, KnownPartition
from regent.zookeeper import paths
from regent.zookeeper.cluster_reads import read_cluster
from regent.zookeeper.exchange import Exchange, run, send
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Delete

T = TypeVar("T")

#: For questions that are asked again anyway.
BRIEF: Final = Patience(connect_s=1.0, answer_s=2.0, attempts=1)
SESSION_TRIES: Final = 3


class Onlooker:
    """Has a session of its own, from the first question until `close`."""

    def __init__(self, zookeeper: ZooKeeperOptions) -> None:
        self._options = zookeeper
        self._session: KazooSession | None = None
        #: A test may look from several threads.
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the session; the next question opens another one."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def cluster(self, *topics: str) -> KnownCluster:
        """What is decided: the controller, the live brokers, and these topics."""
        return self._ask(lambda: read_cluster(topics))

    def partition(self, topic: str, partition: int) -> KnownPartition | None:
        """One partition, if there is such a one."""
        known = self.cluster(topic).topics.get(topic, ())
        return next((each for each in known if each.partition == partition), None)

    def clear_away(self, broker_ids: Iterable[int]) -> None:
        """Remove what dead brokers held, and the controller's office.

        Only for whoever knows that nobody lives there: the living would be driven out.
        """
        held = [*(paths.broker(BrokerId(each)) for each in broker_ids), paths.CONTROLLER]
        self._ask(lambda: send(tuple(map(Delete, held))))

    def _ask(self, exchange: Callable[[], Exchange[T]]) -> T:
        for _ in range(SESSION_TRIES - 1):
            try:
                return run(self._open(), exchange())
            except SessionLost:
                self.close()
        return run(self._open(), exchange())

    def _open(self) -> KazooSession:
        with self._lock:
            if self._session is None:
                self._session = KazooSession.open(self._options)
            return self._session


def heard_from(address: Address, topics: Sequence[str] | None) -> ClusterSeen | None:
    """What one broker tells its clients of these topics, or with None of all; None: no answer."""
    try:
        with Cluster([address], BRIEF) as asked:
            return asked.look(topics)
    except (ClusterUnreachable, NotSupported, RequestRefused):
        return None
