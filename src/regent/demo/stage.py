"""The cluster that the demo plays on, its clients, and how each deed is done to them.

A deed returns when the cluster is well again: every partition led by somebody who is alive, and
writes acknowledged in each of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final

from msgspec import Struct

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.client.refusals import explain
from regent.client.verification import say_ids
from regent.client.waiting import wait_for_moves
from regent.demo.arrivals import Arrivals
from regent.demo.reader import GroupReader, read_all
from regent.demo.reckoning import Reckoning, differences, reckon
from regent.demo.story import Deed
from regent.demo.writer import SteadyWriter
from regent.errors import RegentError
from regent.journal.reader import read
from regent.journal.replay import replay
from regent.model.admin_requests import (
    ElectionType,
    PartitionResult,
    ReassignmentTarget,
    TopicResult,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.model.known_cluster import KnownCluster
from regent.testing.broker_process import Condition
from regent.testing.cluster import LocalCluster
from regent.testing.onlooker import Onlooker
from regent.testing.patient import WaitedInVain, wait_until
from regent.zookeeper.options import ZooKeeperOptions

BROKERS: Final = 3
READERS: Final = 2
LOOK_EVERY_S: Final = 0.05
#: A controller's journal is a moment behind what it has decided.
JOURNAL_PATIENCE_S: Final = 20.0


class DemoTopic(Struct, frozen=True):
    """A topic of the demo."""

    name: str
    partition_count: int
    replication_factor: int
    config: Mapping[str, int]

    @property
    def partitions(self) -> list[TopicPartition]:
        """By name."""
        return [TopicPartition(self.name, number) for number in range(self.partition_count)]


ORDERS: Final = DemoTopic("orders", 3, 3, {"min.insync.replicas": 2})
#: With two replicas, so that there is somewhere to move one; deleted in the end.
CLICKS: Final = DemoTopic("clicks", 2, 2, {"min.insync.replicas": 1})


class Stage:
    """Everything that runs, from `open` to `close`."""

    def __init__(self, act: Callable[[str, str], None]) -> None:
        """`act` is told what is done, and of which kind it is."""
        self._act = act
        self.cluster = LocalCluster(BROKERS)
        self._onlooker: Onlooker | None = None
        self.writer: SteadyWriter | None = None
        self.readers: list[GroupReader] = []
        self.write_times = Arrivals()
        self.read_times = Arrivals()
        #: Of the topics that are gone.
        self._reckoned = Reckoning()

    def carry_out(self, deed: Deed) -> None:
        """Do it, and wait until all is well."""
        match deed:
            case Deed.START:
                self._start()
            case Deed.CREATE_TOPICS:
                self._create_topics()
            case Deed.KILL_LEADER:
                self._kill_leader()
            case Deed.KILL_CONTROLLER:
                self._kill(self.cluster.controller_id(), "the controller")
            case Deed.BRING_BACK:
                self._bring_back()
            case Deed.MOVE_REPLICAS:
                self._move_replicas()
            case Deed.STOP_LEADER:
                self._stop_leader()
            case Deed.DELETE_TOPIC:
                self._delete_topic()

    def settle(self) -> Reckoning:
        """Stop the clients, and look for every record that was acknowledged to them."""
        writing = self._writing()
        writing.finish()
        for reader in self.readers:
            reader.stop()
        return self._reckoned + self._reckon(writing)

    def journal_differences(self) -> list[str]:
        """Where the journals, replayed, are not what ZooKeeper holds; looked at until they are."""
        found: list[str] = []

        def agree() -> bool:
            replayed = replay(read(self.cluster.journal_dir.iterdir()))
            found[:] = differences(replayed, self._known(*replayed.topics))
            return not found

        try:
            wait_until(agree, "the journals", JOURNAL_PATIENCE_S)
        except WaitedInVain:
            return found
        return []

    def close(self) -> None:
        """End everything that still runs, and do not wait for answers that nobody will give."""
        with ExitStack() as last_steps:
            last_steps.callback(self.cluster.close)
            if self._onlooker is not None:
                last_steps.callback(self._onlooker.close)
            for reader in self.readers:
                last_steps.callback(reader.stop)
            if self.writer is not None:
                last_steps.callback(self.writer.stop)

    def describe(self) -> str:
        """How the clients are, in a line."""
        if self.writer is None:
            return "no clients yet"
        return f"{self.writer.count:,} records acknowledged, {self.read_count:,} read by the group"

    @property
    def read_count(self) -> int:
        """How many records the group has read, those that it read twice counted twice."""
        return sum(reader.count for reader in self.readers)

    # --- deeds --------------------------------------------------------------------------------

    def _start(self) -> None:
        self._act(f"start ZooKeeper and brokers {say_ids(self.cluster.broker_ids)}", "user")
        self.cluster.start()
        self._onlooker = Onlooker(ZooKeeperOptions(connect=self.cluster.zookeeper))
        self._act(f"bootstrap {self.cluster.bootstrap}", "user")

    def _create_topics(self) -> None:
        for topic in (ORDERS, CLICKS):
            self._act(
                f"create {topic.name}: {topic.partition_count} partitions,"
                f" {topic.replication_factor} replicas each",
                "user",
            )
            self.cluster.create_topic(
                topic.name, topic.partition_count, topic.replication_factor, topic.config
            )
        bootstrap = self.cluster.bootstrap
        self.writer = SteadyWriter(bootstrap, self.write_times)
        self.readers = [
            GroupReader(bootstrap, [ORDERS.name], self.read_times) for _ in range(READERS)
        ]
        self.writer.start([*ORDERS.partitions, *CLICKS.partitions])
        for reader in self.readers:
            reader.start()
        self._wait_for_writes()
        wait_until(lambda: self.read_times.have_come(ORDERS.partitions, 0.0), "the group to read")

    def _kill_leader(self) -> None:
        """Of a broker that is not the controller, if there is one."""
        controller_id = self.cluster.controller_id()
        leaders = {name: self.cluster.leader(*name) for name in ORDERS.partitions}
        victim = next((each for each in leaders.values() if each != controller_id), controller_id)
        self._kill(victim, f"the leader of {self._led_by(victim)}")

    def _kill(self, broker_id: int, role: str) -> None:
        self._act(f"kill -9: broker {broker_id}, {role}", "fault")
        self.cluster.kill(broker_id)
        self._wait_for_writes()

    def _bring_back(self) -> None:
        for broker_id in self.cluster.broker_ids:
            if self.cluster.broker(broker_id).condition is Condition.DOWN:
                self._act(f"start broker {broker_id}", "user")
                self.cluster.start(broker_id)
        self._wait_for_sync()
        self._act("elect the preferred leaders", "user")
        with self._admin() as admin:
            admin.elect(ElectionType.PREFERRED)
        self._wait_for_writes()

    def _move_replicas(self) -> None:
        """Each replica set of the topic moves on by one broker."""
        targets = []
        for name in CLICKS.partitions:
            held = self.cluster.partition(*name).assignment.replicas
            spare = next(each for each in self.cluster.broker_ids if each not in held)
            target = (*held[1:], BrokerId(spare))
            targets.append(ReassignmentTarget(*name, target))
            self._act(f"move {name} from {say_ids(held)} to {say_ids(target)}", "user")
        with self._admin() as admin:
            _demand(admin.reassign(targets))
            wait_for_moves(
                admin, targets, interval_s=LOOK_EVERY_S, at_most_s=None, on_look=lambda _: None
            )
        self._wait_for_writes()

    def _stop_leader(self) -> None:
        controller_id = self.cluster.controller_id()
        broker_id = next(each for each in self.cluster.broker_ids if each != controller_id)
        self._act(f"SIGTERM: broker {broker_id}, the leader of {self._led_by(broker_id)}", "user")
        self.cluster.stop(broker_id)
        self._wait_for_writes()

    def _delete_topic(self) -> None:
        """Its records are looked for before they go."""
        writing = self._writing()
        writing.leave(CLICKS.name)
        self._reckoned += self._reckon(writing, CLICKS)
        self._act(f"delete {CLICKS.name}", "user")
        with self._admin() as admin:
            _demand(admin.delete([CLICKS.name]))
        wait_until(
            lambda: CLICKS.name not in self._known(CLICKS.name).topics,
            f"{CLICKS.name} to be gone",
        )

    # --- inside -------------------------------------------------------------------------------

    def _reckon(self, writing: SteadyWriter, *topics: DemoTopic) -> Reckoning:
        """Of these topics, or without any of all that are still there."""
        wanted = {topic.name for topic in topics}
        acknowledged = {
            name: writing.acknowledged.pop(name)
            for name in list(writing.acknowledged)
            if not wanted or name.topic in wanted
        }
        return reckon(acknowledged, read_all(self.cluster.bootstrap, list(acknowledged)))

    def _wait_for_writes(self) -> None:
        """Until a record is acknowledged in every partition that was written after now."""
        writing, now_s = self._writing(), monotonic()
        wait_until(
            lambda: self.write_times.have_come(writing.partitions, now_s), "acknowledged writes"
        )

    def _wait_for_sync(self) -> None:
        for name in self._writing().partitions:
            replicas = set(self.cluster.partition(*name).assignment.replicas)

            def is_in_sync(name: TopicPartition = name, replicas: set[BrokerId] = replicas) -> bool:
                return set(self.cluster.isr(*name)) == replicas

            wait_until(is_in_sync, f"{name} to be in sync")

    def _led_by(self, broker_id: int) -> str:
        led = [each for each in self._writing().partitions if self._leads(broker_id, each)]
        return ", ".join(map(str, led)) or "nothing"

    def _leads(self, broker_id: int, name: TopicPartition) -> bool:
        return self.cluster.leader(*name) == broker_id

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that the producer gave up, by the reason."""
        return {} if self.writer is None else dict(self.writer.refused)

    def _writing(self) -> SteadyWriter:
        assert self.writer is not None, "topics are created before anything else is done to them"
        return self.writer

    def _known(self, *topics: str) -> KnownCluster:
        assert self._onlooker is not None, "the cluster is started first of all"
        return self._onlooker.cluster(*topics)

    @contextmanager
    def _admin(self) -> Iterator[Admin]:
        with Cluster(parse_bootstrap(self.cluster.bootstrap)) as asked:
            yield Admin(asked)


def _demand(results: Sequence[TopicResult | PartitionResult]) -> None:
    for each in results:
        if each.error is not ErrorCode.NONE:
            raise RegentError(f"the demo's cluster refuses: {explain(each.error, each.message)}")
