"""What a caller of the controller hears and feels of its mutation quota (KIP-599, KIP-219)."""

import asyncio
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from regent.model.mutation_caller import MutationCaller
from regent.runtime.caller_connection import Frame, MutingFrame
from regent.wire.apis import ApiKey
from regent.wire.exchange import Call

#: The versions since which callers know THROTTLING_QUOTA_EXCEEDED. Older ones are never refused.
REFUSED_SINCE: Final[Mapping[ApiKey, int]] = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}


def caller_of(call: Call) -> MutationCaller:
    """Who asks. Without a client id it goes, as in Kafka, by an empty one."""
    header = call.header
    return MutationCaller(
        header.client_id or "",
        knows_refusals=header.api_version >= REFUSED_SINCE[header.api.key],
    )


def now_s() -> float:
    """From when a wait counts."""
    return asyncio.get_running_loop().time()


def still_to_wait_ms(throttle_ms: int, since_s: float) -> int:
    """What is left of a wait: the answer may have taken long, and that counts."""
    return max(0, throttle_ms - int((now_s() - since_s) * 1000))


def muting(frame: Frame, answer: Struct) -> Frame | MutingFrame:
    """The frame of an answer; if that tells the caller to wait, nothing of it is read meanwhile."""
    throttle_ms: int = getattr(answer, "throttle_ms", 0)
    return MutingFrame(frame, throttle_ms) if throttle_ms else frame
