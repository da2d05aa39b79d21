"""Where they meet: a ZooKeeper full of partitions, brokers that listen, and who is in office."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Final

from benchmarks.duel.duellists import SESSION_TIMEOUT_MS, Apache, Duellist, Regent
from benchmarks.duel.listening_brokers import PATIENCE_S, ListeningBrokers
from benchmarks.live_cluster import BROKERS, PARTITIONS_PER_TOPIC, replicas_of, zookeeper
from regent.core.asks import ReadController, ReadLeaderships
from regent.core.state import Partition
from regent.model.assignment import Assignment
from regent.model.ids import ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Delete, Multi, SetData
from regent.zookeeper.znodes import encode_leadership

APACHE_ID: Final = 201
REGENT_ID: Final = 202
#: The broker that dies, and the one that wants to go.
VICTIM: Final = BROKERS
_LOOK_EVERY_S: Final = 0.002
_WRITES_AT_ONCE: Final = 250


class Arena:
    """Both controllers, the brokers, and a session of our own to look and to set things back."""

    def __init__(
        self, options: ZooKeeperOptions, brokers: ListeningBrokers, duellists: Sequence[Duellist]
    ) -> None:
        self.brokers = brokers
        self.duellists = duellists
        self.session = KazooSession.open(options)

    def put_in_office(self, duellist: Duellist) -> float:
        """Free the role while all others hang; when the new controller's znode was seen."""
        others = [other for other in self.duellists if other is not duellist]
        for other in others:
            other.pause()
        self.session.call([Delete(paths.CONTROLLER)])
        deadline_s = monotonic() + PATIENCE_S
        while run(self.session, perform(ReadController())) != duellist.node_id:
            assert monotonic() < deadline_s, f"{duellist.name} does not take office"
            sleep(_LOOK_EVERY_S)
        return monotonic()

    def let_all_go_on(self) -> None:
        """Nobody hangs any more."""
        for duellist in self.duellists:
            duellist.resume()

    def set_back(self, partitions: Sequence[Partition]) -> None:
        """The states of these as they were at first: led by their first replica, all in sync."""
        ops = [
            SetData(path, encode_leadership(_first_leadership(partition)))
            for path, partition in zip(paths.partition_states(partitions), partitions, strict=True)
        ]
        starts = range(0, len(ops), _WRITES_AT_ONCE)
        self.session.call([Multi(tuple(ops[i : i + _WRITES_AT_ONCE])) for i in starts])

    def leaderships(self, partitions: Sequence[Partition]) -> list[Leadership]:
        """What ZooKeeper says of these."""
        found = run(self.session, perform(ReadLeaderships(partitions)))
        return [each for each in found if isinstance(each, Leadership)]


def _first_leadership(partition: Partition) -> Leadership:
    replicas = partition.assignment.replicas
    return Leadership(replicas[0], LeaderEpoch(0), replicas, ControllerEpoch(0), ZkVersion(0))


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
        folder = Path(ends.enter_context(TemporaryDirectory(prefix="regent-duel-")))
        patient = ZooKeeperOptions(connect=options.connect, session_timeout_ms=SESSION_TIMEOUT_MS)
        brokers = ListeningBrokers(patient, broker_ids)
        ends.callback(brokers.close)
        duellists = (
            Apache(APACHE_ID, folder / "apache", patient, jars),
            Regent(REGENT_ID, folder / "regent", patient),
        )
        for duellist in duellists:
            ends.callback(duellist.close)
        made = Arena(patient, brokers, duellists)
        ends.callback(made.session.close)
        _wait_until_both_stand(made)
        yield made


def _wait_until_both_stand(made: Arena) -> None:
    """Each has been in office once, and has told everybody: both are as warm as can be."""
    for duellist in made.duellists:
        before = made.brokers.arrivals.count
        sleep(5)
        made.put_in_office(duellist)
        made.brokers.arrivals.wait_for_quiet(before)
        made.let_all_go_on()
