"""Produce, versions 3 to 8: what a controller says to it, which is that it leads nothing.

Nobody needs the answer, but clients of Java before 2.8 break when a node that they are connected to
does not know the API: they look at all nodes to choose a format for their records.
"""

from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.record_requests import Acks, AppendResult, Produce, ProduceAnswer
from regent.runtime.desk import Desk
from regent.wire.exchange import Call


async def answer(call: Call, _desk: Desk) -> ProduceAnswer:
    """Records are for brokers; whoever wants no answer is hung up on."""
    request: Produce = call.request
    if request.acks == Acks.NONE:
        raise ProtocolError("records are for brokers, and this is none")
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ProduceAnswer(tuple(AppendResult(each.name, error) for each in request.partitions))
