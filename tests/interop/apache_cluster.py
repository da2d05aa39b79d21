"""A cluster of Apache Kafka's own brokers in ZooKeeper mode, for as long as somebody needs it.

Real brokers of a released version as Java processes, and a real ZooKeeper. Who leads them is open:
one of them, until somebody else takes the role. Nothing of it outlives its owner.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from regent.client.addresses import parse_bootstrap
from regent.client.seen import ClusterSeen
from regent.core.asks import ReadTopics, TopicRead
from regent.errors import RegentError
from regent.model.ids import BrokerId
from regent.model.known_cluster import KnownCluster, KnownPartition
from regent.testing.onlooker import Onlooker, heard_from
from regent.testing.patient import wait_for, wait_until
from regent.zookeeper import paths
from regent.zookeeper.embedded import EmbeddedSettings, EmbeddedZooKeeper
from regent.zookeeper.exchange import data_or_none, read_one, run
from regent.zookeeper.hand_over import Holder, read_holder
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.store import Data, GetData
from tests.interop.apache_broker import ApacheBroker
from tests.interop.apache_mode import ApacheMode
from tests.interop.apache_tools import ApacheTools, Tool
from tests.interop.java_sessions import end_java_session
from tests.interop.kafka_jars import kafka_jars

CHROOT: Final = "/kafka"
#: So long that only a broker which was really killed is taken for dead, however busy the machine.
SESSION_TIMEOUT_MS: Final = 60_000
#: Several Java processes that start at once on a busy machine.
READY_WITHIN_S: Final = 240.0
#: What suits tests; the rest is as Kafka has it.
SETTINGS: Final[Mapping[str, str]] = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "zookeeper.connection.timeout.ms": "60000",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "500",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "4194304",
}


class ApacheCluster:
    """Started by entering the context; the ids are 1, 2, 3 and so on."""

    def __init__(  # noqa: PLR0913 - each but the first has a default
        self,
        folder: Path,
        brokers: int = 3,
        version: str = "3.9.1",
        ibp: str | None = None,
        *,
        racks: Sequence[str] = (),
        config: Mapping[str, str] | None = None,
    ) -> None:
        """`config` is what `server.properties` would say; `JarsMissing` if Kafka cannot be had."""
        self.mode = ApacheMode(version, ibp, tuple(racks))
        self._folder = folder
        self._jars = kafka_jars(version)
        self._config = dict(config or {})
        self._ids = range(1, brokers + 1)
        self._zookeeper = EmbeddedZooKeeper(
            folder / "zookeeper", settings=EmbeddedSettings(syncs_to_disk=False)
        )
        self._brokers: dict[int, ApacheBroker] = {}
        self._tools = ApacheTools(version, self._jars, folder)
        self._onlooker: Onlooker | None = None
        self._end = ExitStack()

    # --- its life -----------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self._end.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.close()

    def open(self) -> None:
        """Start ZooKeeper, so that somebody can take the role before any broker is there."""
        self._end.enter_context(self._zookeeper)
        KazooSession.open(self._options(creates_chroot=True)).close()
        self._onlooker = Onlooker(self.zookeeper_options)
        self._end.callback(self._onlooker.close)
        for broker_id in self._ids:
            broker = ApacheBroker(
                broker_id,
                self._folder / f"broker-{broker_id}",
                self._jars,
                self._properties(broker_id),
            )
            self._brokers[broker_id] = broker
            self._end.callback(broker.end_for_good)

    def start(self, *broker_ids: int) -> None:
        """Start these brokers, or all that are down, and wait until all know of each other."""
        down = [each for each in self._ids if not self._brokers[each].is_running]
        for broker_id in broker_ids or down:
            self._brokers[broker_id].launch()
        for broker_id in broker_ids or down:
            self.wait_until_known(broker_id)

    def _properties(self, broker_id: int) -> dict[str, str]:
        mode = self.mode
        rack = {"broker.rack": mode.racks[broker_id % len(mode.racks)]} if mode.racks else {}
        ibp = {} if mode.ibp is None else {"inter.broker.protocol.version": mode.ibp}
        connect = {"zookeeper.connect": self.zookeeper}
        return {**connect, **SETTINGS, **rack, **ibp, **self._config}

    # --- where it is --------------------------------------------------------------------------

    @property
    def broker_ids(self) -> Sequence[int]:
        """All of them, dead or alive."""
        return self._ids

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`."""
        return ",".join(broker.address for broker in self._brokers.values())

    @property
    def zookeeper(self) -> str:
        """For `zookeeper.connect`, with the chroot."""
        return f"{self._zookeeper.address}{CHROOT}"

    @property
    def zookeeper_options(self) -> ZooKeeperOptions:
        """The same, for sessions of ours."""
        return self._options(creates_chroot=False)

    @property
    def folder(self) -> Path:
        """Where everything is kept, logs included."""
        return self._folder

    def broker(self, broker_id: int) -> ApacheBroker:
        """A broker's process, and where it keeps its things."""
        return self._brokers[broker_id]

    def _options(self, *, creates_chroot: bool) -> ZooKeeperOptions:
        return ZooKeeperOptions(connect=self.zookeeper, creates_chroot=creates_chroot)

    # --- how it is ----------------------------------------------------------------------------

    def known(self, *topics: str) -> KnownCluster:
        """What ZooKeeper has now: the controller, the live brokers, and these topics."""
        assert self._onlooker is not None, "the cluster is open"
        return self._onlooker.cluster(*topics)

    def partition(self, topic: str, partition: int = 0) -> KnownPartition:
        """One partition as ZooKeeper has it now."""
        (found,) = (e for e in self.known(topic).topics[topic] if e.partition == partition)
        return found

    def partitions(self, topic: str) -> tuple[KnownPartition, ...]:
        """All partitions of a topic, or none if there is no such topic."""
        return self.known(topic).topics.get(topic, ())

    def topic_id(self, topic: str) -> str | None:
        """The id that the controller gave to a topic."""
        with closing(KazooSession.open(self.zookeeper_options)) as session:
            found = run(session, perform(ReadTopics((topic,))))[topic]
        return found.topic_id if isinstance(found, TopicRead) else None

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads; waits until somebody does who is alive."""

        def live_leader() -> int | None:
            known = self.known(topic)
            for each in known.topics.get(topic, ()):
                if each.partition == partition and each.leadership is not None:
                    leader = each.leadership.leader
                    return leader if leader in known.brokers else None
            return None

        return wait_for(live_leader, f"a leader of {topic}-{partition}")

    def holder(self, *, after: int = 0) -> Holder:
        """Who is the controller in an epoch later than this one; waits for it."""
        with closing(KazooSession.open(self.zookeeper_options)) as session:

            def look() -> Holder | None:
                found = run(session, read_holder())
                return found if found is not None and found.controller_epoch > after else None

            return wait_for(look, f"a controller after epoch {after}")

    def seen_by(self, broker_id: int, *topics: str) -> ClusterSeen | None:
        """What a broker tells its clients, of the cluster and these topics; None: no answer."""
        (address,) = parse_bootstrap(self._brokers[broker_id].address)
        return heard_from(address, topics)

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        """Look again and again, as patiently as a busy machine wants it."""
        wait_until(is_so, what, READY_WITHIN_S)

    def wait_until_known(self, broker_id: int) -> None:
        """A broker is registered, and every broker that runs knows of it and of the controller."""
        broker = self._brokers[broker_id]

        def is_ready() -> bool:
            if not broker.is_running:
                raise RegentError(f"broker {broker_id} ended; it said: {broker.last_words()}")
            known = self.known()
            return broker_id in known.brokers and all(
                self._knows(each, broker_id, known.controller_id)
                for each in self._ids
                if self._brokers[each].is_running
            )

        self.wait_for(is_ready, f"broker {broker_id} to be known to all")

    def wait_until_followed(self, controller_id: int) -> None:
        """Every broker that runs takes this one for the controller."""
        running = [each for each in self._ids if self._brokers[each].is_running]
        self.wait_for(
            lambda: all(self._knows(each, each, controller_id) for each in running),
            f"all to follow controller {controller_id}",
        )

    def wait_until_led(self, topic: str, count: int = 1) -> None:
        """So many partitions have a leader and all their replicas in sync; every broker knows."""

        def is_led() -> bool:
            partitions = self.partitions(topic)
            return len(partitions) == count and all(map(_is_whole, partitions))

        self.wait_for(is_led, f"{count} whole partitions of {topic}")
        running = [each for each in self._ids if self._brokers[each].is_running]
        self.wait_for(
            lambda: all(self._knows_leaders(each, topic, count) for each in running),
            f"all to know {count} leaders of {topic}",
        )

    def _knows(self, broker_id: int, other_id: int, controller_id: int | None) -> bool:
        seen = self.seen_by(broker_id)
        return (
            seen is not None
            and seen.controller_id == controller_id
            and any(each.broker_id == other_id for each in seen.brokers)
        )

    def _knows_leaders(self, broker_id: int, topic: str, count: int) -> bool:
        seen = self.seen_by(broker_id, topic)
        return seen is not None and sum(e.has_leader for e in seen.partitions()) == count

    # --- what is done to it -------------------------------------------------------------------

    def kill(self, broker_id: int) -> None:
        """End a broker as a crash does (kill -9). Its session is over when this returns."""
        owner = self._owner(broker_id)
        self._brokers[broker_id].kill()
        if owner is not None:
            end_java_session(self.zookeeper_options, owner)

    def stop(self, broker_id: int) -> None:
        """Stop a broker in order: it moves its leaderships away first."""
        self._brokers[broker_id].stop()

    def run_tool(self, tool: Tool, *arguments: str) -> str:
        """One of Apache's tools on this cluster; what it prints."""
        return self._tools.run(tool, *arguments)

    def tool(self, tool: Tool, *arguments: str) -> str:
        """The same, told by the option of its release which cluster it is about."""
        which = self._tools.cluster_options(tool, self.bootstrap, self.zookeeper)
        return self._tools.run(tool, *which, *arguments)

    def _owner(self, broker_id: int) -> int | None:
        """The session in which a broker is registered."""
        with closing(KazooSession.open(self.zookeeper_options)) as session:
            found: Data | None = data_or_none(
                run(session, read_one(GetData(paths.broker(BrokerId(broker_id)))))
            )
        return None if found is None else found.stat.ephemeral_owner


def _is_whole(partition: KnownPartition) -> bool:
    leadership = partition.leadership
    return leadership is not None and sorted(leadership.isr) == sorted(
        partition.assignment.replicas
    )
