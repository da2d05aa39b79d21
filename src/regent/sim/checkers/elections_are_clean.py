"""A topic that prefers to wait rather than to lose records is never made to lose them."""

from regent.model.ids import NO_LEADER, TopicPartition
from regent.sim.checkers.state_znodes import allows_unclean, leadership_at, partition_at
from regent.sim.observer import Observer
from regent.sim.world import World
from regent.zookeeper.store import WatchKind


class ElectionsAreClean(Observer):
    """Forbids that a replica outside the ISR is elected in a topic that does not allow it."""

    def __init__(self) -> None:
        self._isrs: dict[TopicPartition, tuple[int, ...]] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """The leader comes from the ISR that the znode named before."""
        name = partition_at(path)
        if name is None:
            return
        before = self._isrs.pop(name, None)
        after = None if kind is WatchKind.DELETED else leadership_at(world, path)
        if after is None:
            return
        self._isrs[name] = after.isr
        if before is None or after.leader == NO_LEADER or after.leader in before:
            return
        if not allows_unclean(world, name.topic):
            self.fail(f"{writer} had {after.leader} lead {name}, whose ISR was {before}")
