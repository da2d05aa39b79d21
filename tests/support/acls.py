"""Znodes that only somebody with other credentials may touch, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from regent.zookeeper.options import ZooKeeperOptions


@contextmanager
def closed(options: ZooKeeperOptions, path: str, digest: str) -> Iterator[None]:
    """Only whoever has this digest may read or write the znode; afterwards everybody may again."""
    user, _, password = digest.partition(":")
    owner = KazooClient(options.connect, auth_data=[("digest", digest)])
    owner.start()
    try:
        owner.set_acls(path, [make_digest_acl(user, password, all=True)])
        yield
        owner.set_acls(path, OPEN_ACL_UNSAFE)
    finally:
        owner.stop()
        owner.close()
