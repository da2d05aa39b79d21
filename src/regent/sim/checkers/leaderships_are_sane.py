"""What a state znode may say at all."""

from regent.errors import CorruptZnode
from regent.model.assignment import Assignment
from regent.model.ids import NO_LEADER, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.state_znodes import leadership_at, partition_at
from regent.sim.observer import Observer
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.store import WatchKind
from regent.zookeeper.znodes import decode_topic


class LeadershipsAreSane(Observer):
    """Forbids a leader outside the ISR, and an ISR that is empty, repeats or has a stranger."""

    def __init__(self) -> None:
        #: By topic: the assignments, and the mzxid at which they were read.
        self._assignments: dict[str, tuple[int, dict[int, Assignment]]] = {}
        self._leader_epochs: dict[TopicPartition, int] = {}

    def znode_changed(self, world: World, kind: WatchKind, path: str, writer: int | None) -> None:
        """Look at each leadership as it is written."""
        name = partition_at(path)
        if name is None:
            return
        if kind is WatchKind.DELETED:
            self._leader_epochs.pop(name, None)
            return
        leadership = leadership_at(world, path)
        if leadership is None:
            # The decoder refuses an empty ISR and one that repeats.
            self.fail(f"{writer} wrote a leadership of {name} that cannot be read")
            return
        self._judge(str(name), leadership)
        before = self._leader_epochs.get(name, -1)
        self._leader_epochs[name] = leadership.leader_epoch
        if leadership.leader_epoch == before:
            # A leader that writes the ISR itself may not have heard yet of a replica that went.
            # It will be told, and at rest no ISR has a stranger (KAFKA-9672).
            return
        assignment = self._assigned(world, name.topic).get(name.partition)
        if assignment is not None and not set(assignment.replicas).issuperset(leadership.isr):
            self.fail(f"{name} has replicas {assignment.replicas} and ISR {leadership.isr}")

    def _judge(self, name: str, leadership: Leadership) -> None:
        isr = leadership.isr
        if not isr or len(set(isr)) < len(isr):
            self.fail(f"{name} has ISR {isr}")
        if leadership.leader != NO_LEADER and leadership.leader not in isr:
            self.fail(f"{name} is led by {leadership.leader}, which is not in its ISR {isr}")

    def _assigned(self, world: World, topic: str) -> dict[int, Assignment]:
        path = paths.topic(topic)
        node = world.zookeeper.server.peek(path)
        if node is None:
            return {}
        known = self._assignments.get(topic)
        if known is None or known[0] != node.stat.mzxid:
            try:
                read = decode_topic(path, node.data).partitions
            except CorruptZnode:
                read = {}
            known = self._assignments[topic] = (node.stat.mzxid, read)
        return known[1]
