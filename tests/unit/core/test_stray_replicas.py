"""Topics that brokers placed in part on a controller that is none of them."""

import pytest

from regent.core.asks import CreateLeaderships, Malformed, TopicRead, TopicWrite, WriteTopics
from regent.core.config import ControllerConfig
from regent.core.events import TopicsChanged
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint, RegisteredBroker
from regent.model.facts import TopicLoaded
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from tests.support.builders import broker_epoch, ids, leadership, name
from tests.support.scene import CONTROLLER, Scene

CHANGED = TopicsChanged(0)
LISTED = ControllerConfig(own_endpoint=Endpoint("controller", 1))


@pytest.fixture
def listed(scene: Scene) -> Scene:
    """A controller that brokers see among the live ones."""
    scene.state.config = LISTED
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


def test_a_topic_made_while_nobody_was_in_office_is_put_right_at_the_election(
    node: Scene,
) -> None:
    """Before it is recorded, so that the journal never names the controller as a replica."""
    node.state.config = LISTED
    node.memory.register(1, 2)
    node.memory.create_topic("t", (CONTROLLER, 1))

    run = node.elect()

    assert replicas(node) == [(2, 1)]
    (loaded,) = (fact for fact in run.facts if isinstance(fact, TopicLoaded))
    assert [each.replicas for each in loaded.partitions] == [(2, 1)]


@pytest.mark.parametrize("state", [leadership(1, (1,)), Malformed("/state", "no JSON")])
def test_what_somebody_leads_or_may_lead_is_left_alone(
    node: Scene, state: Leadership | Malformed
) -> None:
    """Brokers know of it: it moves by reassignment, or stays."""
    node.state.config = LISTED
    node.memory.register(1, 2)
    node.memory.create_topic("t", (CONTROLLER, 1))
    node.memory.leaderships[name("t", 0)] = state

    node.elect()

    assert replicas(node) == [(CONTROLLER, 1)]
