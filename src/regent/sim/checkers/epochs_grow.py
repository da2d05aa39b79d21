"""Epochs are fences, and a fence that can go back is none."""

from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.state_znodes import leadership_at, partition_at
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind


class EpochsGrow(Observer):
    """Forbids that an epoch or a version ever goes back, in ZooKeeper or on a broker."""

    def __init__(self) -> None:
        self._controller_epoch = -1
        self._leaderships: dict[TopicPartition, Leadership] = {}
        #: The last leader epoch in which one life of a broker began to lead.
        self._led: dict[TopicPartition, dict[tuple[BrokerId, int], int]] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """Compare a znode with what it said before."""
        if path == paths.CONTROLLER_EPOCH:
            self._controller_epoch_changed(world, writer)
            return
        name = partition_at(path)
        if name is None:
            return
        if kind is WatchKind.DELETED:
            # A topic of the same name that is made later starts over.
            self._leaderships.pop(name, None)
            self._led.pop(name, None)
            return
        after = leadership_at(world, path)
        if after is not None:
            self._compare(name, self._leaderships.get(name), after)
            self._leaderships[name] = after

    def _controller_epoch_changed(self, world: World, writer: int | None) -> None:
        node = world.zookeeper.server.peek(paths.CONTROLLER_EPOCH)
        epoch = -1 if node is None or node.data is None else int(node.data)
        if epoch <= self._controller_epoch:
            self.fail(
                f"{writer} set {paths.CONTROLLER_EPOCH} from {self._controller_epoch} to {epoch}"
            )
        self._controller_epoch = epoch

    def _compare(self, name: TopicPartition, before: Leadership | None, after: Leadership) -> None:
        if before is None:
            if after.zk_version != 0:
                self.fail(f"{name} is first seen at version {after.zk_version}")
            return
        if after.leader_epoch < before.leader_epoch:
            self.fail(f"the leader epoch of {name} went back: {before}, then {after}")
        if after.controller_epoch < before.controller_epoch:
            self.fail(f"the controller epoch of {name} went back: {before}, then {after}")
        if after.zk_version != before.zk_version + 1:
            self.fail(f"the version of {name} did not grow by one: {before}, then {after}")

    def leader_began(self, process: Process, name: TopicPartition, leader_epoch: int) -> None:
        """One life of a broker never begins anew in an epoch that it has left behind."""
        if process.world.zookeeper.server.peek(paths.topic_deletion(name.topic)) is not None:
            # A new controller does not know which replicas of a topic that goes are gone already,
            # and has them made again, only to be deleted.
            return
        led = self._led.setdefault(name, {})
        key = (process.broker_id, process.life)
        if leader_epoch <= led.get(key, -1):
            self.fail(f"broker {key[0]} began to lead {name} in {leader_epoch} after {led[key]}")
        led[key] = leader_epoch
