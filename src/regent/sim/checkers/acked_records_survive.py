"""What a client was told is safe stays safe.

There are just two ways in which Kafka itself gives up acknowledged records, and both are told
apart here from a mistake. An unclean election does, where the topic allows it. And a replica whose
disk was lost may lead before it has caught up, because the ISR still names it. Such a leader's
log then is the truth: what it lacks of earlier leader epochs is forgiven, and counted.

If it even leads again in an epoch in which it led before the loss, because a new controller found
it alive and elected nobody, then that epoch names two histories. Followers cannot tell them apart,
in Kafka neither, so nothing of that epoch is held against anybody.
"""

from typing import NamedTuple

from regent.broker.log import LogEntry
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.state_znodes import allows_unclean, leadership_at, partition_at
from regent.sim.observer import Acked, Observer
from regent.sim.process import Process
from regent.sim.settled import assigned
from regent.sim.world import World
from regent.zookeeper.store import WatchKind


class _Promise(NamedTuple):
    """What an offset must hold, and the leader epoch in which it was appended."""

    value: int
    leader_epoch: int


class _Kept:
    """What is known of one partition."""

    def __init__(self) -> None:
        self.leadership: Leadership | None = None
        self.promises: dict[int, _Promise] = {}
        #: Records of this leader epoch and earlier ones may be gone for a reason.
        self.forgiven_epoch = -1
        #: Nothing can be said of records of this leader epoch and earlier ones.
        self.ambiguous_epoch = -1
        #: The leader epochs in which somebody began to lead.
        self.begun: dict[int, None] = {}
        #: Replicas whose disk was lost, and whether they have been out of the ISR since.
        self.tainted: dict[BrokerId, bool] = {}

    def missing(self, log: tuple[LogEntry, ...], leader_epoch: int) -> list[int]:
        """The offsets promised up to a leader epoch that a log does not keep."""
        end = len(log)
        return [
            offset
            for offset, promise in self.promises.items()
            if promise.leader_epoch <= leader_epoch
            and (offset >= end or log[offset].value != promise.value)
        ]


class AckedRecordsSurvive(Observer):
    """Forbids that an acknowledged record is lost, moves, or is there twice."""

    def __init__(self) -> None:
        self._kept: dict[TopicPartition, _Kept] = {}

    # --- promises -----------------------------------------------------------------------------

    def record_acked(self, world: World, acked: Acked) -> None:
        """Keep the promise together with its leader epoch, which the logs know."""
        kept = self._kept.setdefault(acked.name, _Kept())
        leader = NO_LEADER if kept.leadership is None else kept.leadership.leader
        entries = {b: _entry(world, b, acked) for b in world.broker_ids}
        found = entries.get(leader) or next(filter(None, entries.values()), None)
        if found is None:
            if kept.forgiven_epoch < 0 and not kept.tainted:
                self.fail(f"{acked} was acknowledged, and no log has it")
            world.counts["acked_forgiven"] += 1
            return
        is_late = found.leader_epoch <= kept.forgiven_epoch and entries.get(leader) is None
        if is_late or found.leader_epoch <= kept.ambiguous_epoch:
            # Late: of a leader that had not heard yet of its end, or long on its way.
            world.counts["acked_forgiven"] += 1
            return
        known = kept.promises.get(acked.offset)
        if known is not None and known.value != acked.value:
            self.fail(f"{acked} was acknowledged where {known.value} was")
        kept.promises[acked.offset] = _Promise(acked.value, found.leader_epoch)

    # --- leaders ------------------------------------------------------------------------------

    def leader_began(self, process: Process, name: TopicPartition, leader_epoch: int) -> None:
        """A leader has everything that was promised up to its epoch."""
        kept = self._kept.setdefault(name, _Kept())
        broker_id, world = process.broker_id, process.world
        if broker_id in kept.tainted:
            if leader_epoch in kept.begun:
                kept.ambiguous_epoch = leader_epoch
            self._forgive(world, name, broker_id, leader_epoch)
            del kept.tainted[broker_id]
        kept.begun[leader_epoch] = None
        lost = kept.missing(_log(world, broker_id, name), leader_epoch)
        if lost:
            self.fail(
                f"{broker_id} leads {name} in leader epoch {leader_epoch} without "
                + _listed(kept, lost)
            )

    def _forgive(
        self, world: World, name: TopicPartition, leader: BrokerId, leader_epoch: int
    ) -> None:
        kept = self._kept[name]
        kept.forgiven_epoch = max(kept.forgiven_epoch, leader_epoch)
        lost = dict.fromkeys(kept.missing(_log(world, leader, name), leader_epoch))
        for offset, promise in list(kept.promises.items()):
            if offset in lost or promise.leader_epoch <= kept.ambiguous_epoch:
                del kept.promises[offset]
                world.counts["acked_forgiven"] += 1

    # --- the two exemptions -------------------------------------------------------------------

    def disk_lost(self, broker_id: BrokerId) -> None:
        """From now on this broker's replicas are in the ISR by mistake, if they are in it."""
        for kept in self._kept.values():
            isr = () if kept.leadership is None else kept.leadership.isr
            kept.tainted[broker_id] = broker_id not in isr

    def znode_changed(self, world: World, kind: WatchKind, path: str, _writer: int | None) -> None:
        """See unclean elections, and replicas that a leader takes back into the ISR."""
        name = partition_at(path)
        if name is None:
            return
        if kind is WatchKind.DELETED:
            self._kept.pop(name, None)
            return
        kept = self._kept.setdefault(name, _Kept())
        before, after = kept.leadership, leadership_at(world, path)
        kept.leadership = after
        if before is None or after is None:
            return
        is_unclean = after.leader != NO_LEADER and after.leader not in before.isr
        if is_unclean and allows_unclean(world, name.topic):
            self._forgive(world, name, after.leader, after.leader_epoch - 1)
        if kept.tainted:
            self._look_at_tainted(world, name, before, after)

    def _look_at_tainted(
        self, world: World, name: TopicPartition, before: Leadership, after: Leadership
    ) -> None:
        """A leader's expansion ends the exemption, if it was not decided before the loss."""
        kept = self._kept[name]
        for broker_id, was_out in list(kept.tainted.items()):
            if broker_id not in after.isr:
                kept.tainted[broker_id] = True
            elif (
                was_out
                and broker_id not in before.isr
                and before.leader_epoch == after.leader_epoch
                and not kept.missing(_log(world, broker_id, name), after.leader_epoch)
            ):
                del kept.tainted[broker_id]

    # --- the end ------------------------------------------------------------------------------

    def at_rest(self, world: World) -> None:
        """Every replica has every promised record, and none twice."""
        for name, replicas in assigned(world).items():
            for broker_id in replicas:
                log = _log(world, broker_id, name)
                kept = self._kept.get(name)
                lost = [] if kept is None else kept.missing(log, 2**31)
                if kept is not None and lost:
                    self.fail(f"in the end {name} on {broker_id} lacks {_listed(kept, lost)}")
                values = [entry.value for entry in log]
                if len(set(values)) < len(values):
                    self.fail(f"in the end {name} on {broker_id} has a record twice: {values}")


def _log(world: World, broker_id: BrokerId, name: TopicPartition) -> tuple[LogEntry, ...]:
    disk = world.disks[broker_id]
    if not disk.has(name):
        return ()
    log = disk.open(name)
    return log.read(0, log.end_offset)


def _entry(world: World, broker_id: BrokerId, acked: Acked) -> LogEntry | None:
    """The acknowledged record, if it is on this broker's disk."""
    disk = world.disks[broker_id]
    if not disk.has(acked.name):
        return None
    entries = disk.open(acked.name).read(acked.offset, 1)
    return entries[0] if entries and entries[0].value == acked.value else None


def _listed(kept: _Kept, offsets: list[int]) -> str:
    first = ", ".join(f"offset {o}: {kept.promises[o].value}" for o in offsets[:3])
    return f"{len(offsets)} acknowledged records ({first})"
