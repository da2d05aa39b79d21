"""How a partition's log is kept. Names and defaults are Kafka's topic settings, units added."""

from typing import Final

from msgspec import Struct

NEVER_FLUSH: Final = 2**63 - 1
UNLIMITED: Final = -1
#: Positions in an index have 31 bits.
SEGMENT_BYTES_MAX: Final = 2**31 - 1


class LogConfig(Struct, frozen=True, kw_only=True):
    """Settings of one log; they may be exchanged while it is open."""

    #: `segment.bytes`: a segment that would grow beyond it is closed before.
    segment_bytes: int = 1024 * 1024 * 1024
    #: `segment.ms`: nor does a segment span more time than this.
    segment_ms: int = 7 * 24 * 3600 * 1000
    #: `index.interval.bytes`: one index entry for so many bytes.
    index_interval_bytes: int = 4096
    #: `max.message.bytes`: the largest batch that a producer may send.
    batch_bytes_max: int = 1024 * 1024 + 12
    #: `retention.ms` and `retention.bytes`; -1 keeps everything.
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = UNLIMITED
    #: `flush.messages` and `flush.ms`: sync after so many records or so much time. 1 is always.
    flush_messages: int = NEVER_FLUSH
    flush_ms: int = NEVER_FLUSH
    #: `producer.id.expiration.ms`: a producer that was silent for so long is forgotten.
    producer_expiration_ms: int = 24 * 3600 * 1000

    def __post_init__(self) -> None:
        assert 0 < self.segment_bytes <= SEGMENT_BYTES_MAX, "indexes have 31 bits for positions"
