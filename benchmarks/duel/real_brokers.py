"""A failover in front of Apache's own brokers, which have the replicas and believe no old epoch.

Three brokers of `tests.interop` hold the partitions; a quarter of these have a fourth broker as
their first replica, which was never there. Before each turn ZooKeeper says of that quarter that the
fourth leads it and all are in sync, so that each turn has the same elections to make.

Brokers would stand for election too, so they hang for the moment of the hand-over, and go on as
soon as `/controller` names the duellist: that starts the clock. It ends when each of the brokers
answers a client's Metadata with the new controller and with the new leaders of the bereft
partitions of one topic, if a look at all partitions then finds no broker that has any other leader
or leader epoch than ZooKeeper.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Final

from msgspec import Struct

from benchmarks.duel.arena import Arena, both
from benchmarks.duel.contests import PATIENT, Duel
from benchmarks.duel.duellists import Duellist
from benchmarks.duel.listening_brokers import ListeningBrokers
from benchmarks.duel.rounds import Contest
from regent.client.addresses import parse_bootstrap
from regent.client.connection import Connection
from regent.core.state import Partition
from regent.model.admin_requests import CreateTopics, NewTopic
from regent.model.assignment import Assignment
from regent.model.cluster_requests import Metadata, MetadataAnswer
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from regent.testing.patient import wait_until
from tests.interop.apache_cluster import READY_WITHIN_S, ApacheCluster

REAL: Final = (BrokerId(1), BrokerId(2), BrokerId(3))
#: The first replica of a quarter, and nowhere to be found.
ABSENT: Final = BrokerId(4)
PARTITIONS_PER_TOPIC: Final = 50
_SHARES: Final = len(REAL) + 1

#: By topic and partition: who leads, and in which leader epoch.
Leaders = dict[tuple[str, int], tuple[int, int]]


class Layout(Struct, frozen=True):
    """Which partitions there are."""

    partitions: tuple[Partition, ...]

    @property
    def bereft(self) -> list[Partition]:
        """Those whose first replica is absent."""
        return [each for each in self.partitions if each.assignment.replicas[0] == ABSENT]

    @property
    def new_topics(self) -> tuple[NewTopic, ...]:
        """The same, to be asked for."""
        topics: dict[str, list[tuple[int, tuple[BrokerId, ...]]]] = {}
        for each in self.partitions:
            topics.setdefault(each.topic, []).append((each.index, each.assignment.replicas))
        return tuple(NewTopic(topic, assignments=tuple(each)) for topic, each in topics.items())


def lay_out(partition_count: int) -> Layout:
    """Three replicas each, in turn on the real brokers; every fourth partition is bereft."""
    partitions = []
    for number in range(partition_count):
        turn = number // _SHARES % len(REAL)
        rotated = REAL[turn:] + REAL[:turn]
        replicas = (ABSENT, *rotated[:2]) if number % _SHARES == 0 else rotated
        topic, index = divmod(number, PARTITIONS_PER_TOPIC)
        partitions.append(Partition(f"real-{topic:04}", index, Assignment(replicas)))
    return Layout(tuple(partitions))


@contextmanager
def real_arena(layout: Layout, jars: Path) -> Iterator[tuple[Arena, "Clients"]]:
    """Real brokers that hold these partitions, and both controllers ready to lead them."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(TemporaryDirectory(prefix="regent-duel-real-")))
        apache = ends.enter_context(ApacheCluster(folder, brokers=len(REAL)))
        apache.start()
        clients = Clients([apache.broker(each).address for each in REAL])
        ends.callback(clients.close)
        clients.create(layout, apache.holder().node_id)
        duellists = ends.enter_context(both(apache.zookeeper_options, jars))
        nobody = ListeningBrokers(apache.zookeeper_options, ())
        ends.callback(nobody.close)
        real = [apache.broker(each) for each in REAL]
        made = Arena(apache.zookeeper_options, nobody, duellists, real)
        ends.callback(made.session.close)
        made.settle()
        yield made, clients


def real_failover(arena: Arena, clients: "Clients", layout: Layout) -> Duel:
    """Take office over real brokers, of which one is missing."""
    bereft = layout.bereft
    probe = bereft[0].topic

    def play(duellist: Duellist) -> float:
        before = leaders_of(bereft, arena.set_back(bereft))
        asked = {name: told for name, told in before.items() if name[0] == probe}
        began_s = arena.put_in_office(duellist)
        clients.wait_until_led(probe, duellist.node_id, asked)
        while True:
            looked_s = monotonic()
            written = leaders_of(layout.partitions, arena.leaderships(layout.partitions))
            if clients.all_hear(duellist.node_id, written):
                break
        assert all(written[name][1] > told[1] for name, told in before.items()), "all were elected"
        arena.settle()
        return looked_s - began_s

    timed = "/controller names it -> Metadata of all three real brokers has it and the new leaders"
    return Contest(f"failover_real_{len(layout.partitions)}", timed, play)


class Clients:
    """One client of each broker, who asks what every client asks."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._asking = [
            Connection.open(address, PATIENT)
            for each in addresses
            for address in parse_bootstrap(each)
        ]

    def close(self) -> None:
        """Hang up."""
        for each in self._asking:
            each.close()

    def create(self, layout: Layout, controller_id: int) -> None:
        """Create the topics, and wait until every broker knows who leads them."""
        results = self._asking[REAL.index(BrokerId(controller_id))].ask(
            CreateTopics(layout.new_topics)
        )
        refused = [each for each in results.results if each.error is not ErrorCode.NONE]
        assert not refused, f"all can be created: {refused[:1]}"
        wait_until(
            lambda: all(
                len(known) == len(layout.partitions)
                and all(told[0] in REAL for told in known.values())
                for known in map(told_leaders, self._hear(None))
            ),
            f"leaders of {len(layout.partitions)} partitions",
            READY_WITHIN_S,
        )

    def wait_until_led(self, topic: str, controller_id: int, before: Leaders) -> None:
        """Every broker knows the controller, and later leaders than these of a topic."""
        waiting = list(self._asking)
        while waiting:
            answer = waiting[0].ask(Metadata((topic,), may_create=False))
            if answer.controller_id == controller_id and is_later(told_leaders(answer), before):
                waiting.pop(0)

    def all_hear(self, controller_id: int, leaders: Leaders) -> bool:
        """Every broker tells its clients just this."""
        return all(
            answer.controller_id == controller_id and told_leaders(answer) == leaders
            for answer in self._hear(None)
        )

    def _hear(self, topics: tuple[str, ...] | None) -> Iterator[MetadataAnswer]:
        for each in self._asking:
            yield each.ask(Metadata(topics, may_create=False))


def is_later(told: Mapping[tuple[str, int], tuple[int, int]], before: Leaders) -> bool:
    """Each of these has a leader that was elected after that."""
    return all(
        name in told and told[name][0] in REAL and told[name][1] > epoch
        for name, (_, epoch) in before.items()
    )


def told_leaders(answer: MetadataAnswer) -> Leaders:
    """Who leads, as a broker tells it."""
    return {
        (topic.topic, each.partition): (each.leader, each.leader_epoch)
        for topic in answer.topics
        for each in topic.partitions
    }


def leaders_of(partitions: Sequence[Partition], leaderships: Sequence[Leadership]) -> Leaders:
    """Who leads, as it is written."""
    return {
        (partition.topic, partition.index): (leadership.leader, leadership.leader_epoch)
        for partition, leadership in zip(partitions, leaderships, strict=True)
    }
