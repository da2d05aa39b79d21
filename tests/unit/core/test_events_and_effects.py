"""Events and effects are plain values, and every event has somebody who handles it."""

from typing import Any, get_args

import msgspec
import pytest

from regent.core.controller import ALWAYS, WHEN_ACTIVE
from regent.core.effects import (
    CancelTimers,
    CloseAllChannels,
    CloseChannel,
    DropWatches,
    Effect,
    Journal,
    OpenChannel,
    Reply,
    Send,
    SetTimer,
)
from regent.core.event_queue import refusal
from regent.core.events import (
    AlterPartitionRequested,
    BrokerChanged,
    BrokersChanged,
    ConfigsChanged,
    ControlledShutdownRequested,
    ControllerChanged,
    ElectionZnodeChanged,
    ElectLeadersRequested,
    Event,
    EventBase,
    IsrChangesNotified,
    LeaderAndIsrAnswered,
    LeadershipChanged,
    LogDirsFailed,
    PartitionCreationRequested,
    ReassignmentListRequested,
    ReassignmentsRequested,
    ReassignmentZnodeChanged,
    ResignRequested,
    SessionExpired,
    SessionStarted,
    StopReplicaAnswered,
    TakeOverRequested,
    TimerRang,
    TopicChanged,
    TopicCreationRequested,
    TopicDeletionRequested,
    TopicDeletionsChanged,
    TopicsChanged,
    UpdateMetadataAnswered,
)
from regent.model.admin_requests import (
    AlterReassignments,
    ControlledShutdown,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    MorePartitions,
    NewTopic,
    ReassignmentTarget,
)
from regent.model.alter_partition import AlterPartitionAnswer, IsrVerdict
from regent.model.control_requests import ControlAnswer, StopReplica, StopReplicaPartition
from regent.model.error_codes import ErrorCode
from regent.model.facts import BrokerDown
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch
from tests.support.builders import alter_partition, broker, broker_epoch, ids, name, proposal
from tests.support.scene import CONTROLLER, Scene

B1 = BrokerId(1)
EPOCH = ControllerEpoch(3)
ANSWER = ControlAnswer(ErrorCode.NONE, ((name("t", 0), ErrorCode.KAFKA_STORAGE_ERROR),))

EVENTS: list[Event] = [
    SessionStarted(1),
    SessionExpired(1),
    ResignRequested(1),
    TakeOverRequested(1),
    ControllerChanged(1),
    BrokersChanged(1),
    BrokerChanged(1, B1),
    TopicsChanged(1),
    TopicChanged(1, "t"),
    TopicDeletionsChanged(1),
    IsrChangesNotified(1),
    LeaderAndIsrAnswered(1, B1, broker_epoch(1), EPOCH, ANSWER),
    UpdateMetadataAnswered(1, B1, broker_epoch(1), EPOCH, ANSWER),
    StopReplicaAnswered(1, B1, broker_epoch(1), EPOCH, ANSWER, deleted=(name("t", 0),)),
    AlterPartitionRequested(1, 7, alter_partition(1, proposal(1, 2, recovering=True))),
    ReassignmentZnodeChanged(1),
    ElectionZnodeChanged(1),
    LeadershipChanged(1, "t", 0),
    LogDirsFailed(1),
    ConfigsChanged(1),
    TimerRang(1, "leader-balance"),
    ElectLeadersRequested(1, 7, ElectLeaders(ElectionType.UNCLEAN, (name("t", 0),))),
    ReassignmentsRequested(1, 7, AlterReassignments((ReassignmentTarget("t", 0, ids(1, 2)),))),
    ReassignmentListRequested(1, 7, ListReassignments((name("t", 0),))),
    ControlledShutdownRequested(1, 7, ControlledShutdown(B1, broker_epoch(1))),
    TopicCreationRequested(1, 7, CreateTopics((NewTopic("t", 1, 2),))),
    TopicDeletionRequested(1, 7, DeleteTopics(("t",))),
    PartitionCreationRequested(1, 7, CreatePartitions((MorePartitions("t", 2),))),
]
STOP = StopReplica(
    CONTROLLER,
    EPOCH,
    broker_epoch(1),
    (StopReplicaPartition("t", 0, LeaderEpoch(2), delete=True),),
)
EFFECTS: list[Effect] = [
    Journal([BrokerDown(B1, broker_epoch(1))]),
    OpenChannel(broker(1), broker_epoch(1)),
    CloseChannel(B1),
    CloseAllChannels(),
    Send(B1, STOP),
    Reply(7, AlterPartitionAnswer(verdicts=(IsrVerdict("t", 0),))),
    SetTimer("leader-balance", 5_000),
    CancelTimers(),
    DropWatches(),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_of_json_and_reads_back_equal(event: Event) -> None:
    """So that a run can be recorded and played again; no callback can hide in it."""
    line = msgspec.json.encode(event)

    assert b"\n" not in line
    assert msgspec.json.decode(line, type=Event) == event


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: type(effect).__name__)
def test_an_effect_is_a_value_that_can_be_written_down(effect: Effect) -> None:
    """What the core wants done is data until somebody does it."""
    assert msgspec.json.encode(effect)
    with pytest.raises(AttributeError):
        effect.anything = 1  # type: ignore[union-attr]


def test_no_kind_of_event_or_effect_is_forgotten_here() -> None:
    """A new kind needs its example above, and its place in the union."""
    events: tuple[type[Any], ...] = get_args(Event)
    effects: tuple[type[Any], ...] = get_args(Effect)

    assert set(events) == set(EventBase.__subclasses__()) == {type(event) for event in EVENTS}
    assert set(effects) == {type(effect) for effect in EFFECTS}


def test_every_event_is_handled_and_none_twice() -> None:
    """An event that nobody handles would end the reign that meets it."""
    assert set(ALWAYS) & set(WHEN_ACTIVE) == set()
    assert {*ALWAYS, *WHEN_ACTIVE} == set(get_args(Event))


@pytest.mark.parametrize("kind", list(WHEN_ACTIVE), ids=lambda kind: kind.__name__)
def test_events_for_the_controller_are_nothing_to_another_node(
    node: Scene, kind: type[EventBase]
) -> None:
    """They may have been queued while it was in office (KAFKA-4447); callers are sent away."""
    (event,) = (each for each in EVENTS if type(each) is kind)
    refused = refusal(event)

    assert node.handle(event).steps == ([] if refused is None else [refused])


def test_exactly_the_events_of_callers_have_a_refusal() -> None:
    """Whoever waits for an answer gets one, and nobody else does."""
    refused = {type(event) for event in EVENTS if refusal(event) is not None}

    assert refused == {type(event) for event in EVENTS if hasattr(event, "request_id")}
