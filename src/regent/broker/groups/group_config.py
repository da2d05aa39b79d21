"""How a group coordinator behaves: the settings that change what it decides, Kafka's defaults."""

from typing import Final

from msgspec import Struct

#: The topic that holds what coordinators must not forget.
OFFSETS_TOPIC: Final = "__consumer_offsets"


class GroupConfig(Struct, frozen=True, kw_only=True):
    """Times are in milliseconds."""

    #: Bounds for what members may ask for (`group.min.session.timeout.ms` and its twin).
    session_timeout_min_ms: int = 6_000
    session_timeout_max_ms: int = 1_800_000
    #: How long an empty group waits for more members before its first generation
    #: (`group.initial.rebalance.delay.ms`); 0 begins with the first one alone.
    initial_rebalance_delay_ms: int = 3_000
    #: `group.max.size`.
    group_size_max: int = 2**31 - 1
    #: A first join may wait so long for the others; its caller has no heartbeat yet.
    new_member_join_timeout_ms: int = 300_000
    #: `offset.metadata.max.bytes`; Kafka counts characters, whatever the name says.
    offset_metadata_max: int = 4_096
    #: How long offsets outlive their group, or their last commit (`offsets.retention.minutes`).
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1_000
    #: `offsets.retention.check.interval.ms`.
    expiry_check_ms: int = 600_000
