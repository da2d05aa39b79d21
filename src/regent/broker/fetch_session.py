"""The leader's memory of what one follower is fetching.

A session is why an idle fetch costs the same for ten partitions as for one: partitions that change
put themselves on the session's list of news, so nothing has to be looked through. One follower has
one session; a full fetch replaces it.
"""

from msgspec import Struct, field

from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition


class SessionPosition(Struct):
    """Where a follower is in one partition, and what it was told last."""

    leader_epoch: LeaderEpoch
    fetch_offset: int
    #: The high watermark, and where the log begins.
    told: tuple[int, int] = (-1, -1)


class FetchSession(Struct, eq=False):
    """One follower's running conversation with this leader."""

    replica_id: BrokerId
    session_id: int
    #: The `session_epoch` that the next incremental fetch must carry.
    next_epoch: int = 1
    positions: dict[TopicPartition, SessionPosition] = field(default_factory=dict)
    #: Partitions to be looked at for the next answer, in the order in which they changed.
    news: dict[TopicPartition, None] = field(default_factory=dict)
    #: Holds for all positions: a partition that a fetch does not list is fetched unchanged.
    last_fetch_ms: int = 0
    #: The fetch that waits for news, if one does, and until when.
    parked_fetch_id: int | None = None
    deadline_ms: int = 0
