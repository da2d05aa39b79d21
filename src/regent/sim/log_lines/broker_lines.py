"""What a Kafka broker would have logged about a controller's request."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from regent.broker.hosted_partition import HostedPartition, ReplicaRole
from regent.model.control_requests import (
    ControlAnswer,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    LEADER_DURING_DELETE,
    BrokerId,
    ControllerEpoch,
    TopicPartition,
)
from regent.sim.log_lines import values
from regent.sim.log_lines.line import KafkaLogLine, by_broker

Lines = Iterator[KafkaLogLine]

#: Whom a replica followed, or that it led itself, and in which leader epoch.
Role = tuple[BrokerId, int]


class Receipt(Struct, frozen=True):
    """A request as a broker has just dealt with it."""

    node: BrokerId
    correlation_id: int
    #: Any: `WORDS` ties what is said to the kind of request.
    request: Any
    answer: ControlAnswer
    #: The highest that the broker has seen, this request included.
    latest_epoch: ControllerEpoch
    hosted: Mapping[TopicPartition, HostedPartition]
    #: Partitions that the broker began to lead because of it.
    began: frozenset[TopicPartition]
    #: The role of each replica before.
    before: Mapping[TopicPartition, Role]

    def line(self, level: str, sentence: str) -> KafkaLogLine:
        """A line by this broker."""
        return by_broker(level, self.node, sentence)

    @property
    def sender(self) -> str:
        """Who asked, as most lines name it."""
        return f"from controller {self.request.controller_id}"

    @property
    def sender_in_epoch(self) -> str:
        """The same with the epoch that it claims."""
        return f"{self.sender} epoch {self.request.controller_epoch}"

    @property
    def in_response(self) -> str:
        """How lines about the metadata cache end."""
        return (
            "in response to UpdateMetadata request sent by controller"
            f" {self.request.controller_id} epoch {self.request.controller_epoch}"
            f" with correlation id {self.correlation_id}"
        )


def received(receipt: Receipt) -> Lines:
    """Everything that is said about one request; one to an earlier life is not logged here."""
    if receipt.answer.error is not ErrorCode.STALE_BROKER_EPOCH:
        yield from WORDS[type(receipt.request)](receipt)


def role_after(hosted: HostedPartition) -> Role:
    """What a replica does now."""
    return hosted.leader, int(hosted.leader_epoch)


# --- LeaderAndIsr -------------------------------------------------------------------------------


def _leader_and_isr(receipt: Receipt) -> Lines:
    number, orders = receipt.correlation_id, receipt.request.partitions
    about = f"correlationId {number} {receipt.sender} for {len(orders)} partitions"
    yield receipt.line("INFO", f"Handling LeaderAndIsr request {about}")
    for order in orders:
        yield receipt.line(
            "TRACE",
            f"Received LeaderAndIsr request {values.leadership_order(order)} correlation id"
            f" {number} {receipt.sender_in_epoch}",
        )
    if receipt.answer.error is ErrorCode.NONE:
        yield from _roles(receipt)
    else:
        yield _old_controller(receipt)
    yield receipt.line("INFO", f"Finished LeaderAndIsr request in 0ms {about}")


def _roles(receipt: Receipt) -> Lines:
    """Refusals first, then leaders, then followers."""
    refusals: list[KafkaLogLine] = []
    leaders: list[LeaderAndIsrPartition] = []
    followers: list[LeaderAndIsrPartition] = []
    errors = dict(receipt.answer.partition_errors)
    for order in receipt.request.partitions:
        name = TopicPartition(order.topic, order.partition)
        hosted = receipt.hosted.get(name)
        if errors[name] is not ErrorCode.NONE:
            refusals += _refusal(receipt, order, errors[name])
        elif name in receipt.began:
            leaders.append(order)
        elif hosted is not None and _follows(hosted, order):
            followers.append(order)
        elif hosted is None or hosted.leader_epoch < order.leadership.leader_epoch:
            refusals.append(_leader_unavailable(receipt, order))
    yield from refusals
    if leaders:
        yield from _became_leader(receipt, leaders)
    if followers:
        yield from _became_follower(receipt, followers)


def _follows(hosted: HostedPartition, order: LeaderAndIsrPartition) -> bool:
    return (
        hosted.role is ReplicaRole.FOLLOWER and hosted.leader_epoch == order.leadership.leader_epoch
    )


def _became_leader(receipt: Receipt, orders: list[LeaderAndIsrPartition]) -> Lines:
    number = receipt.correlation_id
    yield receipt.line(
        "INFO",
        f"Stopped fetchers as part of LeaderAndIsr request correlationId {number}"
        f" {receipt.sender_in_epoch} as part of the become-leader transition for {len(orders)}"
        " partitions",
    )
    for order in orders:
        name = TopicPartition(order.topic, order.partition)
        yield _turn(receipt, "become-leader", order, is_done=False)
        hosted, led = receipt.hosted[name], order.leadership
        leader, leader_epoch = receipt.before.get(name, (None, -1))
        topic_id = dict(receipt.request.topic_ids).get(name.topic)
        yield receipt.line(
            "INFO",
            f"Leader {name} with topic id {values.option(topic_id)} starts at leader epoch"
            f" {led.leader_epoch} from offset {hosted.log.end_offset} with partition epoch"
            f" {led.zk_version}, high watermark {hosted.high_watermark}, ISR"
            f" [{values.joined(led.isr)}], adding replicas"
            f" [{values.joined(order.assignment.adding)}] and removing replicas"
            f" [{values.joined(order.assignment.removing)}] . Previous leader"
            f" {values.option(leader)} and previous leader epoch was {leader_epoch}.",
        )
        yield _turn(receipt, "become-leader", order, is_done=True)


def _became_follower(receipt: Receipt, orders: list[LeaderAndIsrPartition]) -> Lines:
    for order in orders:
        name = TopicPartition(order.topic, order.partition)
        yield _turn(receipt, "become-follower", order, is_done=False)
        hosted, led = receipt.hosted[name], order.leadership
        # Kafka prints the values it has just set as the previous ones.
        yield receipt.line(
            "INFO",
            f"Follower {name} starts at leader epoch {led.leader_epoch} from offset"
            f" {hosted.log.end_offset} with partition epoch {led.zk_version} and high watermark"
            f" {hosted.high_watermark}. Current leader is {led.leader}. Previous leader"
            f" {values.option(led.leader)} and previous leader epoch was {led.leader_epoch}.",
        )
    yield receipt.line(
        "INFO",
        f"Stopped fetchers as part of become-follower request {receipt.sender_in_epoch} with"
        f" correlation id {receipt.correlation_id} for {len(orders)} partitions",
    )
    for order in orders:
        yield _turn(receipt, "become-follower", order, is_done=True)


def _turn(
    receipt: Receipt, role: str, order: LeaderAndIsrPartition, *, is_done: bool
) -> KafkaLogLine:
    """The beginning or the end of taking a role."""
    verb, step = ("Completed", "for") if is_done else ("Handling", "starting")
    whom = f" with leader {order.leadership.leader}" if role == "become-follower" else ""
    return receipt.line(
        "TRACE",
        f"{verb} LeaderAndIsr request correlationId {receipt.correlation_id}"
        f" {receipt.sender_in_epoch} {step} the {role} transition for partition"
        f" {order.topic}-{order.partition}{whom}",
    )


def _refusal(receipt: Receipt, order: LeaderAndIsrPartition, error: ErrorCode) -> Lines:
    """What is said depends on the reason; two rare reasons are not Kafka's and have no words."""
    name = TopicPartition(order.topic, order.partition)
    wanted, hosted = order.leadership.leader_epoch, receipt.hosted.get(name)
    ignoring = (
        f"Ignoring LeaderAndIsr request {receipt.sender} with correlation id"
        f" {receipt.correlation_id} epoch {receipt.request.controller_epoch} for partition {name}"
    )
    if error is ErrorCode.KAFKA_STORAGE_ERROR:
        yield receipt.line("WARN", f"{ignoring} as {IN_FAILED_DIR}")
    elif error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        replicas = values.joined(order.assignment.replicas)
        yield receipt.line(
            "WARN", f"{ignoring} as itself is not in assigned replica list {replicas}"
        )
    elif hosted is not None and hosted.leader_epoch == wanted:
        yield receipt.line(
            "INFO",
            f"{ignoring} since its associated leader epoch {wanted} matches the current leader"
            " epoch",
        )
    elif hosted is not None and hosted.leader_epoch > wanted:
        yield receipt.line("WARN", f"{ignoring} {_is_smaller(wanted, hosted)}")


def _leader_unavailable(receipt: Receipt, order: LeaderAndIsrPartition) -> KafkaLogLine:
    led = order.leadership
    return receipt.line(
        "ERROR",
        f"Received LeaderAndIsrRequest with correlation id {receipt.correlation_id}"
        f" {receipt.sender_in_epoch} for partition {order.topic}-{order.partition}"
        f" (last update controller epoch {led.controller_epoch}) but cannot become follower since"
        f" the new leader {led.leader} is unavailable.",
    )


# --- UpdateMetadata -----------------------------------------------------------------------------


def _update_metadata(receipt: Receipt) -> Lines:
    request = receipt.request
    if receipt.answer.error is not ErrorCode.NONE:
        yield receipt.line(
            "WARN",
            f"Received update metadata request with correlation id {receipt.correlation_id} from an"
            f" old controller {request.controller_id} with epoch {request.controller_epoch}."
            f" Latest known controller epoch is {receipt.latest_epoch}",
        )
        return
    deleted = 0
    for entry in request.partitions:
        name = f"{entry.topic}-{entry.partition}"
        if entry.leader == LEADER_DURING_DELETE:
            deleted += 1
            sentence = f"Deleted partition {name} from metadata cache {receipt.in_response}"
        else:
            cached = values.metadata_entry(entry)
            sentence = f"Cached leader info {cached} for partition {name} {receipt.in_response}"
        yield receipt.line("TRACE", sentence)
    yield receipt.line(
        "INFO",
        f"Add {len(request.partitions) - deleted} partitions and deleted {deleted} partitions from"
        f" metadata cache {receipt.in_response}",
    )


# --- StopReplica --------------------------------------------------------------------------------


def _stop_replica(receipt: Receipt) -> Lines:
    request = receipt.request
    yield receipt.line(
        "INFO",
        f"Handling StopReplica request correlationId {receipt.correlation_id} {receipt.sender} for"
        f" {len(request.partitions)} partitions",
    )
    if receipt.answer.error is not ErrorCode.NONE:
        yield _old_controller(receipt)
        return
    for order in request.partitions:
        yield receipt.line(
            "TRACE",
            f"Received StopReplica request {values.stop_order(order)} correlation id"
            f" {receipt.correlation_id} {receipt.sender_in_epoch} for partition"
            f" {order.topic}-{order.partition}",
        )
    errors = dict(receipt.answer.partition_errors)
    for order in request.partitions:
        name = TopicPartition(order.topic, order.partition)
        yield from _stop_refusal(receipt, order, name, errors[name])


def _stop_refusal(
    receipt: Receipt, order: StopReplicaPartition, name: TopicPartition, error: ErrorCode
) -> Lines:
    ignoring = (
        f"Ignoring StopReplica request (delete={values.truth(order.delete)}) {receipt.sender} with"
        f" correlation id {receipt.correlation_id} epoch {receipt.request.controller_epoch} for"
        f" partition {name}"
    )
    if error is ErrorCode.KAFKA_STORAGE_ERROR:
        yield receipt.line("WARN", f"{ignoring} as {IN_FAILED_DIR}")
    elif error is ErrorCode.FENCED_LEADER_EPOCH:
        yield receipt.line(
            "WARN", f"{ignoring} {_is_smaller(order.leader_epoch, receipt.hosted[name])}"
        )


# --- what several requests have in common -------------------------------------------------------

IN_FAILED_DIR: Final = "the local replica for the partition is in an offline log directory"


def _is_smaller(wanted: int, hosted: HostedPartition) -> str:
    return (
        f"since its associated leader epoch {wanted} is smaller than the current leader epoch"
        f" {hosted.leader_epoch}"
    )


def _old_controller(receipt: Receipt) -> KafkaLogLine:
    return receipt.line(
        "WARN",
        f"Ignoring {type(receipt.request).__name__} request {receipt.sender} with correlation id"
        f" {receipt.correlation_id} since its controller epoch {receipt.request.controller_epoch}"
        f" is old. Latest known controller epoch is {receipt.latest_epoch}",
    )


WORDS: Final[Mapping[type, Callable[[Receipt], Lines]]] = {
    LeaderAndIsr: _leader_and_isr,
    UpdateMetadata: _update_metadata,
    StopReplica: _stop_replica,
}
