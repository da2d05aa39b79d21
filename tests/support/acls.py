"""Znodes that only somebody with other credentials may touch, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, make_digest_acl

from regent.zookeeper.options import ZooKeeperOptions


@contextmanager
def closed(
    options: ZooKeeperOptions, path: str, digest: str, *, is_readable: bool = False
) -> Iterator[None]:
    """Only whoever has this digest may write or read the znode; afterwards everybody may again.

    A readable one is as Kafka leaves it with `zookeeper.set.acl`.
    """
    user, _, password = digest.partition(":")
    owner = KazooClient(options.connect, auth_data=[("digest", digest)])
    owner.start()
    try:
        own = make_digest_acl(user, password, all=True)
        owner.set_acls(path, [own, *(READ_ACL_UNSAFE if is_readable else ())])
        yield
        owner.set_acls(path, OPEN_ACL_UNSAFE)
    finally:
        owner.stop()
        owner.close()
