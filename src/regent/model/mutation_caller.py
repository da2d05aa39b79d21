"""Who asks for topics, as far as quotas tell callers apart (KIP-599)."""

from typing import Final

from msgspec import Struct

#: Kafka's name for whoever has not said who he is. Nobody can say so here yet.
ANONYMOUS: Final = "ANONYMOUS"


class MutationCaller(Struct, frozen=True):
    """Whoever wants partitions made or deleted."""

    client_id: str = ""
    user: str = ANONYMOUS
    #: Whether the version of the request has a word for "too much". Whoever does not know it is
    #: never refused, and pays by waiting.
    knows_refusals: bool = True
