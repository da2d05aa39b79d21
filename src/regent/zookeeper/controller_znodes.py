"""Where Regent's controllers listen: `/regent/controllers/<id>`, which Kafka does not know.

A controller that is no broker is not in `/brokers/ids`. Those that stand by read here where the
one in office can be reached.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from regent.core.asks import Malformed
from regent.errors import BadInput, ControllerIdTaken, CorruptZnode
from regent.model.brokers import Endpoint
from regent.model.cluster_requests import NodeAddress
from regent.model.ids import BrokerId
from regent.zookeeper import paths
from regent.zookeeper.decoding import AnyVersionNumber, read_json
from regent.zookeeper.ephemerals import hold_ephemeral
from regent.zookeeper.exchange import Exchange, read, read_many, read_one, unexpected
from regent.zookeeper.store import (
    Children,
    Create,
    Data,
    Done,
    Exists,
    Failed,
    GetChildren,
    SetData,
    ZkError,
)

CONTROLLERS: Final = "/regent/controllers"
_PARENTS: Final = ("/regent", CONTROLLERS)


class _AddressRecord(Struct):
    version: AnyVersionNumber
    host: Annotated[str, Meta(min_length=1)]
    port: Annotated[int, Meta(ge=1, le=65535)]


_ADDRESS_DECODER = msgspec.json.Decoder(_AddressRecord)


def controller_path(node_id: BrokerId) -> str:
    """Where one controller says where it listens, ephemeral."""
    return f"{CONTROLLERS}/{node_id}"


def encode_controller_address(endpoint: Endpoint) -> bytes:
    """Version 1."""
    return msgspec.json.encode(_AddressRecord(1, endpoint.host, endpoint.port))


def decode_controller_address(node_id: BrokerId, raw: bytes | None) -> NodeAddress:
    """Where a controller listens."""
    record = read_json(_ADDRESS_DECODER, controller_path(node_id), raw)
    return NodeAddress(node_id, record.host, record.port)


def register_controller(
    node_id: BrokerId, own: Endpoint, *, session_id: int, previous_session_id: int | None
) -> Exchange[None]:
    """Say where this node listens, for as long as its session lives.

    Not under the id of a broker: that one would take itself for the controller.
    """
    if isinstance((yield from read_one(Exists(paths.broker(node_id)))), Done):
        raise BadInput(
            f"broker {node_id} is registered in this cluster, and a controller that is no broker"
            " needs an id of its own; choose another with --id"
        )
    for reply in (yield from read([Create(path) for path in _PARENTS])):
        exists = isinstance(reply, Failed) and reply.error is ZkError.NODE_EXISTS
        if not exists and not isinstance(reply, Done):
            raise unexpected(reply)
    path = controller_path(node_id)

    def taken(found: Data) -> ControllerIdTaken:
        other = _to_address(node_id, found)
        where = f"{other.host}:{other.port}" if isinstance(other, NodeAddress) else "?"
        return ControllerIdTaken(node_id, where, found.stat.ephemeral_owner)

    yield from hold_ephemeral(
        path,
        (Create(path, ephemeral=True), SetData(path, encode_controller_address(own), version=0)),
        session_id=session_id,
        previous_session_id=previous_session_id,
        taken=taken,
    )


def read_controllers() -> Exchange[dict[BrokerId, NodeAddress | Malformed]]:
    """All that are there now, without a watch."""
    names = yield from unwatched_children(CONTROLLERS)
    node_ids = sorted(BrokerId(int(name)) for name in names if name.isdecimal())
    found = yield from read_many([controller_path(node_id) for node_id in node_ids])
    return {
        node_id: _to_address(node_id, znode)
        for node_id, znode in zip(node_ids, found, strict=True)
        if znode is not None
    }


def _to_address(node_id: BrokerId, znode: Data) -> NodeAddress | Malformed:
    try:
        return decode_controller_address(node_id, znode.data)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)


def unwatched_children(path: str) -> Exchange[tuple[str, ...]]:
    """The names below a path, for those who only want to know how it is now."""
    reply = yield from read_one(GetChildren(path))
    if isinstance(reply, Children):
        return reply.names
    if isinstance(reply, Failed) and reply.error is ZkError.NO_NODE:
        return ()
    raise unexpected(reply)
