"""Which brokers a controller dares to lead, found out before it stands for election.

What a broker's release is, it does not say. What it says is which versions of the control requests
it speaks, and those tell one age of Kafka from the next (`REQUEST_VERSIONS`). Regent has led
brokers of every age since 2.4 (docs/interop.md) and refuses all others.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from msgspec.structs import astuple

from regent.errors import BadInput, ProtocolError
from regent.model.brokers import Broker
from regent.model.protocol_version import REQUEST_VERSIONS, ProtocolVersion, RequestVersions
from regent.runtime.broker_channel import ChannelSettings
from regent.runtime.broker_line import LINE_FAILURES, open_line, reason_of

TRIED_SINCE: Final = ProtocolVersion.from_text("2.4-IV1")
TRIED: Final = frozenset(
    RequestVersions(*versions) for since, *versions in REQUEST_VERSIONS if since >= TRIED_SINCE
)
#: A broker that does not answer may be dead, and must not keep a controller from saying so.
ANSWER_WITHIN_S: Final = 5.0

logger = logging.getLogger(__name__)


async def refuse_untried(brokers: Iterable[Broker], settings: ChannelSettings) -> None:
    """BadInput if one of these cannot be led; those that do not answer are passed over."""
    await asyncio.gather(*(_refuse_untried(broker, settings) for broker in brokers))


async def _refuse_untried(broker: Broker, settings: ChannelSettings) -> None:
    name = f"broker {broker.broker_id}"
    endpoint = settings.endpoint_of(broker)
    if endpoint is None:
        listeners = ", ".join(f"{e.listener}:{e.security_protocol}" for e in broker.endpoints)
        raise BadInput(
            f"{name} listens on {listeners or 'nothing'}, and Regent speaks to brokers over"
            " PLAINTEXT only; give all of them such a listener, and name it in --config as"
            " control.plane.listener.name or inter.broker.listener.name; nothing was changed"
        )
    try:
        async with open_line(endpoint, ANSWER_WITHIN_S) as line:
            spoken = await line.ask_versions(settings.client_id)
    except LINE_FAILURES as error:
        logger.warning(
            "%s at %s:%d does not say what it speaks: %s; going on without",
            *(name, endpoint.host, endpoint.port, reason_of(error, ANSWER_WITHIN_S)),
        )
        return
    except ProtocolError as error:
        raise BadInput(
            f"{name}: {endpoint.host}:{endpoint.port} does not speak Kafka's protocol: {error};"
            " nothing was changed"
        ) from error
    complaint = complain_of(spoken, settings.versions)
    if complaint is not None:
        raise BadInput(f"{name} {complaint}; nothing was changed")


def complain_of(spoken: RequestVersions, wanted: RequestVersions) -> str | None:
    """Why a broker that speaks this cannot be led by a controller that would speak that."""
    if spoken not in TRIED:
        return (
            f"speaks {_in_words(spoken)}, as no Kafka from 2.4 to 3.9 does in ZooKeeper mode;"
            " Regent has not been tried with others. Leave it to a controller of its own release"
        )
    if any(had < needed for had, needed in zip(astuple(spoken), astuple(wanted), strict=True)):
        return (
            f"speaks {_in_words(spoken)}, which is older than the inter.broker.protocol.version of"
            " this controller; say in --config what the brokers have"
        )
    return None


def _in_words(spoken: RequestVersions) -> str:
    names = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
    pairs = zip(names, astuple(spoken), strict=True)
    return ", ".join(f"no {n}" if version < 0 else f"{n} up to {version}" for n, version in pairs)
