"""A chroot of its own in a real ZooKeeper for each test that asks for one, and what lives there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.zookeeper.options import ZooKeeperOptions
from tests.support.controllers import Controllers
from tests.support.leading import Leading
from tests.support.obedient_broker import ObedientBrokers
from tests.support.real_zookeeper import fresh_options


@pytest.fixture
def zookeeper_options() -> ZooKeeperOptions:
    return fresh_options()


@pytest.fixture
def controllers(zookeeper_options: ZooKeeperOptions, tmp_path: Path) -> Iterator[Controllers]:
    """Processes to come, and nobody else."""
    with Controllers(zookeeper_options, tmp_path) as made:
        yield made


@pytest.fixture
def leading(zookeeper_options: ZooKeeperOptions, tmp_path: Path) -> Iterator[Leading]:
    """Controller 100 leads brokers 1, 2 and 3."""
    with (
        ObedientBrokers(zookeeper_options, range(1, 4)) as brokers,
        Controllers(zookeeper_options, tmp_path) as controllers,
    ):
        yield Leading(controllers, brokers)
