"""What brokers answer to control requests (C5).

A broker that has seen a newer controller epoch is right: this controller resigns. Codes for single
partitions are normal after a failover (a leadership told twice) and change nothing here; what they
say of failed log directories is for `log_dirs`.
"""

from typing import TypeAlias

from regent.core.asks import Procedure
from regent.core.effects import Journal
from regent.core.events import LeaderAndIsrAnswered, StopReplicaAnswered, UpdateMetadataAnswered
from regent.core.state import ControllerState
from regent.errors import ControllerMoved
from regent.model.error_codes import ErrorCode
from regent.model.facts import RequestAnswered

Answered: TypeAlias = LeaderAndIsrAnswered | UpdateMetadataAnswered | StopReplicaAnswered


def on_answered(state: ControllerState, event: Answered) -> Procedure[None]:
    """Record the answer; a stale controller epoch in it ends the reign that asked."""
    if event.controller_epoch != state.controller_epoch:
        return
    answer = event.answer
    refused = [code for _, code in answer.partition_errors if code is not ErrorCode.NONE]
    api = type(event).__name__.removesuffix("Answered")
    yield Journal([RequestAnswered(event.broker_id, api, answer.error, len(refused))])
    if answer.error is ErrorCode.STALE_CONTROLLER_EPOCH:
        raise ControllerMoved(f"broker {event.broker_id} obeys a newer controller")
