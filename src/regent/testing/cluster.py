"""A Kafka cluster on this machine, for as long as somebody needs it.

Real brokers as processes, each with a controller module, and a real ZooKeeper. Everything can be
killed, stopped, paused, cut off and started again, and nothing of it outlives its owner.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.client.refusals import explain
from regent.client.seen import ClusterSeen
from regent.errors import BadInput, RegentError, RequestRefused
from regent.model.admin_requests import NewTopic
from regent.model.error_codes import ErrorCode
from regent.model.known_cluster import KnownPartition
from regent.testing.broker_process import BrokerProcess, Condition
from regent.testing.cluster_home import ClusterHome
from regent.testing.cuts import NetworkCuts
from regent.testing.held_port import HeldPort
from regent.testing.onlooker import Onlooker, heard_from
from regent.testing.patient import PATIENCE_S, WaitedInVain, wait_for, wait_until
from regent.testing.settings import Setting, to_properties

#: As long as sessions last by default: whoever was registered before has to be gone by then.
LEFTOVER_S: Final = 20.0
COPIES_MAX: Final = 3


class LocalCluster:
    """Started by `start` or by entering the context; ids are 1, 2, 3 and so on."""

    def __init__(  # noqa: PLR0913 - each has a default, and the last three are named
        self,
        brokers: int = 3,
        racks: Sequence[str] | None = None,
        config: Mapping[str, Setting] | None = None,
        *,
        zookeeper: str | None = None,
        data_dir: Path | None = None,
        base_port: int | None = None,
    ) -> None:
        """Racks are given to brokers in turn; `config` is what `server.properties` would say.

        Without a `zookeeper` one is started: with a `data_dir` there, else one for all clusters of
        this process. Without a `data_dir` everything is gone at the end, and brokers are killed
        instead of stopped. Without a `base_port` every broker has any port that is free.
        """
        if brokers < 1:
            raise BadInput(f"a cluster of {brokers} brokers is none; give it one at least")
        self._ids = range(1, brokers + 1)
        self._ports = [base_port + index if base_port else 0 for index in range(brokers)]
        self._racks = tuple(racks or ())
        self._home = ClusterHome(data_dir, zookeeper)
        self._properties = to_properties(
            config or {}, broker_count=brokers, for_tests=not self._home.is_kept
        )
        self._brokers: dict[int, BrokerProcess] = {}
        self._cuts = NetworkCuts(self._brokers)
        self._onlooker: Onlooker | None = None

    # --- its life -----------------------------------------------------------------------------

    def start(self, broker_id: int | None = None) -> None:
        """Start everything, and wait until every broker knows of every other one.

        With an id, start a broker that is down again: the same id, port and data. What goes wrong
        with the whole leaves nothing behind.
        """
        if broker_id is not None:
            self.broker(broker_id).launch(self._home.zookeeper)
            return self.wait_until_ready(broker_id)
        assert not self._brokers, "it is started once at a time"
        try:
            self._start_everything()
        except BaseException:
            self._end(in_order=False)
            raise

    def close(self) -> None:
        """End everything, whatever state it is in; what was given a `data_dir` stays there."""
        self._end(in_order=self._home.is_kept)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- where it is --------------------------------------------------------------------------

    @property
    def broker_ids(self) -> Sequence[int]:
        """All of them, dead or alive."""
        return self._ids

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`: all brokers, dead or alive."""
        return ",".join(broker.address for broker in self._brokers.values())

    @property
    def zookeeper(self) -> str:
        """For `zookeeper.connect`, with the chroot."""
        return self._home.zookeeper.connect

    @property
    def journal_dir(self) -> Path:
        """Where the controllers of all brokers write down what they decide, in folders of it."""
        return self._home.journal_dir

    def logs(self, broker_id: int) -> str:
        """All that a broker has logged, in all its lives."""
        file = self.broker(broker_id).log_file
        return file.read_text(errors="replace") if file.exists() else ""

    def broker(self, broker_id: int) -> BrokerProcess:
        """A broker's process, and where it keeps its things."""
        found = self._brokers.get(broker_id)
        if found is None:
            known = ", ".join(map(str, self._brokers)) or "none: it is not started"
            raise BadInput(f"there is no broker {broker_id} in this cluster; there are {known}")
        return found

    # --- how it is ----------------------------------------------------------------------------

    def controller_id(self) -> int:
        """Who is the controller; waits until somebody is."""
        look = self._looking()
        return wait_for(lambda: look.cluster().controller_id, "a controller")

    def leader(self, topic: str, partition: int = 0) -> int:
        """Who leads a partition; waits until somebody does who is alive."""
        look = self._looking()

        def live_leader() -> int | None:
            known = look.cluster(topic)
            for each in known.topics.get(topic, ()):
                if each.partition == partition and each.leadership is not None:
                    leader = each.leadership.leader
                    return leader if leader in known.brokers else None
            return None

        return wait_for(live_leader, f"a leader of {topic}-{partition}")

    def isr(self, topic: str, partition: int = 0) -> Sequence[int]:
        """The replicas that are in sync now, in no particular order."""
        leadership = self.partition(topic, partition).leadership
        return () if leadership is None else leadership.isr

    def partition(self, topic: str, partition: int = 0) -> KnownPartition:
        """A partition as ZooKeeper has it now: its replicas, its leader, its epochs."""
        found = self._looking().partition(topic, partition)
        if found is None:
            raise BadInput(f"there is no partition {topic}-{partition} in this cluster")
        return found

    def seen_by(self, broker_id: int, *topics: str) -> ClusterSeen | None:
        """What a broker tells its clients, of the cluster and these topics; None: no answer."""
        (address,) = parse_bootstrap(self.broker(broker_id).address)
        return heard_from(address, topics)

    def seen(self) -> ClusterSeen | None:
        """The whole cluster, as the first broker that answers tells it; None: nobody does."""
        for broker in self._brokers.values():
            if broker.condition is Condition.RUNNING:
                (address,) = parse_bootstrap(broker.address)
                if (seen := heard_from(address, None)) is not None:
                    return seen
        return None

    def wait_until(
        self, is_so: Callable[[], bool], what: str = "it", within_s: float = PATIENCE_S
    ) -> None:
        """Look again and again until something is so; `WaitedInVain` if it does not come."""
        wait_until(is_so, what, within_s)

    def wait_until_ready(self, broker_id: int) -> None:
        """Wait until a broker is registered, and every broker that runs knows of it."""
        broker = self.broker(broker_id)

        def is_ready() -> bool:
            if broker.condition is Condition.DOWN:
                raise RegentError(
                    f"broker {broker_id} ended with code {broker.exit_code} before it was"
                    f" ready; it said: {broker.last_words()}"
                )
            if broker_id not in self._looking().cluster().brokers:
                return False
            return all(self._knows(each, broker_id) for each in self._reachable())

        wait_until(is_ready, f"broker {broker_id} to be known to all")

    # --- what is done to it -------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        config: Mapping[str, Setting] | None = None,
    ) -> None:
        """Create a topic, and wait until every broker that runs knows leaders for all of it."""
        copies = (
            min(COPIES_MAX, len(self._ids)) if replication_factor is None else replication_factor
        )
        configs = tuple((key, str(value)) for key, value in (config or {}).items())
        wish = NewTopic(name, partitions, copies, configs=configs)
        with Cluster(parse_bootstrap(self.bootstrap)) as asked:
            (result,) = Admin(asked).create([wish])
        if result.error is not ErrorCode.NONE:
            told = explain(result.error, result.message)
            raise RequestRefused(f"topic {name}: {result.error.name}: {told}", result.error.value)
        wait_for(
            lambda: all(self._knows_leaders(each, name, partitions) for each in self._reachable()),
            f"all brokers to know topic {name}",
        )

    def kill(self, broker_id: int) -> None:
        """End a broker as a crash does (kill -9). Its session is over when this returns."""
        self.broker(broker_id).kill()

    def stop(self, broker_id: int) -> None:
        """Stop a broker in order: it hands its leaderships over first."""
        self.broker(broker_id).ask_to_stop()
        self.broker(broker_id).wait_for_end()

    def pause(self, broker_id: int) -> None:
        """Make a broker fall silent (SIGSTOP); its connections stay open."""
        self.broker(broker_id).pause()

    def resume(self, broker_id: int) -> None:
        """Let a paused broker go on (SIGCONT)."""
        self.broker(broker_id).resume()

    def cut(self, one: int, other: int) -> None:
        """Break the connections between two brokers, and let no new ones come about.

        Clients and ZooKeeper still reach both. It holds for their later lives too, until `heal`.
        """
        self._cuts.cut(self.broker(one).broker_id, self.broker(other).broker_id)

    def heal(self) -> None:
        """Undo all cuts."""
        self._cuts.heal()

    def expire_session(self, broker_id: int) -> None:
        """End a broker's ZooKeeper session by force while it lives; it will open a new one.

        What it held in ZooKeeper, the controller's office perhaps, is gone when this returns;
        `wait_until_ready` waits for its return.
        """
        self.broker(broker_id).expire_session()

    # --- inside -------------------------------------------------------------------------------

    def _start_everything(self) -> None:
        self._home.furnish(self._properties)
        for broker_id, port in zip(self._ids, self._ports, strict=True):
            self._brokers[broker_id] = BrokerProcess(
                broker_id,
                self._home.folder / f"broker-{broker_id}",
                HeldPort(port),
                journal_dir=self._home.journal_dir / f"broker-{broker_id}",
                properties=self._home.properties,
                rack=self._racks[(broker_id - 1) % len(self._racks)] if self._racks else None,
            )
        self._home.open()
        self._onlooker = Onlooker(self._home.zookeeper)
        self._wait_for_leftovers(self._onlooker)
        for broker in self._brokers.values():
            broker.launch(self._home.zookeeper)
        for broker_id in self._ids:
            self.wait_until_ready(broker_id)

    def _wait_for_leftovers(self, onlooker: Onlooker) -> None:
        """Brokers of a cluster that was killed are registered until their sessions are over."""
        if self._home.is_deserted:
            return onlooker.clear_away(self._ids)

        def taken() -> list[int]:
            return [each for each in onlooker.cluster().brokers if each in self._brokers]

        try:
            wait_for(lambda: not taken(), "sessions that are left over to end", LEFTOVER_S)
        except WaitedInVain as error:
            raise BadInput(
                f"brokers {taken()} are registered in ZooKeeper at {self.zookeeper} by somebody"
                " else; end them, or use another chroot"
            ) from error
        return None

    def _knows(self, broker_id: int, other_id: int) -> bool:
        seen = self.seen_by(broker_id)
        return (
            seen is not None
            and seen.controller_id is not None
            and any(each.broker_id == other_id for each in seen.brokers)
        )

    def _knows_leaders(self, broker_id: int, topic: str, partition_count: int) -> bool:
        seen = self.seen_by(broker_id, topic)
        led = [] if seen is None else [each for each in seen.partitions() if each.has_leader]
        return len(led) == partition_count

    def _reachable(self) -> list[int]:
        """Those that run, and are told what the controller says."""
        return [
            broker_id
            for broker_id, broker in self._brokers.items()
            if broker.condition is Condition.RUNNING and self._cuts.is_whole(broker_id)
        ]

    def _looking(self) -> Onlooker:
        if self._onlooker is None:
            raise BadInput("this cluster is not started; use it in a `with`, or call `start`")
        return self._onlooker

    def _end(self, *, in_order: bool) -> None:
        """Every step is taken, whatever becomes of the one before."""
        with ExitStack() as last_steps:
            last_steps.callback(self._brokers.clear)
            last_steps.callback(self._home.close)
            if self._onlooker is not None:
                last_steps.callback(self._onlooker.close)
            for broker in self._brokers.values():
                last_steps.callback(broker.end_for_good)
            if in_order:
                self._stop_in_order()
        self._onlooker = None

    def _stop_in_order(self) -> None:
        """The controller last, so that it can move leaderships away from all others."""
        controller_id = self._looking().cluster().controller_id
        living = [each for each in self._brokers.values() if each.condition is not Condition.DOWN]
        for broker in sorted(living, key=lambda each: each.broker_id == controller_id):
            broker.ask_to_stop()
            broker.wait_for_end()
