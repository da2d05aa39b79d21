"""How producers get ids: a broker takes a block of them, and gives its producers one each."""

from typing import Final

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1


class AllocateProducerIds(Struct, frozen=True):
    """A broker wants a block of ids that nobody has had."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class AllocateProducerIdsAnswer(Struct, frozen=True):
    """The first of the ids, and how many there are from it on."""

    error: ErrorCode = ErrorCode.NONE
    first_id: int = 0
    count: int = 0


class InitProducerId(Struct, frozen=True):
    """A producer wants an id, so that brokers know its records again."""

    transactional_id: str | None = None
    transaction_timeout_ms: int = 2**31 - 1


class InitProducerIdAnswer(Struct, frozen=True):
    """The id, and which life of it this is."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
