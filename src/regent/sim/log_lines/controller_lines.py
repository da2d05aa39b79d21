"""What a Kafka controller would have logged for each thing that Regent's controller did.

`WORDS` is the table: from a kind of fact, or of request, to its lines. Regent keeps a journal of
more than Kafka logs; the kinds in `UNSAID` have no line.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from regent.core.effects import Send
from regent.core.election import Strategy
from regent.core.state import ControllerState
from regent.core.topic_deletion import HAS_OFFLINE_REPLICA, IS_REASSIGNING
from regent.model import facts
from regent.model.brokers import Broker
from regent.model.control_requests import LeaderAndIsr, StopReplica, UpdateMetadata
from regent.model.ids import BrokerId, ControllerEpoch
from regent.model.states import PartitionState
from regent.sim.log_lines import values
from regent.sim.log_lines.line import KafkaLogLine, by_controller, in_controller_log

#: Kafka's words for what keeps a deletion back; any other obstacle is a replica not deleted.
OBSTACLES: Final = {
    IS_REASSIGNING: "topic reassignment in progress",
    HAS_OFFLINE_REPLICA: "offline replicas",
}

#: Who asked for an election of preferred leaders, by the event that held it.
TRIGGERS: Final = {"TimerRang": "AutoTriggered", "ElectLeadersRequested": "AdminClientTriggered"}


class Scene(Struct, frozen=True):
    """Where and when a controller says something."""

    node: BrokerId
    epoch: ControllerEpoch
    at_ms: int
    #: The kind of event that is being handled.
    event: str
    state: ControllerState
    is_taking_office: bool
    #: Whether it is the first of its kind while this event is handled.
    is_first: bool
    #: The brokers as this controller knew them so far.
    known: Mapping[BrokerId, Broker]

    def change(self, level: str, sentence: str, *trace: str) -> KafkaLogLine:
        """A line of `state-change.log`."""
        return by_controller(level, self.node, sentence, epoch=self.epoch, trace=trace)

    def note(self, sentence: str, *, source: str = "KafkaController") -> KafkaLogLine:
        """A line of `controller.log`."""
        return in_controller_log("INFO", self.node, sentence, source=source)


Lines = Iterator[KafkaLogLine]
Tell = Callable[[Scene, Any], Lines]


# --- the controller itself ----------------------------------------------------------------------


def _elected(scene: Scene, _fact: Any) -> Lines:
    yield scene.note(
        f"{scene.node} successfully elected as the controller. Epoch incremented to {scene.epoch}"
        f" and epoch zk version is now {scene.state.epoch_zk_version}"
    )


def ready(scene: Scene) -> KafkaLogLine:
    """A new controller has loaded everything and started both machines."""
    return scene.note(f"Ready to serve as the new controller with epoch {scene.epoch}")


def _resigned(scene: Scene, fact: facts.ControllerResigned) -> Lines:
    if fact.reason.startswith("deposed"):
        yield in_controller_log(
            "INFO",
            scene.node,
            f"Controller moved to another broker when processing {scene.event}.",
            trace=(f"org.apache.kafka.common.errors.ControllerMovedException: {fact.reason}",),
        )
    yield scene.note("Resigned")


def _failed(scene: Scene, fact: facts.EventFailed) -> Lines:
    yield in_controller_log(
        "ERROR",
        scene.node,
        f"Error processing event {scene.event}",
        trace=(f"java.lang.IllegalStateException: {fact.reason}",),
    )


# --- brokers ------------------------------------------------------------------------------------


def _brokers_up(scene: Scene, came: Sequence[facts.BrokerUp]) -> Lines:
    if came[0].loaded:
        yield scene.note(f"Initialized broker epochs cache: {_broker_epochs(scene)}")
        return
    arrived = [fact.broker_id for fact in came]
    if not any(broker_id in scene.known for broker_id in arrived):
        # Otherwise they have bounced, and were announced when their earlier lives ended.
        yield _broker_set(scene, added=arrived)
    yield scene.note(f"New broker startup callback for {values.joined(arrived)}")
    yield scene.note(f"Updated broker epochs cache: {_broker_epochs(scene)}")


def _brokers_down(scene: Scene, gone: Sequence[facts.BrokerDown]) -> Lines:
    lost = [fact.broker_id for fact in gone]
    if gone[0].bounced:
        yield _broker_set(scene, bounced=lost)
        yield scene.note(f"Broker failure callback for {values.joined(lost)}")
    else:
        yield _broker_set(scene, deleted=lost)
        yield scene.note(f"Broker failure callback for {values.joined(lost)}")
        yield scene.note(f"Updated broker epochs cache: {_broker_epochs(scene)}")


def _broker_set(
    scene: Scene,
    *,
    added: Sequence[BrokerId] = (),
    deleted: Sequence[BrokerId] = (),
    bounced: Sequence[BrokerId] = (),
) -> KafkaLogLine:
    live = sorted({*scene.state.brokers, *bounced})
    return scene.note(
        f"Newly added brokers: {values.joined(added)}, deleted brokers: {values.joined(deleted)},"
        f" bounced brokers: {values.joined(bounced)}, all live brokers: {values.joined(live)}"
    )


def _broker_epochs(scene: Scene) -> str:
    epochs = {b: entry.broker_epoch for b, entry in sorted(scene.state.brokers.items())}
    return values.scala_map(epochs)


def _broker_updated(scene: Scene, fact: facts.BrokerUpdated) -> Lines:
    before = values.registration(scene.known[fact.broker_id])
    after = values.registration(scene.state.brokers[fact.broker_id].broker)
    yield scene.note(f"Updated broker metadata: {before} -> {after}")


def _shutdown(scene: Scene, fact: facts.ShutdownAdvanced) -> Lines:
    if scene.is_first:
        yield scene.note(f"Shutting down broker {fact.broker_id}")


def _log_dirs(scene: Scene, failed: Sequence[facts.LogDirFailed]) -> Lines:
    if failed[0].loaded:
        return
    if scene.is_first:
        broker_ids = dict.fromkeys(fact.broker_id for fact in failed)
        yield scene.note(f"Handling log directory failure for brokers {values.joined(broker_ids)}")
    replicas = values.joined(map(_name, failed))
    sentence = f"Mark replicas {replicas} on broker {failed[0].broker_id} as offline"
    yield by_controller("INFO", scene.node, sentence)


def _balance(scene: Scene, _fact: Any) -> Lines:
    if scene.is_first:
        yield scene.note("Processing automatic preferred replica leader election")


# --- topics -------------------------------------------------------------------------------------


def _topics_loaded(scene: Scene, loaded: Sequence[facts.TopicLoaded]) -> Lines:
    """What a new controller finds is not worth a line; what comes later is."""
    if scene.is_taking_office:
        return
    new = [fact for fact in loaded if _is_whole(scene, fact)]
    if new:
        assigned = values.scala_set(
            values.topic_with_id(
                fact.topic,
                fact.topic_id,
                {each.partition: each for each in fact.partitions},
            )
            for fact in new
        )
        yield scene.note(
            f"New topics: [{values.scala_set(fact.topic for fact in new)}], deleted topics:"
            f" [{values.scala_set(())}], new partition replica assignment [{assigned}]"
        )
    names = [f"{fact.topic}-{each.partition}" for fact in loaded for each in fact.partitions]
    yield scene.note(f"New partition creation callback for {values.joined(names)}")


def _is_whole(scene: Scene, fact: facts.TopicLoaded) -> bool:
    """Whether it is a new topic, and not more partitions of one."""
    return len(scene.state.assignments_of(fact.topic)) == len(fact.partitions)


def _assignment(scene: Scene, fact: facts.AssignmentChanged) -> Lines:
    yield scene.note(
        f"Successfully updated assignment of partition {_name(fact)} to"
        f" {values.replica_assignment(fact)}"
    )


def _reassignment(scene: Scene, fact: facts.ReassignmentAdvanced) -> Lines:
    """The beginning is told by the assignment, the middle by the leader epoch."""
    if fact.phase == "B":
        yield scene.note(
            f"Target replicas ArrayBuffer({', '.join(map(str, fact.replicas))}) have all caught up"
            f" with the leader for reassigning partition {_name(fact)}"
        )


def _deletion(scene: Scene, fact: facts.DeletionAdvanced) -> Lines:
    if fact.phase == "queued":
        yield scene.note(f"Starting topic deletion for topics {fact.topic}")
        return
    sentences = {
        "started": f"Deletion of topic {fact.topic} (re)started",
        "retried": f"Deletion of topic {fact.topic} (re)started",
        "ineligible": f"Halted deletion of topics {fact.topic} due to"
        f" {OBSTACLES.get(fact.reason or '', 'replica deletion failure')}",
        "finished": f"Deletion of topic {fact.topic} successfully completed",
    }
    if fact.phase == "started":
        sentence = f"Handling deletion for topics {fact.topic}"
        yield scene.note(sentence, source="TopicDeletionManager")
    yield scene.note(sentences[fact.phase], source="TopicDeletionManager")


# --- the two machines and leaderships -----------------------------------------------------------


def _partition_moved(scene: Scene, fact: facts.PartitionMoved) -> Lines:
    sentence = f"Changed partition {_name(fact)} state from {fact.before} to {fact.after}"
    partition = scene.state.partition(fact.topic, fact.partition)
    if fact.after is PartitionState.NEW and partition is not None:
        replicas = values.joined(partition.assignment.replicas)
        yield scene.change("INFO", f"{sentence} with assigned replicas {replicas}")
    else:
        yield scene.change("TRACE", sentence)


def _replica_moved(scene: Scene, fact: facts.ReplicaMoved) -> Lines:
    yield scene.change(
        "TRACE",
        f"Changed state of replica {fact.broker_id} for partition {_name(fact)}"
        f" from {fact.replica_before} to {fact.replica_after}",
    )


def _move_refused(scene: Scene, fact: facts.MoveRefused) -> Lines:
    who = f"Controller {scene.node} epoch {scene.epoch}"
    why = f"kafka.common.StateChangeFailedException: {fact.reason}"
    if fact.replica_after is not None:
        yield scene.change(
            "ERROR",
            f"{who} initiated state change of replica {fact.broker_id} for partition {_name(fact)}"
            f" from {fact.replica_before} to {fact.replica_after} failed",
            why,
        )
    elif fact.after is not None:
        yield scene.change(
            "ERROR",
            f"{who} failed to change state for partition {_name(fact)}"
            f" from {fact.before} to {fact.after}",
            why,
        )


def _leader_elected(scene: Scene, fact: facts.LeaderElected) -> Lines:
    if fact.strategy == Strategy.PREFERRED:
        trigger = TRIGGERS.get(scene.event, "ZkTriggered")
        yield scene.note(
            f"Starting replica leader election (PREFERRED) for partitions {_name(fact)}"
            f" triggered by {trigger}"
        )
    yield scene.change(
        "INFO",
        f"Changed partition {_name(fact)} from {fact.before} to {PartitionState.ONLINE}"
        f" with state {values.leader_and_isr(fact)}",
    )


def _isr_shrunk(scene: Scene, fact: facts.IsrShrunk) -> Lines:
    yield scene.change(
        "INFO",
        f"Partition {_name(fact)} state changed to"
        f" {values.leader_isr_and_epoch(fact, scene.epoch)} after removing replica"
        f" {fact.broker_id} from the ISR as part of transition to OfflineReplica",
    )


def _leader_epoch_raised(scene: Scene, fact: facts.LeaderEpochRaised) -> Lines:
    yield scene.note(
        f"Updated leader epoch for partition {_name(fact)} to {fact.leader_epoch},"
        f" zkVersion={fact.zk_version}"
    )
    partition = scene.state.partition(fact.topic, fact.partition)
    if partition is not None:
        yield scene.change(
            "INFO",
            f"Sent LeaderAndIsr request {values.leader_isr_and_epoch(fact, scene.epoch)}"
            f" with new replica assignment {values.replica_assignment(partition.assignment)}"
            f" to leader {fact.leader} for partition being reassigned {_name(fact)}",
        )


# --- requests -----------------------------------------------------------------------------------


def _leader_and_isr(scene: Scene, send: Send) -> Lines:
    orders: Any = send.request.partitions
    leading = [order for order in orders if _leads(order, send.broker_id)]
    for order in orders:
        role = "become-leader" if _leads(order, send.broker_id) else "become-follower"
        yield scene.change(
            "TRACE",
            f"Sending {role} LeaderAndIsr request {values.leadership_order(order)}"
            f" to broker {send.broker_id} for partition {_name(order)}",
        )
    yield scene.change(
        "INFO",
        f"Sending LeaderAndIsr request to broker {send.broker_id} with {len(leading)} become-leader"
        f" and {len(orders) - len(leading)} become-follower partitions",
    )


def _leads(order: Any, broker_id: BrokerId) -> bool:
    return bool(order.leadership.leader == broker_id)


def _update_metadata(scene: Scene, sends: Sequence[Send]) -> Lines:
    brokers = values.scala_set(send.broker_id for send in sends)
    yield scene.change(
        "INFO",
        f"Sending UpdateMetadata request to brokers {brokers}"
        f" for {len(sends[0].request.partitions)} partitions",
    )


def _stop_replica(scene: Scene, send: Send) -> Lines:
    orders: Any = send.request.partitions
    for order in orders:
        yield scene.change(
            "TRACE",
            f"Sending StopReplica request {values.stop_order(order)} to broker {send.broker_id}"
            f" for partition {_name(order)}",
        )
    yield scene.change(
        "INFO", f"Sending StopReplica request for {len(orders)} replicas to broker {send.broker_id}"
    )


def _name(of: Any) -> str:
    return f"{of.topic}-{of.partition}"


# fmt: off
#: What is said of each. The facts and requests are `Any` because this table, not the signature,
#: ties them to their kind.
WORDS: Final[Mapping[type, Tell]] = {
    facts.ControllerElected:    _elected,
    facts.ControllerResigned:   _resigned,
    facts.EventFailed:          _failed,
    facts.BrokerUp:             _brokers_up,
    facts.BrokerDown:           _brokers_down,
    facts.BrokerUpdated:        _broker_updated,
    facts.ShutdownAdvanced:     _shutdown,
    facts.LogDirFailed:         _log_dirs,
    facts.BalanceChecked:       _balance,
    facts.TopicLoaded:          _topics_loaded,
    facts.AssignmentChanged:    _assignment,
    facts.ReassignmentAdvanced: _reassignment,
    facts.DeletionAdvanced:     _deletion,
    facts.PartitionMoved:       _partition_moved,
    facts.ReplicaMoved:         _replica_moved,
    facts.MoveRefused:          _move_refused,
    facts.LeaderElected:        _leader_elected,
    facts.IsrShrunk:            _isr_shrunk,
    facts.LeaderEpochRaised:    _leader_epoch_raised,
    LeaderAndIsr:               _leader_and_isr,
    UpdateMetadata:             _update_metadata,
    StopReplica:                _stop_replica,
}
# fmt: on

#: Things of these kinds that come together and agree in these fields share their lines.
SHARED: Final[Mapping[type, tuple[str, ...]]] = {
    facts.BrokerUp: ("loaded",),
    facts.BrokerDown: ("bounced",),
    facts.LogDirFailed: ("broker_id", "loaded"),
    facts.TopicLoaded: (),
    UpdateMetadata: ("partitions",),
}

#: What Kafka does not log, or not in these two files, or logs as something else: requests are
#: told when they are queued and answered, the end of a topic by its deletion.
UNSAID: Final = (
    facts.ZnodeIsolated,
    facts.ReplicasStarted,
    facts.PartitionsStarted,
    facts.TopicForgotten,
    facts.TopicIdGiven,
    facts.IsrAltered,
    facts.LeadershipLearned,
    facts.RequestSent,
    facts.RequestAnswered,
    facts.CallRefused,
)
