"""What a cluster is called: `/cluster/id`, which whoever comes first makes up."""

from typing import Final

import msgspec
from msgspec import Struct

from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, data_or_none, read, read_one
from regent.zookeeper.store import Create, GetData

#: As Kafka writes it.
_FORMAT: Final = "1"


class _ClusterId(Struct):
    """The content, version 1."""

    version: str
    id: str


class _AnyClusterId(Struct):
    """What must be there of it."""

    id: str


def read_cluster_id() -> Exchange[str | None]:
    """The id; None where there is none, or none that can be read: nothing depends on it."""
    found = data_or_none((yield from read_one(GetData(paths.CLUSTER_ID))))
    if found is None or found.data is None:
        return None
    try:
        return msgspec.json.decode(found.data, type=_AnyClusterId).id
    except msgspec.MsgspecError:
        return None


def take_cluster_id(fresh: str) -> Exchange[str | None]:
    """The id, and where there is none, this one from now on: a cluster is named once."""
    content = msgspec.json.encode(_ClusterId(_FORMAT, fresh))
    # Whoever is refused here, or comes second, reads what is there.
    yield from read((Create(paths.parent(paths.CLUSTER_ID)), Create(paths.CLUSTER_ID, content)))
    return (yield from read_cluster_id())
