"""ZooKeeper alone says, at every instant, where replicas come from and where they go."""

from regent.errors import CorruptZnode
from regent.model.assignment import Assignment
from regent.model.ids import TopicPartition
from regent.sim.observer import Observer
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind
from regent.zookeeper.znodes import decode_topic


class AssignmentsMoveStepByStep(Observer):
    """Forbids that a reassignment forgets its origin, or ends anywhere but at its target."""

    def __init__(self) -> None:
        self._before: dict[TopicPartition, Assignment] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, _writer: int | None) -> None:
        """Each partition of a topic either starts, is replaced, ends, or stays as it was."""
        above, _, topic = path.rpartition("/")
        if above != paths.TOPICS:
            return
        if kind is WatchKind.DELETED:
            self._before = {n: a for n, a in self._before.items() if n.topic != topic}
            return
        found = world.zookeeper.server.peek(path)
        try:
            read = decode_topic(path, None if found is None else found.data)
        except CorruptZnode:
            return
        for index, after in read.partitions.items():
            name = TopicPartition(topic, index)
            before = self._before.get(name)
            self._before[name] = after
            if before is not None and before != after:
                self.judge(name, before, after)

    def judge(self, name: TopicPartition, before: Assignment, after: Assignment) -> None:
        """Whether a successor could go on from one step as from the other."""
        if not set(after.adding + after.removing) <= set(after.replicas):
            self.fail(f"{name} moves replicas that it does not have: {after}")
        if after.is_reassigning:
            if set(after.origin) != set(before.origin):
                self.fail(f"{name} came from {before.origin} and now from {after.origin}")
        elif before.is_reassigning and set(after.replicas) not in (
            set(before.target),
            set(before.origin),
        ):
            self.fail(f"{name} was to go to {before.target} and ended at {after.replicas}")
        elif not before.is_reassigning and set(after.replicas) != set(before.replicas):
            self.fail(f"{name} moved from {before.replicas} to {after.replicas} in one step")
