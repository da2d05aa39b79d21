"""What can be done to a simulated cluster: one function for each kind of step in a plan."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from regent.core.events import (
    ElectLeadersRequested,
    PartitionCreationRequested,
    ReassignmentsRequested,
    TopicDeletionRequested,
)
from regent.model.admin_requests import (
    AlterReassignments,
    CreatePartitions,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    MorePartitions,
    ReassignmentTarget,
)
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId
from regent.sim.network import ZOOKEEPER
from regent.sim.operator import ask_controller
from regent.sim.plan import Step
from regent.sim.process import Process
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.broker_znode import encode_broker
from regent.zookeeper.store import Create, Delete, Request, SetData
from regent.zookeeper.znodes import decode_topic, encode_config, encode_topic

TOPIC_WITHOUT_SENSE: Final = b'{"version":3,"partitions":{"0":["one",2]}'


def carry_out(world: World, step: Step) -> None:
    """Do what a step says, and count it if it was possible."""
    if STEPS[step.kind](world, step):
        world.step_carried_out(step)


# --- nodes ------------------------------------------------------------------------------------


def crash(world: World, step: Step) -> bool:
    """A node dies and comes back later; its session is left to expire."""
    broker_id = BrokerId(step.brokers[0])
    if broker_id not in world.processes:
        return False
    world.kill(broker_id)
    world.schedule.after_ms(step.ms, lambda: world.start(broker_id))
    return True


def crash_controller(world: World, step: Step) -> bool:
    """The node in office dies, whichever it is, and comes back later."""
    active = world.active_controllers()
    return bool(active) and crash(world, replace(step, brokers=(int(active[-1].broker_id),)))


def bounce(world: World, step: Step) -> bool:
    """A node dies, its launcher ends its session, and it is back before anybody has looked."""
    broker_id = BrokerId(step.brokers[0])
    process = world.processes.get(broker_id)
    if process is None or process.link.session_id is None:
        return False
    world.kill(broker_id)
    world.zookeeper.close_session(process.link.session_id)
    world.schedule.after_ms(step.ms, lambda: world.start(broker_id))
    return True


def lose_disk(world: World, step: Step) -> bool:
    """A node dies and comes back with an empty disk."""
    broker_id = BrokerId(step.brokers[0])
    if not crash(world, step):
        return False
    world.disks[broker_id].wipe()
    world.disk_lost(broker_id)
    return True


def fail_disk(world: World, step: Step) -> bool:
    """A node's log directory fails while the node lives on and says so; later it is repaired."""
    broker_id = BrokerId(step.brokers[0])
    process = world.processes.get(broker_id)
    if process is None or process.is_paused or world.disks[broker_id].failed:
        return False
    world.disks[broker_id].failed = True
    process.announce_failed_disk()
    world.schedule.after_ms(step.ms, lambda: world.repair_disk(broker_id))
    return True


def pause(world: World, step: Step) -> bool:
    """A node stands still, perhaps for longer than its session lives, and then simply goes on."""
    process = world.processes.get(BrokerId(step.brokers[0]))
    if process is None or process.is_paused:
        return False
    process.is_paused = True

    def resume() -> None:
        if process.is_alive and process.is_paused:
            if _is_deposed(world, process):
                world.counts["zombie_controller_resumed"] += 1
            process.resume()

    world.schedule.after_ms(step.ms, resume)
    return True


def _is_deposed(world: World, process: Process) -> bool:
    """Whether a node believes to be controller in an epoch that is over."""
    state = process.controller.state
    epoch = world.zookeeper.server.peek(paths.CONTROLLER_EPOCH)
    return state.is_active and epoch is not None and epoch.data != b"%d" % state.controller_epoch


def crash_after_write(world: World, step: Step) -> bool:
    """The controller dies right after its n-th next write to ZooKeeper."""
    active = world.active_controllers()
    if not active:
        return False
    active[-1].writes_to_live = step.ms
    return True


def stall_replication(world: World, step: Step) -> bool:
    """A node's fetchers stand still: it lags, leaves the ISR, and comes back."""
    process = world.processes.get(BrokerId(step.brokers[0]))
    if process is None:
        return False
    process.shell.replicates_again_ms = world.schedule.now_ms + step.ms
    return True


def skew_clock(world: World, step: Step) -> bool:
    """A node's clock jumps."""
    world.skew_ms[BrokerId(step.brokers[0])] = step.ms
    return True


# --- ZooKeeper --------------------------------------------------------------------------------


def expire_session(world: World, step: Step) -> bool:
    """ZooKeeper gives up a node that is perfectly well."""
    process = world.processes.get(BrokerId(step.brokers[0]))
    if process is None or process.link.session_id is None:
        return False
    world.zookeeper.close_session(process.link.session_id)
    return True


def depose(world: World, _step: Step) -> bool:
    """An operator deletes `/controller`, to have another election."""
    return _operate(world, Delete(paths.CONTROLLER))


def _operate(world: World, *requests: Request) -> bool:
    """An operator with a session of their own; False if there was nothing to do."""
    session_id = world.zookeeper.server.open_session()
    replies = world.zookeeper.handle(session_id, requests)
    world.zookeeper.server.close_session(session_id)
    return not any(hasattr(reply, "error") for reply in replies)


# --- the network ------------------------------------------------------------------------------


def cut_two_way(world: World, step: Step) -> bool:
    """Two nodes do not hear each other for a while."""
    one, other = step.brokers
    return _cut(world, step.ms, (one, other), (other, one))


def cut_one_way(world: World, step: Step) -> bool:
    """One node does not get through to another, which gets through to it."""
    one, other = step.brokers
    return _cut(world, step.ms, (one, other))


def cut_from_zookeeper(world: World, step: Step) -> bool:
    """A node sees its peers and not ZooKeeper."""
    one = step.brokers[0]
    return _cut(world, step.ms, (one, ZOOKEEPER), (ZOOKEEPER, one))


def _cut(world: World, duration_ms: int, *ways: tuple[int, int]) -> bool:
    for source, target in ways:
        world.network.cut(source, target)

    def mend() -> None:
        for source, target in ways:
            world.network.mend(source, target)

    world.schedule.after_ms(duration_ms, mend)
    return True


def slow_link(world: World, step: Step) -> bool:
    """A link becomes slow and stays so."""
    one, other = step.brokers
    world.network.slow_down(one, other, step.ms)
    return True


# --- what users do ----------------------------------------------------------------------------


def create_topic(world: World, step: Step) -> bool:
    """A topic is created as Kafka's tools do it: its config, then its assignment."""
    topic = next(t for t in world.plan.character.topics if t.name == step.topic)
    config = {"unclean.leader.election.enable": "true"} if topic.allows_unclean else {}
    topic_id = world.mint_topic_ids(1)[0] if topic.with_id else None
    assignments = {
        index: Assignment(tuple(map(BrokerId, replicas)))
        for index, replicas in enumerate(topic.assignment)
    }
    return _operate(
        world,
        Create(paths.topic_config(topic.name), encode_config(config)),
        Create(paths.topic(topic.name), encode_topic(topic_id, assignments)),
    )


def add_partitions(world: World, step: Step) -> bool:
    """A topic gets more partitions.

    Asked of the controller, which refuses while the topic is being reassigned: whoever writes the
    znode past it may undo, or be undone by, what the controller writes there.
    """
    path = paths.topic(step.topic)
    found = world.zookeeper.server.peek(path)
    if found is None:
        return False
    total = len(decode_topic(path, found.data).partitions) + step.ms
    request = CreatePartitions((MorePartitions(step.topic, total),))
    ask_controller(world, lambda now_ms, call: PartitionCreationRequested(now_ms, call, request))
    return True


def corrupt_topic(world: World, step: Step) -> bool:
    """Somebody writes nonsense where a topic should be."""
    return _operate(world, Create(paths.topic(step.topic), TOPIC_WITHOUT_SENSE))


def move_endpoint(world: World, step: Step) -> bool:
    """A broker listens elsewhere and says so."""
    broker_id = BrokerId(step.brokers[0])
    world.move_endpoint(broker_id)
    registration = encode_broker(world.registration_of(broker_id), world.schedule.now_ms)
    return _operate(world, SetData(paths.broker(broker_id), registration))


# --- what administrators do -----------------------------------------------------------------------


def delete_topic(world: World, step: Step) -> bool:
    """A topic is to go: asked of the controller, or marked in ZooKeeper as old tools do."""
    if world.zookeeper.server.peek(paths.topic(step.topic)) is None:
        return False
    if step.ms:
        return _operate(world, Create(paths.topic_deletion(step.topic)))
    request = DeleteTopics((step.topic,))
    ask_controller(world, lambda now_ms, call: TopicDeletionRequested(now_ms, call, request))
    return True


def reassign(world: World, step: Step) -> bool:
    """A partition is to move to other brokers; without brokers, its move is cancelled."""
    replicas = tuple(map(BrokerId, step.brokers)) or None
    request = AlterReassignments((ReassignmentTarget(step.topic, step.ms, replicas),))
    ask_controller(world, lambda now_ms, call: ReassignmentsRequested(now_ms, call, request))
    return True


def elect_preferred(world: World, _step: Step) -> bool:
    """Leaders are to go back to their preferred replicas."""
    request = ElectLeaders(ElectionType.PREFERRED)
    ask_controller(world, lambda now_ms, call: ElectLeadersRequested(now_ms, call, request))
    return True


def shut_down(world: World, step: Step) -> bool:
    """A broker is stopped as it should be: its leaderships move first; later it is back."""
    broker_id = BrokerId(step.brokers[0])
    process = world.processes.get(broker_id)
    if process is None or process.is_paused:
        return False
    process.shut_down(lambda: world.schedule.after_ms(step.ms, lambda: world.start(broker_id)))
    return True


def allow_unclean(world: World, step: Step) -> bool:
    """Somebody prefers a topic that may lose records to one that stands still."""
    if world.zookeeper.server.peek(paths.topic_config(step.topic)) is None:
        return False
    config = {"unclean.leader.election.enable": "true"}
    return _operate(
        world,
        SetData(paths.topic_config(step.topic), encode_config(config)),
        Create(
            f"{paths.CONFIG_CHANGES}/config_change_",
            b'{"version":2,"entity_path":"topics/%b"}' % step.topic.encode(),
            sequential=True,
        ),
    )


#: Every kind of step by its name in a plan.
STEPS: Final[Mapping[str, Callable[[World, Step], bool]]] = {
    function.__name__: function
    for function in (
        crash,
        crash_controller,
        bounce,
        lose_disk,
        fail_disk,
        pause,
        crash_after_write,
        stall_replication,
        skew_clock,
        expire_session,
        depose,
        cut_two_way,
        cut_one_way,
        cut_from_zookeeper,
        slow_link,
        create_topic,
        add_partitions,
        corrupt_topic,
        move_endpoint,
        delete_topic,
        reassign,
        elect_preferred,
        shut_down,
        allow_unclean,
    )
}
