"""CreateTopics (K2): what is written, and every way to be refused."""

import msgspec
import pytest

from regent.core.asks import CreateTopicZnodes, DrawNumbers, MintTopicIds, TopicRead
from regent.core.config import ControllerConfig
from regent.core.events import TopicCreationRequested, TopicsChanged
from regent.model.admin_requests import CreateTopics, CreateTopicsAnswer, NewTopic, TopicResult
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused
from regent.model.states import PartitionState
from tests.support.builders import assignment, ids, registered
from tests.support.drive import Run
from tests.support.scene import Scene

pytestmark = pytest.mark.requirement("K1", "K2")


@pytest.fixture
def cluster(scene: Scene) -> Scene:
    """Brokers 1, 2 and 3 and a topic `old_topic` on them."""
    scene.live(1, 2, 3)
    scene.partition("old_topic", 0, (1, 2))
    return scene


def create(scene: Scene, *topics: NewTopic, validate_only: bool = False) -> Run[None]:
    """Ask for these topics."""
    return scene.handle(TopicCreationRequested(0, 7, CreateTopics(topics, validate_only)))


def results(run: Run[None]) -> tuple[TopicResult, ...]:
    return run.answer(CreateTopicsAnswer).results


def by_hand(*assignments: tuple[int, tuple[int, ...]], name: str = "t") -> NewTopic:
    return NewTopic(name, assignments=tuple((i, ids(*each)) for i, each in assignments))


# --- what is written ------------------------------------------------------------------------------


def test_a_topic_is_placed_from_a_drawn_start_and_written_with_its_id(cluster: Scene) -> None:
    """Start 1, shift 0 over brokers 1, 2, 3; the caller hears what came of it."""
    cluster.memory.drawn = (1, 0)

    run = create(cluster, NewTopic("t", 2, 2, configs=(("retention.ms", "60000"),)))

    assert results(run) == (TopicResult("t", topic_id="minted-1", partition_count=2,
                                        replication_factor=2),)  # fmt: skip
    assert cluster.memory.topics["t"] == TopicRead(
        "minted-1", {0: assignment(2, 3), 1: assignment(3, 1)}
    )
    assert cluster.memory.configs["t"] == {"retention.ms": "60000"}
    assert [ask for ask in run.asks if isinstance(ask, DrawNumbers)] == [DrawNumbers(3, 2)]


def test_it_is_served_when_the_watch_tells_and_not_before(cluster: Scene) -> None:
    """One made here and one made by a tool go the same way, once."""
    run = create(cluster, NewTopic("t", 1, 1))
    before = "t" in cluster.state.topics

    served = cluster.handle(TopicsChanged(0))

    assert (before, run.sends) == (False, [])
    assert cluster.state.topics["t"].partitions[0].state is PartitionState.ONLINE
    assert served.sends


def test_each_topic_has_a_start_of_its_own(cluster: Scene) -> None:
    """Those assigned by hand need none."""
    cluster.memory.drawn = (0, 0, 2, 1)

    run = create(cluster, NewTopic("a", 1, 2), by_hand((0, (3, 1)), name="b"), NewTopic("c", 1, 2))

    assert [result.error for result in results(run)] == [ErrorCode.NONE] * 3
    stored = {name: cluster.memory.topics[name] for name in ("a", "b", "c")}
    assert stored == {
        "a": TopicRead("minted-1", {0: assignment(1, 2)}),
        "b": TopicRead("minted-2", {0: assignment(3, 1)}),
        "c": TopicRead("minted-3", {0: assignment(3, 2)}),
    }


def test_replicas_are_spread_over_racks(scene: Scene) -> None:
    """As the brokers registered them."""
    for broker_id, rack in ((1, "a"), (2, "a"), (3, "b")):
        scene.state.add_broker(registered(broker_id, rack=rack))

    create(scene, NewTopic("t", 3, 2))

    read = scene.memory.topics["t"]
    assert isinstance(read, TopicRead)
    assert read.partitions == {0: assignment(1, 3), 1: assignment(3, 2), 2: assignment(2, 3)}


def test_an_assignment_by_hand_is_taken_as_it_is(cluster: Scene) -> None:
    """In the order of preference given; the counts follow from it."""
    run = create(cluster, by_hand((1, (1, 2)), (0, (3, 1))))

    assert results(run) == (TopicResult("t", topic_id="minted-1", partition_count=2,
                                        replication_factor=2),)  # fmt: skip
    assert cluster.memory.topics["t"] == TopicRead(
        "minted-1", {0: assignment(3, 1), 1: assignment(1, 2)}
    )
    assert not [ask for ask in run.asks if isinstance(ask, DrawNumbers)]


def test_counts_that_are_not_given_are_the_defaults(cluster: Scene) -> None:
    """Of the controller that creates the topic."""
    config = ControllerConfig(partition_count_default=4, replication_factor_default=3)
    cluster.state.config = config

    run = create(cluster, NewTopic("t"))

    (result,) = results(run)
    assert (result.partition_count, result.replication_factor) == (4, 3)


def test_before_2_8_topics_have_no_id(cluster: Scene) -> None:
    """Older brokers could not make anything of it."""
    cluster.configure(protocol="2.7")

    run = create(cluster, NewTopic("t", 1, 1))

    assert results(run) == (TopicResult("t", partition_count=1, replication_factor=1),)
    assert cluster.memory.topics["t"] == TopicRead(None, {0: assignment(1)})
    assert not [ask for ask in run.asks if isinstance(ask, MintTopicIds)]


def test_validating_writes_nothing(cluster: Scene) -> None:
    """All is checked, nothing drawn, minted or written."""
    run = create(cluster, NewTopic("t", 2, 2), NewTopic("old_topic", 1, 1), validate_only=True)

    assert results(run) == (
        TopicResult("t", partition_count=2, replication_factor=2),
        TopicResult("old_topic", ErrorCode.TOPIC_ALREADY_EXISTS, "old_topic already exists"),
    )
    assert run.asked == ["ListTopics", "ListTopicDeletions"]


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "error", "message"),
    [
        pytest.param(NewTopic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION,
                     "a topic's name cannot be empty", id="name"),
        pytest.param(NewTopic("t", 0, 1), ErrorCode.INVALID_PARTITIONS,
                     "0 is no partition count", id="no partitions"),
        pytest.param(NewTopic("t", 2**31 - 1, 1), ErrorCode.INVALID_PARTITIONS,
                     "the znode of a topic has room for 131072 partitions, not for 2147483647",
                     id="more than a znode holds"),
        pytest.param(NewTopic("t", -2, 1), ErrorCode.INVALID_PARTITIONS,
                     "-2 is no partition count", id="fewer than none"),
        pytest.param(NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR,
                     "0 is no replication factor", id="no replicas"),
        pytest.param(NewTopic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR,
                     "the replication factor is 4, and there are 3 live brokers",
                     id="more replicas than brokers"),
        pytest.param(NewTopic("t", 1, -1, ((0, ids(1)),)), ErrorCode.INVALID_REQUEST,
                     "give either the counts or the assignment of replicas, not both",
                     id="count and assignment"),
        pytest.param(NewTopic("t", -1, 1, ((0, ids(1)),)), ErrorCode.INVALID_REQUEST,
                     "give either the counts or the assignment of replicas, not both",
                     id="factor and assignment"),
        pytest.param(by_hand((0, ())), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 0 has no replicas", id="assigned to nobody"),
        pytest.param(by_hand((0, (1, 9))), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 0 is assigned to [9], which are not live brokers",
                     id="assigned to a stranger"),
        pytest.param(by_hand((0, (1, 1))), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "partition 0 has a broker twice: [1, 1]", id="assigned twice"),
        pytest.param(by_hand((0, (1, 2)), (1, (1,))), ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                     "[1] has 1 replicas where the topic has 2", id="unequal factors"),
        pytest.param(NewTopic("t", 1, 1, configs=(("retention.ms", None),)),
                     ErrorCode.INVALID_CONFIG, "these configs have no value: retention.ms",
                     id="null config"),
        pytest.param(NewTopic("t", 1, 1, configs=(("colour", "red"),)),
                     ErrorCode.INVALID_CONFIG, "there is no topic config 'colour'",
                     id="unknown config"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("validate_only", [False, True])
def test_a_topic_that_cannot_be(
    cluster: Scene, topic: NewTopic, error: ErrorCode, message: str, *, validate_only: bool
) -> None:
    """It is refused with Kafka's code, journalled, and the one beside it is created."""
    before = dict(cluster.memory.topics)

    run = create(cluster, topic, NewTopic("fine", 1, 1), validate_only=validate_only)

    refused, fine = results(run)
    assert refused == TopicResult(topic.name, error, message)
    assert fine.error is ErrorCode.NONE
    assert run.facts == [CallRefused("CreateTopics", error, topic=topic.name, reason=message)]
    added = [name for name in cluster.memory.topics if name not in before]
    assert added == ([] if validate_only else ["fine"])


@pytest.mark.behaviour("int-038")
@pytest.mark.parametrize("numbers", [(1,), (0, 2)])
def test_partitions_by_hand_start_at_0_and_have_no_hole(
    cluster: Scene, numbers: tuple[int, ...]
) -> None:
    """A partition that is not there could never be added."""
    run = create(cluster, by_hand(*((number, (1,)) for number in numbers)))

    message = f"partitions are numbered from 0 without a gap, these are {list(numbers)}"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_REPLICA_ASSIGNMENT, message),)
    assert "t" not in cluster.memory.topics


@pytest.mark.behaviour("unc-005")
def test_a_word_that_is_no_boolean_cannot_allow_unclean_elections(cluster: Scene) -> None:
    """The topic is not created: an election would have to guess."""
    configs = (("unclean.leader.election.enable", "maybe"),)

    run = create(cluster, NewTopic("t", 1, 1, configs=configs))

    message = "unclean.leader.election.enable cannot be 'maybe': it is true or false"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_CONFIG, message),)
    assert "t" not in cluster.memory.topics


@pytest.mark.behaviour("int-044")
def test_a_name_that_is_taken_collides_or_is_being_deleted_is_refused(cluster: Scene) -> None:
    """A mark counts even while the controller has not seen it: the new topic would be deleted."""
    cluster.memory.deletions["going"] = None

    run = create(
        cluster, NewTopic("old_topic", 1, 1), NewTopic("old.topic", 1, 1), NewTopic("going", 1, 1)
    )

    collision = "old.topic would collide with old_topic in metrics, where '.' and '_' are the same"
    assert results(run) == (
        TopicResult("old_topic", ErrorCode.TOPIC_ALREADY_EXISTS, "old_topic already exists"),
        TopicResult("old.topic", ErrorCode.INVALID_TOPIC_EXCEPTION, collision),
        TopicResult("going", ErrorCode.TOPIC_ALREADY_EXISTS, "going is marked for deletion"),
    )
    assert list(cluster.memory.topics) == ["old_topic"]


def test_topics_of_one_request_collide_too(cluster: Scene) -> None:
    """Whoever comes first has the name."""
    run = create(cluster, NewTopic("a.b", 1, 1), NewTopic("a_b", 1, 1))

    assert [result.error for result in results(run)] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


def test_a_topic_that_the_controller_has_not_heard_of_exists_all_the_same(cluster: Scene) -> None:
    """A tool has made it, and the watch has not told yet."""
    cluster.memory.create_topic("t", (1,))

    run = create(cluster, NewTopic("t", 1, 1))

    assert results(run) == (TopicResult("t", ErrorCode.TOPIC_ALREADY_EXISTS, "t already exists"),)


@pytest.mark.behaviour("int-045")
def test_of_two_who_create_a_topic_the_second_hears_that_it_exists(cluster: Scene) -> None:
    """What the first has stored stays as it is, config and assignment."""

    def create_first(_ask: object) -> None:
        cluster.memory.create_topic("t", (3, 2, 1))
        cluster.memory.configs["t"] = {"retention.ms": "1"}

    cluster.memory.before_write = create_first

    run = create(cluster, NewTopic("t", 1, 1))

    message = "somebody created it just now"
    assert results(run) == (TopicResult("t", ErrorCode.TOPIC_ALREADY_EXISTS, message),)
    assert cluster.memory.topics["t"] == TopicRead("id-of-t", {0: assignment(3, 2, 1)})
    assert cluster.memory.configs["t"] == {"retention.ms": "1"}


def test_a_topic_named_twice_in_a_request_is_refused_once(cluster: Scene) -> None:
    """Nobody knows which of the two was meant."""
    run = create(cluster, NewTopic("t", 1, 1), NewTopic("u", 1, 1), NewTopic("t", 2, 2))

    message = "the request names this topic more than once"
    assert results(run)[0] == TopicResult("t", ErrorCode.INVALID_REQUEST, message)
    assert [(result.topic, result.error) for result in results(run)] == [
        ("t", ErrorCode.INVALID_REQUEST),
        ("u", ErrorCode.NONE),
    ]
    assert "t" not in cluster.memory.topics


def test_where_only_some_brokers_have_a_rack_nothing_can_be_placed(cluster: Scene) -> None:
    """By hand it still can."""
    cluster.state.add_broker(registered(4, rack="a"))

    run = create(cluster, NewTopic("t", 1, 1), by_hand((0, (4,)), name="u"))

    message = "brokers [1, 2, 3] have no rack and others have one; give it to all or to none"
    refused, by_hand_result = results(run)
    assert refused == TopicResult("t", ErrorCode.UNKNOWN_SERVER_ERROR, message)
    assert by_hand_result.error is ErrorCode.NONE


def test_without_brokers_nothing_can_be_placed(scene: Scene) -> None:
    """Not even one replica, and nothing is drawn from an empty hat."""
    run = create(scene, NewTopic("t", 1, 1))

    message = "the replication factor is 1, and there are 0 live brokers"
    assert results(run) == (TopicResult("t", ErrorCode.INVALID_REPLICATION_FACTOR, message),)


def test_a_deposed_controller_creates_nothing(cluster: Scene) -> None:
    """The write is fenced: whoever waits must ask the next controller."""
    cluster.memory.before_write = lambda ask: (
        cluster.memory.depose() if isinstance(ask, CreateTopicZnodes) else None
    )

    run = create(cluster, NewTopic("t", 1, 1))

    assert results(run) == (TopicResult("t", ErrorCode.NOT_CONTROLLER),)
    assert "t" not in cluster.memory.topics
    assert not cluster.state.is_active


def test_a_request_is_a_value_that_can_be_written_down() -> None:
    """Events are journalled and replayed."""
    event = TopicCreationRequested(0, 7, CreateTopics((by_hand((0, (1, 2))),)))

    assert msgspec.json.decode(msgspec.json.encode(event), type=TopicCreationRequested) == event
