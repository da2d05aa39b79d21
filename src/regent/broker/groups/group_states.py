"""The states of a group, the moves between them, and what a state says to whom.

Everything that depends on nothing but the state is a table here.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from regent.model.error_codes import ErrorCode


class GroupState(StrEnum):
    """Where a group is in its life; the values are Kafka's own words."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY: Final = GroupState.EMPTY
PREPARING: Final = GroupState.PREPARING_REBALANCE
COMPLETING: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
DEAD: Final = GroupState.DEAD

# A pair that is not in the table is illegal.
# fmt: off
GROUP_MOVES: Final[Mapping[tuple[GroupState, GroupState], str]] = {
    # from        to
    (EMPTY,      PREPARING):  "a first member joined",
    (STABLE,     PREPARING):  "a member joined, left, died or wants something else",
    (COMPLETING, PREPARING):  "the same, before the assignment was known",
    (PREPARING,  COMPLETING): "all have joined, or time is up; a generation begins",
    (PREPARING,  EMPTY):      "nobody is left",
    (COMPLETING, STABLE):     "the leader's assignment is stored",
    (EMPTY,      DEAD):       "deleted, or its last offset expired; or no longer ours",
    (PREPARING,  DEAD):       "no longer ours",
    (COMPLETING, DEAD):       "no longer ours",
    (STABLE,     DEAD):       "no longer ours",
    (DEAD,       DEAD):       "deleted, and then no longer ours",
    (DEAD,       EMPTY):      "the deletion could not be stored",
}

#: What a member hears to a heartbeat. Before the assignment all is well: since Kafka 2.7 members
#: send heartbeats as soon as they have joined.
HEARTBEAT_VERDICTS: Final[Mapping[GroupState, ErrorCode]] = {
    EMPTY:      ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING:  ErrorCode.REBALANCE_IN_PROGRESS,
    COMPLETING: ErrorCode.NONE,
    STABLE:     ErrorCode.NONE,
    DEAD:       ErrorCode.COORDINATOR_NOT_AVAILABLE,
}

#: Whether a member's offsets are taken. Members of the last generation may still commit while the
#: next one gathers: their heartbeats will tell them.
COMMIT_VERDICTS: Final[Mapping[GroupState, ErrorCode]] = {
    EMPTY:      ErrorCode.NONE,
    PREPARING:  ErrorCode.NONE,
    COMPLETING: ErrorCode.REBALANCE_IN_PROGRESS,
    STABLE:     ErrorCode.NONE,
    DEAD:       ErrorCode.COORDINATOR_NOT_AVAILABLE,
}

#: What a member hears that asks for its assignment; none of these waits, COMPLETING does.
SYNC_VERDICTS: Final[Mapping[GroupState, ErrorCode]] = {
    EMPTY:      ErrorCode.UNKNOWN_MEMBER_ID,
    PREPARING:  ErrorCode.REBALANCE_IN_PROGRESS,
    COMPLETING: ErrorCode.NONE,
    STABLE:     ErrorCode.NONE,
    DEAD:       ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
# fmt: on
