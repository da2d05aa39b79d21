"""One broker's channel as a value: an ordered queue with one request under way (C1, C2).

A request stays at the head until it is answered. When the connection fails it is sent again, the
same request, and nothing behind it overtakes it. A channel is closed with its broker's life;
what it still held is dropped.
"""

from collections import deque
from typing import Final, Generic, TypeVar

from regent.core.events import LeaderAndIsrAnswered, StopReplicaAnswered, UpdateMetadataAnswered
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)
from regent.model.ids import BrokerEpoch, BrokerId, TopicPartition

#: What a driver queues: the request itself, or one that is already encoded.
Queued = TypeVar("Queued")

#: How long to wait before connecting again after a failure.
BACKOFF_MS: Final = 300


class Channel(Generic[Queued]):
    """What waits to be told to one life of one broker."""

    def __init__(self, broker_id: BrokerId, broker_epoch: BrokerEpoch) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.is_open = True
        #: Numbers the requests of this channel, so that an answer finds its request.
        self.head_number = 1
        self._queue: deque[Queued] = deque()
        self._is_under_way = False

    def __len__(self) -> int:
        return len(self._queue)

    def put(self, request: Queued) -> None:
        """Queue a request behind all others."""
        assert self.is_open, "a closed channel takes nothing"
        self._queue.append(request)

    def next_to_send(self) -> Queued | None:
        """The head of the queue, unless it is already under way; it now is."""
        if not self.is_open or self._is_under_way or not self._queue:
            return None
        self._is_under_way = True
        return self._queue[0]

    def answered(self, number: int) -> Queued | None:
        """The head was answered and is done with; an answer to anything else is not for us."""
        if not self.is_open or not self._is_under_way or number != self.head_number:
            return None
        self._is_under_way = False
        self.head_number += 1
        return self._queue.popleft()

    def failed(self) -> None:
        """The connection broke; nobody knows whether the head arrived. It will go again."""
        self._is_under_way = False

    def close(self) -> None:
        """The broker's life is over, or our reign is."""
        self.is_open = False
        self._queue.clear()
        self._is_under_way = False


def answer_event(
    now_ms: int,
    channel: Channel[Queued],
    request: ControlRequest,
    answer: ControlAnswer,
) -> LeaderAndIsrAnswered | UpdateMetadataAnswered | StopReplicaAnswered:
    """What a broker's answer is to the controller."""
    broker = (now_ms, channel.broker_id, channel.broker_epoch, request.controller_epoch, answer)
    match request:
        case LeaderAndIsr():
            return LeaderAndIsrAnswered(*broker)
        case UpdateMetadata():
            return UpdateMetadataAnswered(*broker)
        case StopReplica():
            deleted = tuple(
                TopicPartition(p.topic, p.partition) for p in request.partitions if p.delete
            )
            return StopReplicaAnswered(*broker, deleted)
