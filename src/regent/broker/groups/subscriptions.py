"""The one thing a coordinator reads in what members say: the topics that consumers subscribe to."""

from collections.abc import Iterable
from typing import Final

from regent.broker.groups.record_bytes import RecordBytesReader
from regent.errors import ProtocolError

#: The protocol type of consumers; others put what they like into their metadata.
CONSUMER_PROTOCOL: Final = "consumer"


def subscribed_topics(metadata: Iterable[bytes]) -> dict[str, None] | None:
    """The topics of all members, None if one of them cannot be read.

    Every version of the consumer's subscription begins with its version and the topics.
    """
    topics: dict[str, None] = {}
    try:
        for content in metadata:
            reader = RecordBytesReader(content)
            reader.int16()
            for _ in range(reader.count()):
                topics[reader.string()] = None
    except ProtocolError:
        return None
    return topics
