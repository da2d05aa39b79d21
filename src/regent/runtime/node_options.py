"""What a person says about a node when it is started."""

from pathlib import Path

from msgspec import Struct

from regent.model.ids import BrokerId
from regent.runtime.properties import NodeSettings
from regent.zookeeper.options import ZooKeeperOptions


class NodeOptions(Struct, frozen=True, kw_only=True):
    """The same for every node, whether it is a broker, too, or not."""

    node_id: BrokerId
    zookeeper: ZooKeeperOptions
    #: Host and port; port 0 is any that is free.
    address: tuple[str, int]
    #: Where others reach it, if not at the host it listens on.
    advertised_host: str | None = None
    journal: Path
    #: Host and port for HTTP; None: no such port.
    metrics: tuple[str, int] | None = None
    settings: NodeSettings = NodeSettings()
    #: Whether it takes the role, once and at its start, from whoever has it.
    takes_over: bool = False
