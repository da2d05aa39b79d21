"""A broker that would mislead clients in the end is found."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from regent.broker.metadata_cache import MetadataCache
from regent.model.control_requests import UpdateMetadata
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from regent.sim.checkers.metadata_converges import MetadataConverges
from regent.sim.run import Verdict
from tests.support.builders import broker, ids
from tests.unit.sim.checkers.stage import B1, B2, ORDERS, sabotaged


def move_a_broker(cache: MetadataCache) -> None:
    cache.live_brokers[B1] = broker(1, port=1)


def lose_a_broker(cache: MetadataCache) -> None:
    del cache.live_brokers[B2]


def lose_a_partition(cache: MetadataCache) -> None:
    del cache.partitions[ORDERS]


def mistake_the_leader(cache: MetadataCache) -> None:
    cache.partitions[ORDERS] = replace(cache.partitions[ORDERS], leader=BrokerId(3))


def mistake_the_replicas(cache: MetadataCache) -> None:
    cache.partitions[ORDERS] = replace(cache.partitions[ORDERS], replicas=ids(1, 2))


def think_a_replica_offline(cache: MetadataCache) -> None:
    cache.partitions[ORDERS] = replace(cache.partitions[ORDERS], offline_replicas=ids(3))


def lose_the_controller(cache: MetadataCache) -> None:
    live = tuple(cache.live_brokers.values())
    cache.update(UpdateMetadata(BrokerId(-1), ControllerEpoch(1), BrokerEpoch(-1), (), live))


@pytest.mark.parametrize(
    "mistake",
    [
        move_a_broker,
        lose_a_broker,
        lose_a_partition,
        mistake_the_leader,
        mistake_the_replicas,
        think_a_replica_offline,
        lose_the_controller,
    ],
)
def test_stale_metadata_is_found(mistake: Callable[[MetadataCache], None]) -> None:
    """Clients ask any broker, so each of them must be right."""
    outcome = sabotaged(
        lambda world: mistake(world.processes[B2].broker.metadata), MetadataConverges()
    )

    assert (outcome.verdict, outcome.checker) == (Verdict.UNSAFE, "MetadataConverges")
