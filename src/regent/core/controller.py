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
from regent.core.effects import Journal
from regent.core.events import (
    AlterPartitionRequested,
    BrokerChanged,
    BrokersChanged,
    ControllerChanged,
    Event,
    EventBase,
    IsrChangesNotified,
    LeaderAndIsrAnswered,
    ResignRequested,
    SessionExpired,
    SessionStarted,
    StopReplicaAnswered,
    TopicChanged,
    TopicsChanged,
    UpdateMetadataAnswered,
)
from regent.core.failover import (
    abdicate_after_failure,
    on_controller_changed,
    on_deposed,
    on_resign_requested,
    on_session_expired,
    on_session_started,
    resign,
)
from regent.core.isr_changes import on_alter_partition_requested, on_isr_changes_notified
from regent.core.state import ControllerState
from regent.core.topic_changes import on_topic_changed, on_topics_changed
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
    AlterPartitionRequested: on_alter_partition_requested,
}

#: Events that only an active controller handles. Whether it is active is asked when the event is
#: handled, not when it was queued (KAFKA-4447).
WHEN_ACTIVE: Final[Mapping[type[EventBase], Handler]] = {
    BrokersChanged:          on_brokers_changed,
    BrokerChanged:           on_broker_changed,
    TopicsChanged:           on_topics_changed,
    TopicChanged:            on_topic_changed,
    IsrChangesNotified:      on_isr_changes_notified,
    LeaderAndIsrAnswered:    on_answered,
    UpdateMetadataAnswered:  on_answered,
    StopReplicaAnswered:     on_answered,
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
                return
            procedure = WHEN_ACTIVE[type(event)]
        try:
            yield from procedure(self.state, event)
        except ControllerMoved as moved:
            yield from on_deposed(self.state, moved, event.now_ms)
        except SessionLost as lost:
            if self.state.is_active:
                yield from resign(self.state, str(lost))

    def give_up(self, failure: str) -> Procedure[None]:
        """After an unforeseen failure: resign, and do not let a second failure stop that."""
        try:
            yield from abdicate_after_failure(self.state, failure)
        except (ControllerMoved, SessionLost) as gone:
            yield Journal([EventFailed(str(gone))])
            yield from resign(self.state, str(gone))
