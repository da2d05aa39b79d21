"""The way from a broker to whoever is the controller: this very process, or another one."""

import asyncio
from typing import Any, Final

from msgspec import Struct

from regent.broker.metadata_cache import MetadataCache
from regent.errors import RegentError
from regent.model.ids import BrokerId
from regent.node.peer_link import PeerLink, endpoint_of
from regent.runtime.api_table import ANSWERING
from regent.runtime.desk import Desk
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import API_OF_REQUEST, to_call

#: In which version a request goes where its version is not part of it.
_NO_CORRELATION: Final = 0


class ControllerLine:
    """Asks the controller; None is no answer."""

    def __init__(self, node_id: BrokerId, metadata: MetadataCache, desk: Desk) -> None:
        self._node_id = node_id
        self._client_id = str(node_id)
        self._metadata = metadata
        self._desk = desk
        #: By controller, and whether it is asked for topics: it may mute who asks for too many.
        self._links: dict[tuple[BrokerId, bool], PeerLink] = {}

    async def ask(
        self, request: Struct, *, timeout_s: float, api_version: int | None = None
    ) -> Any | None:
        """Ask whoever is known as the controller, in the newest version or in this one."""
        controller_id = self._metadata.controller_id
        if controller_id is None:
            return None
        api_key = API_OF_REQUEST[type(request)]
        version = APIS[api_key].last_version if api_version is None else api_version
        if controller_id == self._node_id:
            call = to_call(
                request,
                api_version=version,
                correlation_id=_NO_CORRELATION,
                client_id=self._client_id,
                timeout_ms=int(timeout_s * 1000),
            )
            try:
                # Without a session it does not even refuse.
                async with asyncio.timeout(timeout_s):
                    return await ANSWERING[api_key](call, self._desk)
            except (RegentError, TimeoutError):
                return None
        endpoint = endpoint_of(self._metadata.live_brokers[controller_id])
        if endpoint is None:
            return None
        key = controller_id, api_key is ApiKey.CREATE_TOPICS
        link = self._links.get(key)
        if link is None:
            link = self._links[key] = PeerLink(controller_id, self._client_id)
        return await link.ask(endpoint, request, api_version=version, timeout_s=timeout_s)

    def close(self) -> None:
        """Hang up."""
        for link in self._links.values():
            link.close()
