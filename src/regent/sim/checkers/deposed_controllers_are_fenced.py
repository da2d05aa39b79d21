"""A controller that has been deposed and does not know it must not be able to do harm."""

from regent.broker.broker_config import IsrMode
from regent.model.ids import TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.state_znodes import leadership_at, partition_at
from regent.sim.observer import Observer
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind
from regent.zookeeper.znodes import decode_controller


class DeposedControllersAreFenced(Observer):
    """Forbids that a write of a controller takes hold when a later epoch has begun.

    Only what ZooKeeper shows counts. Leaderships say by themselves under which controller they
    were written. Where brokers write ISRs directly, those writes keep both epochs; any other
    write is a controller's. Topics, notifications and `/controller` are judged by who wrote.
    """

    def __init__(self) -> None:
        self._epoch = -1
        #: Whom `/controller` named when the current epoch began.
        self._controller_id: int | None = None
        #: Whom it names now.
        self._holder_id: int | None = None
        self._leaderships: dict[TopicPartition, Leadership] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """Ask of each kind of znode whether this writer could."""
        if path == paths.CONTROLLER:
            self._controller_changed(world, kind, writer)
        elif path.startswith(f"{paths.ISR_NOTIFICATIONS}/"):
            if kind is WatchKind.DELETED:
                self._only_by_the_controller(path, writer)
        elif (name := partition_at(path)) is not None:
            self._leadership_changed(world, kind, path, name)
        elif paths.parent(path) == paths.TOPICS and kind is WatchKind.DATA_CHANGED:
            self._only_by_the_controller(path, writer)

    def _controller_changed(self, world: World, kind: WatchKind, writer: int | None) -> None:
        if kind is WatchKind.DELETED:
            if writer is not None and writer != self._holder_id:
                self.fail(f"node {writer} ended the reign of node {self._holder_id}")
            self._holder_id = None
            return
        node = world.zookeeper.server.peek(paths.CONTROLLER)
        if node is None:
            return
        epoch = _current_epoch(world)
        if epoch <= self._epoch:
            self.fail(f"/controller was taken without a new epoch: {epoch} after {self._epoch}")
        self._epoch = epoch
        self._holder_id = self._controller_id = decode_controller(node.data).broker_id
        if writer is not None and writer != self._holder_id:
            self.fail(f"node {writer} made node {self._holder_id} controller")

    def _only_by_the_controller(self, path: str, writer: int | None) -> None:
        # The writer is unknown when it is an operator, who may do anything, or has died meanwhile.
        if writer is not None and writer != self._controller_id:
            self.fail(f"node {writer} wrote {path} in the reign of node {self._controller_id}")

    def _leadership_changed(
        self, world: World, kind: WatchKind, path: str, name: TopicPartition
    ) -> None:
        before = self._leaderships.pop(name, None)
        after = None if kind is WatchKind.DELETED else leadership_at(world, path)
        if after is None:
            return
        self._leaderships[name] = after
        is_direct = (
            world.plan.character.isr_mode is IsrMode.DIRECT
            and before is not None
            and before.leader_epoch == after.leader_epoch
            and before.controller_epoch == after.controller_epoch
        )
        current = _current_epoch(world)
        if not is_direct and after.controller_epoch != current:
            self.fail(f"{name} was written in epoch {current}, as {after} after {before}")


def _current_epoch(world: World) -> int:
    node = world.zookeeper.server.peek(paths.CONTROLLER_EPOCH)
    return -1 if node is None or node.data is None else int(node.data)
