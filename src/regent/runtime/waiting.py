"""Waiting until what was asked for is to be seen, as long as the caller wants to wait.

The core answers when something is recorded; a topic is of use when its leaders are elected, a
moment later. Kafka's callers expect to hear then.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from regent.core.state import ControllerState
from regent.model.admin_requests import TopicResult
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER
from regent.runtime.desk import Desk

#: Between two looks, in seconds; the last one is repeated.
LOOK_AGAIN_S: Final = (0.002, 0.005, 0.01, 0.02, 0.05)

#: The topics that are not yet as they shall be.
StillWaiting = Callable[[ControllerState], Sequence[str]]


async def answer_when_seen(
    desk: Desk, results: Sequence[TopicResult], still_waiting: StillWaiting, timeout_ms: int
) -> tuple[TopicResult, ...]:
    """The results when all that went well is to be seen, or when time is up.

    Who does not want to wait hears, as in Kafka, that there was no time.
    """
    succeeded = [result.topic for result in results if result.error is ErrorCode.NONE]
    late: Sequence[str] = succeeded
    if succeeded and timeout_ms > 0:
        late = await _wait(desk, still_waiting, succeeded, timeout_ms)
    return tuple(_timed_out(each) if each.topic in late else each for each in results)


async def _wait(
    desk: Desk, still_waiting: StillWaiting, wanted: Sequence[str], timeout_ms: int
) -> Sequence[str]:
    """The topics that have not come to be as they shall be when time is up."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + timeout_ms / 1000

    def look(state: ControllerState) -> Sequence[str]:
        return still_waiting(state) if state.is_active else wanted

    looks = 0
    while late := await desk.look(look):
        left_s = deadline_s - loop.time()
        if left_s <= 0:
            return late
        await asyncio.sleep(min(left_s, LOOK_AGAIN_S[min(looks, len(LOOK_AGAIN_S) - 1)]))
        looks += 1
    return ()


def _timed_out(result: TopicResult) -> TopicResult:
    if result.error is not ErrorCode.NONE:
        return result
    return replace(
        result,
        error=ErrorCode.REQUEST_TIMED_OUT,
        message="it is recorded and under way; there was no time to wait for its end",
    )


def leaderless(partition_counts: Mapping[str, int]) -> StillWaiting:
    """The topics of which not so many partitions have a leader yet."""

    def still_waiting(state: ControllerState) -> Sequence[str]:
        return [
            topic
            for topic, count in partition_counts.items()
            if not all(_is_led(state, topic, index) for index in range(count))
        ]

    return still_waiting


def _is_led(state: ControllerState, topic: str, index: int) -> bool:
    partition = state.partition(topic, index)
    return partition is not None and state.leader_of(partition) != NO_LEADER


def undeleted(topics: Sequence[str]) -> StillWaiting:
    """The topics that clients still see."""

    def still_waiting(state: ControllerState) -> Sequence[str]:
        return [
            topic for topic in topics if topic in state.topics and not state.is_being_deleted(topic)
        ]

    return still_waiting
