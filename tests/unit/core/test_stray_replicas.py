"""Topics that brokers placed in part on a controller that is none of them."""

import pytest

from regent.core.asks import CreateLeaderships, TopicRead, TopicWrite, WriteTopics
from regent.core.config import ControllerConfig
from regent.core.events import TopicsChanged
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.ids import BrokerId
from tests.support.builders import broker_epoch, ids
from tests.support.scene import CONTROLLER, Scene

CHANGED = TopicsChanged(0)


@pytest.fixture
def listed(scene: Scene) -> Scene:
    """A controller that brokers see among the live ones."""
    scene.state.config = ControllerConfig(own_endpoint=Endpoint("controller", 1))
    return scene


def replicas(scene: Scene) -> list[tuple[int, ...]]:
    """In the order of partitions: as it is known, after a look that it is also written."""
    topic = scene.memory.topics["t"]
    assert isinstance(topic, TopicRead)
    written = topic.partitions
    assert written == scene.state.assignments_of("t")
    return [written[index].replicas for index in sorted(written)]


def test_the_controllers_part_goes_to_brokers_in_turn(listed: Scene) -> None:
    """Before anybody leads, and so before anybody is told."""
    listed.live(1, 2, 3)
    listed.memory.create_topic("t", (CONTROLLER,), (CONTROLLER, 1), (2, CONTROLLER), (3, 1))

    run = listed.handle(CHANGED)

    assert replicas(listed) == [(1,), (3, 1), (2, 1), (3, 1)]
    write = next(each for each in run.asks if isinstance(each, WriteTopics))
    assert write.writes == (
        TopicWrite(
            "t", "id-of-t", {i: Assignment(ids(*r)) for i, r in enumerate(((1,), (3, 1), (2, 1)))}
        ),
    )
    kinds = [type(step) for step in run.steps]
    assert kinds.index(WriteTopics) < kinds.index(CreateLeaderships)


def test_a_rack_without_a_replica_is_preferred(listed: Scene) -> None:
    for broker_id, rack in ((1, "a"), (2, "a"), (3, "b")):
        broker = Broker(BrokerId(broker_id), rack=rack)
        registered = RegisteredBroker(broker, broker_epoch(broker_id))
        listed.memory.brokers[broker.broker_id] = registered
        listed.state.add_broker(registered)
    listed.memory.create_topic("t", (1, CONTROLLER))

    listed.handle(CHANGED)

    assert replicas(listed) == [(1, 3)]


def test_what_every_broker_has_already_stays_as_it_is(listed: Scene) -> None:
    """One replica too few for all is to be seen; it is not for us to want fewer."""
    listed.live(1, 2)
    listed.memory.create_topic("t", (1, 2, CONTROLLER))

    listed.handle(CHANGED)

    assert replicas(listed) == [(1, 2, CONTROLLER)]


def test_a_controller_that_is_a_broker_keeps_its_replicas(listed: Scene) -> None:
    listed.live(1, CONTROLLER)
    listed.memory.create_topic("t", (CONTROLLER,))

    listed.handle(CHANGED)

    assert replicas(listed) == [(CONTROLLER,)]


def test_nothing_is_changed_for_one_that_is_not_listed(scene: Scene) -> None:
    """Then nobody has placed anything there by mistake: a dead broker has that id."""
    scene.live(1)
    scene.memory.create_topic("t", (CONTROLLER,))

    scene.handle(CHANGED)

    assert replicas(scene) == [(CONTROLLER,)]
