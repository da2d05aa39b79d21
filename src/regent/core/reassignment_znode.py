"""`/admin/reassign_partitions`: plans that tools leave for the controller.

It is only an input. What is under way is in the topics' znodes, and an entry is taken out as soon
as it is reached, replaced or impossible. Every look sets the watch anew, so a plan that somebody
writes the moment the last one is deleted is not missed (KAFKA-6193).
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from regent.core.asks import (
    Malformed,
    Procedure,
    ReadReassignmentZnode,
    WriteReassignmentZnode,
    ask,
    fence_of,
)
from regent.core.isolation import isolate
from regent.core.state import ControllerState
from regent.model.ids import BrokerId, TopicPartition

Targets: TypeAlias = dict[TopicPartition, tuple[BrokerId, ...]]

PATH: Final = "/admin/reassign_partitions"


def read_targets(state: ControllerState) -> Procedure[Targets]:
    """What is wanted there.

    A plan that cannot be read is said aloud and removed, as is an empty one: otherwise nobody could
    leave another.
    """
    read = yield from ask(ReadReassignmentZnode())
    if read is None:
        return {}
    if isinstance(read, Malformed):
        yield from isolate(state, [read])
        yield from isolate(state, [], healthy=[PATH])
        read = {}
    if not read:
        yield from ask(WriteReassignmentZnode(fence_of(state), {}))
    return read


def trim_targets(
    state: ControllerState, is_over: Callable[[TopicPartition, tuple[BrokerId, ...]], bool]
) -> Procedure[None]:
    """Take out the entries that are over; the znode goes with the last one."""
    targets = yield from read_targets(state)
    left = {name: replicas for name, replicas in targets.items() if not is_over(name, replicas)}
    if len(left) < len(targets):
        yield from ask(WriteReassignmentZnode(fence_of(state), left))
