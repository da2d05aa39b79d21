"""What a cluster is called: `/cluster/id`, which its first broker makes up."""

import msgspec
from msgspec import Struct

from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, data_or_none, read_one
from regent.zookeeper.store import GetData


class _ClusterId(Struct):
    """The content, version 1."""

    id: str


def read_cluster_id() -> Exchange[str | None]:
    """The id; None where there is none, or none that can be read: nothing depends on it."""
    found = data_or_none((yield from read_one(GetData(paths.CLUSTER_ID))))
    if found is None or found.data is None:
        return None
    try:
        return msgspec.json.decode(found.data, type=_ClusterId).id
    except msgspec.MsgspecError:
        return None
