"""How much one message from outside may ask us to hold.

A length is checked before anything is set aside for it, so that four bytes of garbage cannot
claim gigabytes.
"""

from typing import Final

from msgspec import Struct


class WireLimits(Struct, frozen=True):
    """Bounds of one frame and of what is in it."""

    #: Kafka's default of `socket.request.max.bytes`.
    frame_bytes: int = 104_857_600
    #: Of one list; all lists of a frame together are bounded by the frame, item by item.
    list_items: int = 1_000_000
    #: Kafka's own bound, in every version of every message.
    string_bytes: int = 32_767


DEFAULT_LIMITS: Final = WireLimits()
