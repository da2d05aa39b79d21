"""A chroot of its own in a real ZooKeeper for each test that asks for one."""

import pytest

from regent.zookeeper.options import ZooKeeperOptions
from tests.support.real_zookeeper import fresh_options


@pytest.fixture
def zookeeper_options() -> ZooKeeperOptions:
    return fresh_options()
