"""A leader epoch belongs to one leader."""

from regent.model.ids import BrokerId, TopicPartition
from regent.sim.checkers.state_znodes import partition_at
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.settled import leadership_of
from regent.sim.world import World
from regent.zookeeper.store import WatchKind


class OneLeaderPerEpoch(Observer):
    """Forbids that two brokers lead a partition in one leader epoch, or one that nobody elected."""

    def __init__(self) -> None:
        self._leaders: dict[TopicPartition, dict[int, BrokerId]] = {}

    def leader_began(self, process: Process, name: TopicPartition, leader_epoch: int) -> None:
        """The same broker may begin again after a restart; ZooKeeper may be ahead."""
        broker_id = process.broker_id
        leader = self._leaders.setdefault(name, {}).setdefault(leader_epoch, broker_id)
        if leader != broker_id:
            self.fail(f"{leader} and {broker_id} both lead {name} in leader epoch {leader_epoch}")
        written = leadership_of(process.world, name)
        if written is None:
            return
        if written.leader_epoch < leader_epoch:
            self.fail(f"{broker_id} leads {name} in {leader_epoch}, ZooKeeper says {written}")
        if written.leader_epoch == leader_epoch and written.leader != broker_id:
            self.fail(f"{broker_id} leads {name} in {leader_epoch}, ZooKeeper says {written}")

    def znode_changed(self, _world: World, kind: WatchKind, path: str, _writer: int | None) -> None:
        """A topic of the same name that is made later starts over."""
        if kind is WatchKind.DELETED and (name := partition_at(path)) is not None:
            self._leaders.pop(name, None)
