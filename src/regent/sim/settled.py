"""When a healed cluster has come to rest: everything that must be true in the end.

Each condition says what is still missing, so that a run that never settles tells why.
"""

from collections.abc import Iterator

from regent.broker.hosted_partition import ReplicaRole
from regent.core.asks import TopicRead
from regent.errors import CorruptZnode
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.reads import to_leadership
from regent.zookeeper.znodes import decode_topic


def unsettled(world: World) -> Iterator[str]:
    """What is not yet as it must be; nothing when the cluster is at rest."""
    down = [b for b in world.broker_ids if b not in world.processes]
    if down:
        yield f"brokers {down} are not up"
        return
    yield from _controller(world)
    yield from _long_work(world)
    for name, replicas in assigned(world).items():
        yield from _partition(world, name, replicas)


def assigned(world: World) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    """Every partition that ZooKeeper knows, with its replicas; unreadable topics aside."""
    server = world.zookeeper.server
    found: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for path in server.dump():
        above, _, topic = path.rpartition("/")
        if above == paths.TOPICS:
            read = _readable(world, path)
            if read is not None:
                for index, assignment in read.partitions.items():
                    found[TopicPartition(topic, index)] = assignment.replicas
    return found


def _readable(world: World, path: str) -> TopicRead | None:
    node = world.zookeeper.server.peek(path)
    assert node is not None, "it was just listed"
    try:
        return decode_topic(path, node.data)
    except CorruptZnode:
        return None


def leadership_of(world: World, name: TopicPartition) -> Leadership | None:
    """What a partition's state znode says now."""
    path = paths.partition_state(name.topic, name.partition)
    node = world.zookeeper.server.peek(path)
    if node is None:
        return None
    read = to_leadership(path, node)
    return read if isinstance(read, Leadership) else None


def _long_work(world: World) -> Iterator[str]:
    """With every broker alive nothing can wait: every move and every deletion has ended."""
    for path in world.zookeeper.server.dump():
        above, _, name = path.rpartition("/")
        if above == paths.TOPIC_DELETIONS:
            yield f"topic {name} is still being deleted"
        elif above == paths.TOPICS:
            read = _readable(world, path)
            for index, assignment in ({} if read is None else read.partitions).items():
                if assignment.is_reassigning:
                    yield f"{name}-{index} is still being reassigned: {assignment}"


def _controller(world: World) -> Iterator[str]:
    active = world.active_controllers()
    if len(active) != 1:
        yield f"{len(active)} nodes believe to be the controller"
        return
    holder = world.zookeeper.server.peek(paths.CONTROLLER)
    if holder is None or holder.stat.ephemeral_owner != active[0].link.session_id:
        yield "/controller is not held by the active controller"
    if not active[0].is_idle:
        yield "the controller is still busy"
    for broker_id in world.broker_ids:
        known = active[0].controller.state.broker_epoch(broker_id)
        if known is None or known != world.processes[broker_id].broker.broker_epoch:
            yield f"the controller does not know broker {broker_id}, or not in its present life"


def _partition(world: World, name: TopicPartition, replicas: tuple[BrokerId, ...]) -> Iterator[str]:
    known = leadership_of(world, name)
    if known is None:
        yield f"{name} has no readable state"
        return
    if known.leader < 0:
        yield f"{name} has no leader"
        return
    if sorted(known.isr) != sorted(replicas):
        yield f"{name} has ISR {known.isr} of {replicas}"
    for broker_id in replicas:
        hosted = world.processes[broker_id].broker.hosted.get(name)
        role = ReplicaRole.LEADER if broker_id == known.leader else ReplicaRole.FOLLOWER
        if hosted is None or hosted.role is not role:
            yield f"broker {broker_id} is not the {role.name.lower()} of {name}"
        elif hosted.leader_epoch != known.leader_epoch:
            yield f"broker {broker_id} holds {name} in epoch {hosted.leader_epoch}"
    yield from _metadata(world, name, known)
    yield from _logs(world, name, known, replicas)


def _metadata(world: World, name: TopicPartition, known: Leadership) -> Iterator[str]:
    for broker_id in world.broker_ids:
        cache = world.processes[broker_id].broker.metadata
        if sorted(cache.live_brokers) != list(world.broker_ids):
            yield f"broker {broker_id} believes {sorted(cache.live_brokers)} to be alive"
        metadata = cache.partitions.get(name)
        told = None if metadata is None else (metadata.leader, metadata.leader_epoch, metadata.isr)
        if told != (known.leader, known.leader_epoch, known.isr):
            yield f"broker {broker_id} was told {told} of {name}, not {known}"


def _logs(
    world: World, name: TopicPartition, known: Leadership, replicas: tuple[BrokerId, ...]
) -> Iterator[str]:
    leader_log = world.disks[known.leader].open(name)
    for broker_id in replicas:
        log = world.disks[broker_id].open(name)
        if log.end_offset != leader_log.end_offset:
            yield f"{name} ends at {log.end_offset} on {broker_id}, not {leader_log.end_offset}"
