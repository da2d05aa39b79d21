"""Where they meet: a ZooKeeper full of partitions, brokers that listen, and who is in office."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final, Protocol

from benchmarks.duel.duellists import SESSION_TIMEOUT_MS, Apache, Duellist, Regent
from benchmarks.duel.listening_brokers import ListeningBrokers
from benchmarks.duel.rest import PATIENCE_S, wait_for_rest
from benchmarks.live_cluster import BROKERS, PARTITIONS_PER_TOPIC, replicas_of, zookeeper
from regent.client.connection import Connection
from regent.client.patience import Patience
from regent.core.asks import ReadLeaderships
from regent.core.state import Partition
from regent.errors import BrokerGone
from regent.model.assignment import Assignment
from regent.model.ids import LeaderEpoch
from regent.model.leadership import Leadership
from regent.testing.patient import wait_until
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.hand_over import free_controller, read_holder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Multi, SetData
from regent.zookeeper.znodes import encode_leadership

APACHE_ID: Final = 201
REGENT_ID: Final = 202
#: The broker that dies, and the one that wants to go.
VICTIM: Final = BROKERS
#: Two Java processes that start at once on a busy machine.
READY_WITHIN_S: Final = 240.0
_LOOK_EVERY_S: Final = 0.002
_WRITES_AT_ONCE: Final = 250
_BRIEF: Final = Patience(connect_s=1.0, answer_s=5.0, attempts=1)


class Bystander(Protocol):
    """A process that would stand for election too, were it not made to hang meanwhile."""

    @property
    def pid(self) -> int:
        """Its number."""

    def pause(self) -> None:
        """Make it hang; it does nothing any more when this returns."""

    def resume(self) -> None:
        """Let it go on."""


class Arena:
    """Both controllers, the brokers, and a session of our own to look and to set things back."""

    def __init__(
        self,
        options: ZooKeeperOptions,
        brokers: ListeningBrokers,
        duellists: Sequence[Duellist],
        bystanders: Sequence[Bystander] = (),
    ) -> None:
        self.brokers = brokers
        self.duellists = duellists
        self._bystanders = bystanders
        self.session = KazooSession.open(options)

    # --- who is in office ---------------------------------------------------------------------

    def put_in_office(self, duellist: Duellist) -> float:
        """Free the role while all others hang; when the new controller's znode was seen.

        Bystanders go on from that moment; the rival hangs until `settle`.
        """
        for other in self._others(duellist):
            other.pause()
        before = run(self.session, read_holder())
        deadline_s = monotonic() + PATIENCE_S
        while True:
            holder = run(self.session, read_holder())
            if holder is not None:
                if holder.node_id == duellist.node_id and holder != before:
                    break
                # In office from before, or by the last thing that it did before it hung.
                run(self.session, free_controller(holder))
            assert monotonic() < deadline_s, f"{duellist.name} does not take office"
            sleep(_LOOK_EVERY_S)
        seen_s = monotonic()
        for bystander in self._bystanders:
            bystander.resume()
        return seen_s

    def settle(self) -> None:
        """Nobody hangs any more, and all have done what there was to do.

        A controller that was deposed while it hung has resigned then, and stands again.
        """
        everybody: list[Bystander] = [*self.duellists, *self._bystanders]
        for each in everybody:
            each.resume()
        wait_for_rest([each.pid for each in everybody], lambda: self.brokers.arrivals.count)

    def _others(self, duellist: Duellist) -> list[Bystander]:
        rivals = [other for other in self.duellists if other is not duellist]
        return [*rivals, *self._bystanders]

    # --- what brokers are told ----------------------------------------------------------------

    def wait_until_told(self, duellist: Duellist, after: int, is_done: Callable[[], bool]) -> float:
        """When the last broker had its last request, of more than `after`, about work that is done.

        ZooKeeper shows that it is done, the controller rests, and nobody is told anything; then all
        of that once more, because a controller that waits for ZooKeeper rests too.
        """
        arrivals = self.brokers.arrivals
        while True:
            wait_for_rest([duellist.pid], lambda: arrivals.count)
            seen = arrivals.count
            if seen > after and is_done():
                wait_for_rest([duellist.pid], lambda: arrivals.count)
                if arrivals.count == seen:
                    return arrivals.last_s

    # --- what ZooKeeper has -------------------------------------------------------------------

    def leaderships(self, partitions: Sequence[Partition]) -> list[Leadership]:
        """What ZooKeeper says of these, in their order; those that have no state are left out."""
        found = run(self.session, perform(ReadLeaderships(partitions)))
        return [each for each in found if isinstance(each, Leadership)]

    def set_back(self, partitions: Sequence[Partition]) -> list[Leadership]:
        """Write the states of these as they were at first, and newer than they are."""
        current = self.leaderships(partitions)
        first = [led_by_first(*pair) for pair in zip(partitions, current, strict=True)]
        ops = [
            SetData(path, encode_leadership(leadership))
            for path, leadership in zip(paths.partition_states(partitions), first, strict=True)
        ]
        starts = range(0, len(ops), _WRITES_AT_ONCE)
        self.session.call([Multi(tuple(ops[i : i + _WRITES_AT_ONCE])) for i in starts])
        return first


def led_by_first(partition: Partition, current: Leadership) -> Leadership:
    """Led by the first replica, all in sync; in a later epoch, since brokers believe no earlier."""
    replicas = partition.assignment.replicas
    return Leadership(
        replicas[0],
        LeaderEpoch(current.leader_epoch + 1),
        replicas,
        current.controller_epoch,
        current.zk_version,
    )


def partitions_with(broker_id: int, partition_count: int) -> list[Partition]:
    """The partitions that have a replica on this broker."""
    found = []
    for number in range(partition_count):
        replicas = replicas_of(number)
        if broker_id in replicas:
            topic, index = divmod(number, PARTITIONS_PER_TOPIC)
            found.append(Partition(f"topic-{topic:06}", index, Assignment(replicas)))
    return found


@contextmanager
def arena(partition_count: int, broker_ids: Sequence[int], jars: Path) -> Iterator[Arena]:
    """A cluster with so many partitions, and both controllers ready to lead it."""
    with ExitStack() as ends:
        options = ends.enter_context(zookeeper(partition_count))
        patient = ZooKeeperOptions(connect=options.connect, session_timeout_ms=SESSION_TIMEOUT_MS)
        brokers = ListeningBrokers(patient, broker_ids)
        ends.callback(brokers.close)
        duellists = ends.enter_context(both(patient, jars))
        made = Arena(patient, brokers, duellists)
        ends.callback(made.session.close)
        made.settle()
        yield made


@contextmanager
def both(options: ZooKeeperOptions, jars: Path) -> Iterator[tuple[Duellist, ...]]:
    """Both controllers, started, until they answer."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(TemporaryDirectory(prefix="regent-duel-")))
        duellists = (
            Apache(APACHE_ID, folder / "apache", options, jars),
            Regent(REGENT_ID, folder / "regent", options),
        )
        for duellist in duellists:
            ends.callback(duellist.close)
        for duellist in duellists:
            wait_until(partial(_answers, duellist), f"{duellist.name} to answer", READY_WITHIN_S)
        yield duellists


def _answers(duellist: Duellist) -> bool:
    try:
        Connection.open(duellist.address, _BRIEF).close()
    except BrokerGone:
        return False
    return True
