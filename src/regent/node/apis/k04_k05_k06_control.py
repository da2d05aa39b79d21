"""LeaderAndIsr, StopReplica and UpdateMetadata: what the controller tells a broker."""

from regent.model.control_requests import ControlAnswer, LeaderAndIsr
from regent.node.services import Services
from regent.wire.exchange import Call


async def answer(call: Call, services: Services) -> ControlAnswer:
    """Carried out when it is answered; how topics want to be kept is read first."""
    request = call.request
    if isinstance(request, LeaderAndIsr):
        await services.configs.learn(each.topic for each in request.partitions)
    return services.host.control(request)
