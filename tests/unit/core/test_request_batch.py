"""What one step tells the brokers, and in which order (C3)."""

import pytest
from msgspec.structs import replace

from regent.core.config import ControllerConfig
from regent.core.effects import Journal, Send
from regent.core.events import (
    LeaderAndIsrAnswered,
    StopReplicaAnswered,
    UpdateMetadataAnswered,
)
from regent.core.request_batch import RequestBatch
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.control_requests import (
    ControlAnswer,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import RequestAnswered, RequestSent
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from tests.support.builders import broker, broker_epoch, ids, leadership, name
from tests.support.scene import CONTROLLER, Scene
from tests.support.transcript import line_of_send

B61, B62, B63 = ids(61, 62, 63)
EPOCH = ControllerEpoch(1)
OUR_TOPICS = (("x", "id-of-x"), ("y", "id-of-y"))


def told(batch: RequestBatch) -> list[str]:
    """Who is told what, a line each."""
    return [line_of_send(effect) for effect in batch.send() if isinstance(effect, Send)]


def three_led(scene: Scene) -> None:
    """Three partitions of two topics, led by 61, 62 and 63."""
    scene.live(61, 62, 63)
    for topic, index, leader in (("x", 0, 61), ("x", 1, 62), ("y", 0, 63)):
        led = leadership(leader, (leader, 62), leader_epoch=3, zk_version=4)
        scene.partition(topic, index, (leader, 62), leadership=led)


@pytest.mark.behaviour("chn-001")
@pytest.mark.requirement("C3")
def test_all_leaderships_for_a_broker_are_one_request(scene: Scene) -> None:
    """And everybody's metadata follows in the same batch; the answer comes back as an event."""
    three_led(scene)
    partitions = list(scene.state.all_partitions())
    batch = RequestBatch(scene.state)

    for each in partitions:
        batch.add_leader_and_isr((B62,), each, is_new=False)
    _, first, *others = batch.send()

    entries = tuple(
        LeaderAndIsrPartition(p.topic, p.index, p.leadership, p.assignment, is_new=False)
        for p in partitions
        if p.leadership is not None
    )
    request = LeaderAndIsr(
        CONTROLLER,
        EPOCH,
        broker_epoch(62),
        entries,
        live_leaders=ids(61, 62, 63),
        topic_ids=OUR_TOPICS,
    )
    assert first == Send(B62, request)
    assert [(s.broker_id, type(s.request)) for s in others if isinstance(s, Send)] == [
        (B61, UpdateMetadata),
        (B62, UpdateMetadata),
        (B63, UpdateMetadata),
    ]
    errors = tuple((p.name, ErrorCode.NONE) for p in partitions)
    answered = LeaderAndIsrAnswered(
        0, B62, broker_epoch(62), EPOCH, ControlAnswer(partition_errors=errors)
    )
    assert scene.handle(answered).facts == [RequestAnswered(B62, "LeaderAndIsr", ErrorCode.NONE)]


@pytest.mark.requirement("C3")
def test_a_broker_hears_only_of_what_it_hosts(scene: Scene) -> None:
    """Its partitions, who leads them and the ids of their topics; the others are not its own."""
    three_led(scene)
    first, _, last = scene.state.all_partitions()
    batch = RequestBatch(scene.state)

    batch.add_leader_and_isr((B61, B62), first, is_new=False)
    batch.add_leader_and_isr((B62, B63), last, is_new=True)

    requests = {
        int(send.broker_id): send.request
        for send in batch.send()
        if isinstance(send, Send) and isinstance(send.request, LeaderAndIsr)
    }
    assert {
        broker_id: (
            [f"{entry.topic}-{entry.partition}" for entry in request.partitions],
            request.live_leaders,
            request.topic_ids,
        )
        for broker_id, request in requests.items()
    } == {
        61: (["x-0"], (B61,), OUR_TOPICS[:1]),
        62: (["x-0", "y-0"], (B61, B63), OUR_TOPICS),
        63: (["y-0"], (B63,), OUR_TOPICS[1:]),
    }


@pytest.mark.behaviour("chn-003")
@pytest.mark.requirement("C3")
def test_only_brokers_that_are_alive_or_shutting_down_are_told(scene: Scene) -> None:
    """One that shuts down must still hear that it no longer leads."""
    scene.live(61, 62)
    scene.state.mark_shutting_down(B62)
    led = scene.partition(replicas=(61, 62, 63), leadership=leadership(61, (61,)))
    batch = RequestBatch(scene.state)

    batch.add_leader_and_isr((B61, B62, B63), led, is_new=False)

    what = "t-0 leader=61 isr=61 epoch=0 v0"
    assert told(batch) == [
        f"61 <- LeaderAndIsr {what}",
        f"62 <- LeaderAndIsr {what}",
        f"61 <- UpdateMetadata live=61,62; {what} replicas=61,62,63 offline=62,63",
        f"62 <- UpdateMetadata live=61,62; {what} replicas=61,62,63 offline=62,63",
    ]


@pytest.mark.behaviour("chn-006")
def test_metadata_has_the_partitions_the_live_brokers_and_the_topic_ids(scene: Scene) -> None:
    """To just the broker it was meant for; an error answer is not swallowed."""
    three_led(scene)
    batch = RequestBatch(scene.state)

    batch.add_update_metadata([B62], scene.state.all_partitions())
    effects = list(batch.send())

    partitions = tuple(
        PartitionMetadata(
            topic,
            index,
            EPOCH,
            BrokerId(leader),
            LeaderEpoch(3),
            ids(leader, 62),
            ZkVersion(4),
            ids(leader, 62),
        )
        for topic, index, leader in (("x", 0, 61), ("x", 1, 62), ("y", 0, 63))
    )
    live = (broker(61), broker(62), broker(63))
    request = UpdateMetadata(CONTROLLER, EPOCH, broker_epoch(62), partitions, live, OUR_TOPICS)
    assert effects == [
        Journal([RequestSent(B62, broker_epoch(62), "UpdateMetadata", 3)]),
        Send(B62, request),
    ]
    stale = UpdateMetadataAnswered(
        0, B62, broker_epoch(62), EPOCH, ControlAnswer(ErrorCode.STALE_BROKER_EPOCH)
    )
    assert scene.handle(stale).facts == [
        RequestAnswered(B62, "UpdateMetadata", ErrorCode.STALE_BROKER_EPOCH)
    ]


@pytest.mark.behaviour("chn-007")
def test_metadata_without_any_led_partition_is_sent_all_the_same(scene: Scene) -> None:
    """The list of brokers is news enough."""
    scene.live(61, 62)
    unled = [scene.partition("t", index, (61,)) for index in range(3)]
    batch = RequestBatch(scene.state)

    batch.add_update_metadata([B62], unled)

    assert told(batch) == ["62 <- UpdateMetadata live=61,62"]


@pytest.mark.behaviour("chn-009")
def test_a_broker_that_shuts_down_is_told_and_listed_as_alive(scene: Scene) -> None:
    """Clients may still use it; the dead one is neither told nor listed."""
    scene.live(61, 62)
    scene.state.mark_shutting_down(B62)
    batch = RequestBatch(scene.state)

    batch.add_update_metadata([B61, B62, B63])

    assert told(batch) == [
        "61 <- UpdateMetadata live=61,62",
        "62 <- UpdateMetadata live=61,62",
    ]


def test_a_batch_into_which_nothing_was_put_sends_nothing(scene: Scene) -> None:
    """Not even a record."""
    scene.live(61)

    assert list(RequestBatch(scene.state).send()) == []


@pytest.mark.behaviour("chn-011")
def test_a_stop_without_deletion_is_one_request_whose_answer_changes_nothing(
    scene: Scene,
) -> None:
    """Nothing is being deleted, so there is nothing to confirm."""
    three_led(scene)
    batch = RequestBatch(scene.state)

    for each in scene.state.all_partitions():
        batch.add_stop_replica(B62, each, delete=False)
    (_, send) = batch.send()
    answered = scene.handle(StopReplicaAnswered(0, B62, broker_epoch(62), EPOCH, ControlAnswer()))

    stops = tuple(
        StopReplicaPartition(topic, index, LeaderEpoch(3), delete=False)
        for topic, index in (("x", 0), ("x", 1), ("y", 0))
    )
    assert send == Send(B62, StopReplica(CONTROLLER, EPOCH, broker_epoch(62), stops))
    assert answered.effects == [Journal([RequestAnswered(B62, "StopReplica", ErrorCode.NONE)])]


@pytest.mark.behaviour("chn-013")
def test_a_stop_for_a_topic_queued_for_deletion_overrides_every_leader_epoch(
    scene: Scene,
) -> None:
    """At its unchanged epoch the broker would ignore it; the answer confirms no deletion yet."""
    three_led(scene)
    scene.state.queue_deletions(["x"])
    batch = RequestBatch(scene.state)

    for each in scene.state.all_partitions():
        batch.add_stop_replica(B62, each, delete=True)
    lines = told(batch)
    before = {b: dict(on) for b, on in scene.state.replicas_on.items()}
    names = (name("x", 0), name("x", 1), name("y", 0))
    answer = StopReplicaAnswered(0, B62, broker_epoch(62), EPOCH, ControlAnswer(), deleted=names)
    answered = scene.handle(answer)

    assert lines == [
        "62 <- StopReplica x-0 epoch=-2 delete; x-1 epoch=-2 delete; y-0 epoch=3 delete"
    ]
    assert answered.effects == [Journal([RequestAnswered(B62, "StopReplica", ErrorCode.NONE)])]
    assert scene.state.replicas_on == before


@pytest.mark.behaviour("chn-016")
@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("2.6", ["62 <- StopReplica x-0 epoch=3; x-1 epoch=3 delete"]),
        ("2.5", ["62 <- StopReplica x-1 epoch=3 delete", "62 <- StopReplica x-0 epoch=3"]),
    ],
)
def test_stops_with_and_without_deletion_are_parted_where_the_version_needs_it(
    scene: Scene, protocol: str, expected: list[str]
) -> None:
    """Below 2.6 the flag belongs to the request; the deleting one goes first."""
    scene.configure(protocol=protocol)
    three_led(scene)
    stop, delete, _ = scene.state.all_partitions()
    batch = RequestBatch(scene.state)

    batch.add_stop_replica(B62, stop, delete=False)
    batch.add_stop_replica(B62, delete, delete=True)

    assert told(batch) == expected


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_new_and_delete_only_ever_get_stronger(scene: Scene, order: tuple[bool, bool]) -> None:
    """The last word is not the strongest one."""
    scene.live(61)
    led = scene.partition(replicas=(61,), leadership=leadership(61, (61,)))
    batch = RequestBatch(scene.state)

    for strong in order:
        batch.add_leader_and_isr((B61,), led, is_new=strong)
        batch.add_stop_replica(B61, led, delete=strong)

    lines = told(batch)
    assert lines[0].endswith("v0 new")
    assert lines[-1].endswith("epoch=0 delete")


@pytest.mark.requirement("C3")
def test_leaderships_go_before_metadata_and_metadata_before_stops(scene: Scene) -> None:
    """A broker leads before clients are sent to it, and stops only then."""
    scene.live(61, 62)
    led = scene.partition(replicas=(61, 62), leadership=leadership(61, (61,)))
    batch = RequestBatch(scene.state)

    batch.add_stop_replica(B61, led, delete=False)
    batch.add_update_metadata([B61])
    batch.add_leader_and_isr(
        (
            B62,
            B61,
        ),
        led,
        is_new=False,
    )
    effects = list(batch.send())

    kinds = [(int(e.broker_id), type(e.request).__name__) for e in effects if isinstance(e, Send)]
    assert kinds == [
        (61, "LeaderAndIsr"),
        (62, "LeaderAndIsr"),
        (61, "UpdateMetadata"),
        (62, "UpdateMetadata"),
        (61, "StopReplica"),
    ]
    assert effects[0] == Journal(
        [
            RequestSent(B61, broker_epoch(61), "LeaderAndIsr", 1),
            RequestSent(B62, broker_epoch(62), "LeaderAndIsr", 1),
            RequestSent(B61, broker_epoch(61), "UpdateMetadata", 1),
            RequestSent(B62, broker_epoch(62), "UpdateMetadata", 1),
            RequestSent(B61, broker_epoch(61), "StopReplica", 1),
        ]
    )


def test_a_stop_carries_the_leader_epoch_of_the_moment_it_was_put_in(scene: Scene) -> None:
    """A stop that arrives late must lose against a leadership told later."""
    scene.live(61)
    led = scene.partition(replicas=(61,), leadership=leadership(61, (61,), leader_epoch=3))
    batch = RequestBatch(scene.state)

    batch.add_stop_replica(B61, led, delete=False)
    scene.state.set_leadership(led, leadership(-1, (61,), leader_epoch=4))
    batch.add_stop_replica(B61, led, delete=True)

    assert told(batch) == ["61 <- StopReplica t-0 epoch=3 delete"]


def test_a_topic_being_deleted_is_led_by_minus_two(scene: Scene) -> None:
    """Brokers and clients drop such partitions from what they know."""
    scene.live(61)
    led = scene.partition(replicas=(61,), leadership=leadership(61, (61,), leader_epoch=3))
    scene.state.queue_deletions(["t"])
    batch = RequestBatch(scene.state)

    batch.add_update_metadata([B61], [led])

    assert told(batch) == [
        "61 <- UpdateMetadata live=61; t-0 leader=-2 isr=61 epoch=0 v0 replicas=61"
    ]


def test_a_leader_that_is_dead_is_not_named_among_the_live_ones(scene: Scene) -> None:
    """A follower would try to reach it."""
    scene.live(61)
    led = scene.partition(replicas=(61, 63), leadership=leadership(63, (61, 63)))
    batch = RequestBatch(scene.state)

    batch.add_leader_and_isr((B61,), led, is_new=False)
    (_, first, *_) = batch.send()

    assert isinstance(first, Send)
    assert isinstance(first.request, LeaderAndIsr)
    assert first.request.live_leaders == ()


def test_topics_without_an_id_are_not_given_one_in_a_request(scene: Scene) -> None:
    """Below 2.8 there are none."""
    scene.live(61)
    led = scene.partition(replicas=(61,), leadership=leadership(61, (61,)))
    scene.state.topics["t"].topic_id = None
    batch = RequestBatch(scene.state)

    batch.add_leader_and_isr((B61,), led, is_new=False)

    requests = [effect.request for effect in batch.send() if isinstance(effect, Send)]
    assert [r.topic_ids for r in requests if not isinstance(r, StopReplica)] == [(), ()]


def test_a_replica_in_a_failed_directory_is_listed_as_offline(scene: Scene) -> None:
    """In that partition only: its broker is alive and serves the others."""
    scene.live(61, 62)
    led = leadership(61, (61,))
    hurt = scene.partition("t", 0, (61, 62), leadership=led)
    fine = scene.partition("t", 1, (61, 62), leadership=led)
    scene.state.offline_dirs[B62] = {hurt: None}
    batch = RequestBatch(scene.state)

    batch.add_update_metadata([B61], [hurt, fine])

    (line,) = told(batch)
    assert line.split("; ")[1:] == [
        "t-0 leader=61 isr=61 epoch=0 v0 replicas=61,62 offline=62",
        "t-1 leader=61 isr=61 epoch=0 v0 replicas=61,62",
    ]


def test_a_controller_that_is_no_broker_is_listed_under_every_listener(scene: Scene) -> None:
    """Brokers and clients look for the controller among the live brokers."""
    own = Endpoint("controller.example", 9099)
    scene.state.config = ControllerConfig(own_endpoint=own)
    inside, outside = Endpoint("b1", 1, "INSIDE"), Endpoint("b1", 2, "OUTSIDE")
    several = Broker(BrokerId(1), (inside, outside))
    scene.state.brokers[BrokerId(1)] = RegisteredBroker(several, broker_epoch(1))
    batch = RequestBatch(scene.state)
    batch.add_update_metadata([BrokerId(1)])

    (told_metadata,) = [e.request for e in batch.send() if isinstance(e, Send)]

    assert isinstance(told_metadata, UpdateMetadata)
    listed = {b.broker_id: b.endpoints for b in told_metadata.live_brokers}
    assert listed == {
        BrokerId(1): (inside, outside),
        CONTROLLER: (replace(own, listener="INSIDE"), replace(own, listener="OUTSIDE")),
    }


@pytest.mark.parametrize(("racks", "rack"), [(("a", "b"), "a"), (("a", None), None)])
def test_a_listed_controller_has_a_rack_where_every_broker_has_one(
    scene: Scene, racks: tuple[str | None, ...], rack: str | None
) -> None:
    """Brokers that place replicas by themselves refuse to where some have a rack and others not."""
    scene.state.config = ControllerConfig(own_endpoint=Endpoint("controller.example", 9099))
    for broker_id, each in enumerate(racks, start=1):
        registered = RegisteredBroker(Broker(BrokerId(broker_id), rack=each), broker_epoch(1))
        scene.state.brokers[BrokerId(broker_id)] = registered

    batch = RequestBatch(scene.state)
    batch.add_update_metadata([BrokerId(1)])

    (told_metadata,) = [e.request for e in batch.send() if isinstance(e, Send)]

    assert isinstance(told_metadata, UpdateMetadata)
    listed = {each.broker_id: each.rack for each in told_metadata.live_brokers}
    assert listed[CONTROLLER] == rack


def test_a_controller_that_is_a_broker_too_is_listed_once(scene: Scene) -> None:
    """Its registration says where it listens, and nothing is added to it."""
    scene.state.config = ControllerConfig(own_endpoint=Endpoint("elsewhere", 1))
    registered = RegisteredBroker(broker(CONTROLLER), broker_epoch(CONTROLLER))
    scene.state.brokers[CONTROLLER] = registered
    batch = RequestBatch(scene.state)
    batch.add_update_metadata([CONTROLLER])

    (told_metadata,) = [e.request for e in batch.send() if isinstance(e, Send)]

    assert isinstance(told_metadata, UpdateMetadata)
    assert told_metadata.live_brokers == (registered.broker,)
