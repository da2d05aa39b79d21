"""How a broker gets ids for producers: a block of them at a time."""

from msgspec import Struct

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerEpoch, BrokerId


class AllocateProducerIds(Struct, frozen=True):
    """A broker wants a block of ids that nobody has had."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch


class AllocateProducerIdsAnswer(Struct, frozen=True):
    """The first of the ids, and how many there are from it on."""

    error: ErrorCode = ErrorCode.NONE
    first_id: int = 0
    count: int = 0
