"""What a controller shows of itself."""

import pytest

from regent.core.event_queue import EventQueue
from regent.core.events import BrokersChanged
from regent.core.gauges import (
    NODE_GAUGES,
    QUEUE_GAUGES,
    STATE_GAUGES,
    Gauge,
    register,
    unregister,
)
from regent.model.states import PartitionState
from tests.support.builders import leadership
from tests.support.scene import Scene


def readings(registry: dict[str, Gauge]) -> dict[str, int]:
    """What all gauges show now."""
    return {name: gauge() for name, gauge in registry.items()}


def test_the_gauges_show_what_is_known(scene: Scene) -> None:
    """A partition that nobody ever led is not counted as one, as in Kafka."""
    registry: dict[str, Gauge] = {}
    queue = EventQueue()
    register(registry, scene.state, queue)
    scene.live(1, 2)
    scene.partition("t", 0, (1, 2), leadership=leadership(2, (2,)))
    scene.partition("t", 1, (3,), leadership=leadership(-1, (3,)), state=PartitionState.OFFLINE)
    scene.partition("t", 2, (3,), state=PartitionState.NEW)
    queue.put(BrokersChanged(0))

    assert readings(registry) == {
        "ActiveControllerCount": 1,
        "ActiveBrokerCount": 2,
        "OfflinePartitionsCount": 1,
        "PreferredReplicaImbalanceCount": 2,
        "GlobalTopicCount": 1,
        "GlobalPartitionCount": 2,
        "TopicsToDeleteCount": 0,
        "TopicsIneligibleToDeleteCount": 0,
        "UncleanLeaderElectionsCount": 0,
        "CurrentControllerId": 100,
        "EventQueueSize": 1,
        "EventQueueTimeMsCount": 0,
        "EventQueueTimeMsMin": 0,
        "EventQueueTimeMsMax": 0,
    }


@pytest.mark.fault("F94")
def test_off_the_controller_every_gauge_of_the_cluster_is_zero(node: Scene) -> None:
    """Summed over all nodes the cluster is counted once."""
    registry: dict[str, Gauge] = {}
    register(registry, node.state, EventQueue())

    node.state.unclean_election_count = 5

    shown = readings(registry)
    assert shown.pop("CurrentControllerId") == -1
    assert set(shown.values()) == {0}


@pytest.mark.behaviour("evt-004", "evt-009")
def test_closing_takes_out_each_of_its_gauges_once_and_no_other(node: Scene) -> None:
    """A gauge that stays keeps the whole state alive; one of another module is not ours."""
    registry: dict[str, Gauge] = {"SomebodyElses": lambda: 7}
    register(registry, node.state, EventQueue())
    registered = set(registry)

    unregister(registry)

    assert registered == {"SomebodyElses", *STATE_GAUGES, *NODE_GAUGES, *QUEUE_GAUGES}
    assert readings(registry) == {"SomebodyElses": 7}
    with pytest.raises(KeyError):
        unregister(registry)


def test_a_name_that_is_taken_is_a_mistake(node: Scene) -> None:
    """Two nodes in one registry would show one of them."""
    registry: dict[str, Gauge] = {}
    register(registry, node.state, EventQueue())

    with pytest.raises(AssertionError, match="already"):
        register(registry, node.state, EventQueue())
