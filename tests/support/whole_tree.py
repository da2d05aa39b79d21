"""All that a ZooKeeper has below a chroot, to see that nothing was touched."""

from contextlib import closing

from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Children, Data, GetChildren, GetData, Stat


def whole_tree(options: ZooKeeperOptions) -> dict[str, tuple[bytes | None, Stat]]:
    """By path: the data, and with it every version that tells of a write."""
    found: dict[str, tuple[bytes | None, Stat]] = {}
    with closing(KazooSession.open(options)) as session:
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            content, children = session.call((GetData(path), GetChildren(path)))
            assert isinstance(content, Data), content
            assert isinstance(children, Children), children
            found[path] = (content.data, content.stat)
            waiting += [f"{path.rstrip('/')}/{name}" for name in children.names]
    return found
