"""START HERE: which procedure answers which event.

`Controller.handle` runs one event from beginning to end; the driver sees to it that no other event
is handled meanwhile (E8). The driver carries out the asks and effects that come out, and sends the
answers in. It throws `ControllerMoved` in when a fenced write was refused, and `SessionLost` when
the session ended. Whatever else comes out as an exception was not foreseen: the driver then runs
`give_up`, and another controller starts clean.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from regent.core.asks import Procedure
from regent.core.broker_answers import on_answered
from regent.core.broker_changes import on_broker_changed, on_brokers_changed
from regent.core.config import ControllerConfig
from regent.core.config_changes import on_configs_changed
from regent.core.controlled_shutdown import on_controlled_shutdown_requested
from regent.core.deletion_requests import on_topic_deletion_requested
from regent.core.effects import Journal
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
from regent.core.failover import (
    abdicate,
    abdicate_after_failure,
    on_controller_changed,
    on_deposed,
    on_resign_requested,
    on_session_expired,
    on_session_started,
    on_take_over_requested,
    resign,
)
from regent.core.isr_changes import on_alter_partition_requested, on_isr_changes_notified
from regent.core.leader_balance import (
    on_elect_leaders_requested,
    on_election_znode_changed,
    on_timer_rang,
)
from regent.core.log_dirs import on_leader_and_isr_answered, on_log_dirs_failed
from regent.core.partition_creation import on_partition_creation_requested
from regent.core.reassignment import (
    on_leadership_changed,
    on_reassignment_list_requested,
    on_reassignment_znode_changed,
    on_reassignments_requested,
)
from regent.core.state import ControllerState
from regent.core.topic_changes import on_topic_changed, on_topics_changed
from regent.core.topic_creation import on_topic_creation_requested
from regent.core.topic_deletion import on_stop_replica_answered, on_topic_deletions_changed
from regent.errors import ControllerMoved, SessionLost
from regent.model.facts import EventFailed
from regent.model.ids import BrokerId

# Any: each procedure takes just its own kind of event.
Handler = Callable[[ControllerState, Any], Procedure[None]]

# fmt: off
#: Events that every node handles, whether or not it is the controller.
ALWAYS: Final[Mapping[type[EventBase], Handler]] = {
    SessionStarted:          on_session_started,
    SessionExpired:          on_session_expired,
    ControllerChanged:       on_controller_changed,
    ResignRequested:         on_resign_requested,
    TakeOverRequested:       on_take_over_requested,
}

#: Events that only an active controller handles. Whether it is active is asked when the event is
#: handled, not when it was queued (KAFKA-4447).
WHEN_ACTIVE: Final[Mapping[type[EventBase], Handler]] = {
    BrokersChanged:          on_brokers_changed,
    BrokerChanged:           on_broker_changed,
    TopicsChanged:           on_topics_changed,
    TopicChanged:            on_topic_changed,
    TopicDeletionsChanged:   on_topic_deletions_changed,
    IsrChangesNotified:      on_isr_changes_notified,
    AlterPartitionRequested: on_alter_partition_requested,
    ReassignmentZnodeChanged: on_reassignment_znode_changed,
    ReassignmentsRequested:  on_reassignments_requested,
    ReassignmentListRequested: on_reassignment_list_requested,
    LeadershipChanged:       on_leadership_changed,
    ElectionZnodeChanged:    on_election_znode_changed,
    ElectLeadersRequested:   on_elect_leaders_requested,
    TimerRang:               on_timer_rang,
    LogDirsFailed:           on_log_dirs_failed,
    ConfigsChanged:          on_configs_changed,
    ControlledShutdownRequested: on_controlled_shutdown_requested,
    TopicCreationRequested:  on_topic_creation_requested,
    TopicDeletionRequested:  on_topic_deletion_requested,
    PartitionCreationRequested: on_partition_creation_requested,
    LeaderAndIsrAnswered:    on_leader_and_isr_answered,
    UpdateMetadataAnswered:  on_answered,
    StopReplicaAnswered:     on_stop_replica_answered,
}
# fmt: on


class Controller:
    """One node's controller module; being one does not make the node the controller (E1)."""

    def __init__(self, controller_id: BrokerId, config: ControllerConfig | None = None) -> None:
        self.state = ControllerState(controller_id, config or ControllerConfig())

    def handle(self, event: Event) -> Procedure[None]:
        """Do all that follows from one event."""
        procedure = ALWAYS.get(type(event))
        if procedure is None:
            if not self.state.is_active:
                yield from _refuse(event)
                return
            procedure = WHEN_ACTIVE[type(event)]
        try:
            yield from procedure(self.state, event)
        except (ControllerMoved, SessionLost) as gone:
            yield from self._leave(gone, event.now_ms)
            yield from _refuse(event)

    def _leave(self, gone: ControllerMoved | SessionLost, now_ms: int) -> Procedure[None]:
        """See to a lost role or session. What is lost meanwhile leaves nobody half in office."""
        try:
            if isinstance(gone, ControllerMoved):
                yield from self._step_down(gone, now_ms)
        except SessionLost as lost:
            gone = lost
        if isinstance(gone, SessionLost) and self.state.is_active:
            yield from resign(self.state, str(gone))

    def _step_down(self, moved: ControllerMoved, now_ms: int) -> Procedure[None]:
        try:
            yield from on_deposed(self.state, moved, now_ms)
        except ControllerMoved as again:
            # In the reign that followed at once. It must be free, and its watch tells of it.
            if self.state.is_active:
                yield from abdicate(self.state, f"deposed: {again}")

    def give_up(self, failure: str) -> Procedure[None]:
        """After an unforeseen failure: resign, and do not let a second failure stop that."""
        try:
            yield from abdicate_after_failure(self.state, failure)
        except (ControllerMoved, SessionLost) as gone:
            yield Journal([EventFailed(str(gone))])
            yield from resign(self.state, str(gone))


def _refuse(event: Event) -> Procedure[None]:
    """Whoever waits for an answer hears that this is not the controller (KAFKA-10193).

    Also when the role was lost on the way: a caller that is answered already hears nothing more.
    """
    refused = refusal(event)
    if refused is not None:
        yield refused
