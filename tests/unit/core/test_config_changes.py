"""Unclean elections that are switched on while the controller is in office (T4)."""

import pytest

from regent.core.asks import Malformed
from regent.core.events import BrokersChanged, ConfigsChanged
from regent.core.state import Partition
from regent.model.facts import ZnodeIsolated
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import leadership, name
from tests.support.scene import Scene

UNCLEAN = "unclean.leader.election.enable"
ON, OFF = {UNCLEAN: "true"}, {UNCLEAN: "false"}
DEFAULTS = "brokers/<default>"


def leaderless(scene: Scene, topic: str = "t") -> Partition:
    """A partition whose only in-sync replica, 8, is dead, while 9 lives."""
    led = leadership(-1, (8,), leader_epoch=3, zk_version=6)
    return scene.partition(
        topic,
        0,
        (8, 9),
        leadership=led,
        state=PartitionState.OFFLINE,
        replica_state=ReplicaState.ONLINE,
    )


# --- topics -----------------------------------------------------------------------------------


@pytest.mark.requirement("T4")
def test_a_topic_that_allows_unclean_elections_is_tried_at_once(scene: Scene) -> None:
    """Only it, and without waiting for another change of brokers."""
    scene.live(9)
    partition, other = leaderless(scene), leaderless(scene, "other")
    scene.memory.configs["t"] = ON
    scene.memory.config_changes["config_change_1"] = "topics/t"

    run = scene.handle(ConfigsChanged(0))

    elected = leadership(9, (9,), leader_epoch=4, zk_version=7, recovering=True)
    assert scene.stored(partition) == elected
    assert other.state is PartitionState.OFFLINE
    assert run.asked[:2] == ["ReadConfigChanges", "ReadTopicConfigs t"]


@pytest.mark.requirement("T4")
@pytest.mark.parametrize("config", [OFF, {}, {"retention.ms": "1"}, {UNCLEAN: "perhaps"}])
def test_another_change_of_a_topic_elects_nobody(scene: Scene, config: dict[str, str]) -> None:
    """Not even a refusal is recorded: nobody asked for an election."""
    scene.live(9)
    leaderless(scene)
    scene.memory.configs["t"] = config
    scene.memory.config_changes["config_change_1"] = "topics/t"

    run = scene.handle(ConfigsChanged(0))

    assert run.asked == ["ReadConfigChanges", "ReadTopicConfigs t"]
    assert run.facts == []


@pytest.mark.requirement("T4")
def test_what_has_been_looked_at_is_not_looked_at_again(scene: Scene) -> None:
    """Time removes the announcements, so each is met many times."""
    scene.live(9)
    leaderless(scene)
    scene.memory.config_changes["config_change_1"] = "topics/t"
    scene.handle(ConfigsChanged(0))
    scene.memory.configs["t"] = ON

    again = scene.handle(ConfigsChanged(0))
    scene.memory.config_changes = {"config_change_2": "topics/t"}
    news = scene.handle(ConfigsChanged(0))

    assert again.asked == ["ReadConfigChanges"]
    assert "ReadTopicConfigs t" in news.asked
    assert list(scene.state.config_changes_seen) == ["config_change_2"]


def test_other_entities_and_strange_topics_are_not_our_business(scene: Scene) -> None:
    """Users, clients, single brokers, and topics that are gone or going."""
    scene.live(9)
    leaderless(scene, "going")
    scene.state.queue_deletions(["going"])
    scene.memory.configs["going"] = ON
    entities = ["users/u", "clients/c", "brokers/9", "topics/gone", "topics/going", "topics"]
    scene.memory.config_changes = {f"config_change_{i}": e for i, e in enumerate(entities)}

    run = scene.handle(ConfigsChanged(0))

    assert run.asked == ["ReadConfigChanges", "ReadTopicConfigs going"]
    assert (run.facts, run.sends) == ([], [])


@pytest.mark.requirement("X3")
def test_what_cannot_be_read_is_reported_once_and_hinders_nobody(scene: Scene) -> None:
    """An announcement, a topic's config, the defaults: each by itself."""
    scene.live(9)
    leaderless(scene, "broken")
    partition = leaderless(scene)
    announcement = Malformed("/config/changes/config_change_1", "not JSON")
    config = Malformed("/config/topics/broken", "not JSON")
    defaults = Malformed("/config/brokers/<default>", "not JSON")
    scene.memory.config_changes = {
        "config_change_1": announcement,
        "config_change_2": "topics/broken",
        "config_change_3": "topics/t",
        "config_change_4": DEFAULTS,
    }
    scene.memory.configs = {"broken": config, "t": ON}
    scene.memory.broker_defaults = defaults

    run = scene.handle(ConfigsChanged(0))

    assert [fact for fact in run.facts if isinstance(fact, ZnodeIsolated)] == [
        ZnodeIsolated(each.path, each.reason) for each in (announcement, defaults, config)
    ]
    assert scene.state.leader_of(partition) == 9
    assert scene.handle(ConfigsChanged(0)).facts == []


# --- the default ------------------------------------------------------------------------------


@pytest.mark.requirement("T4")
def test_a_default_that_is_switched_on_concerns_every_topic(scene: Scene) -> None:
    """But not one that has said no for itself."""
    scene.live(9)
    partition, careful = leaderless(scene), leaderless(scene, "careful")
    scene.memory.configs["careful"] = OFF
    scene.memory.broker_defaults = ON
    scene.memory.config_changes["config_change_1"] = DEFAULTS

    run = scene.handle(ConfigsChanged(0))

    assert scene.state.leader_of(partition) == 9
    assert careful.leadership == leadership(-1, (8,), leader_epoch=3, zk_version=6)
    assert run.asked[:2] == ["ReadConfigChanges", "ReadBrokerDefaults"]


@pytest.mark.requirement("T4")
@pytest.mark.parametrize(
    ("static", "before", "after"), [(False, None, OFF), (True, None, ON), (True, True, {})]
)
def test_a_default_that_was_on_or_stays_off_tries_nobody(
    scene: Scene, *, static: bool, before: bool | None, after: dict[str, str]
) -> None:
    """Everything that could be elected has been."""
    scene.configure(unclean=static)
    scene.state.dynamic_unclean = before
    scene.live(9)
    leaderless(scene)
    scene.memory.broker_defaults = after
    scene.memory.config_changes["config_change_1"] = DEFAULTS

    run = scene.handle(ConfigsChanged(0))

    assert run.asked == ["ReadConfigChanges", "ReadBrokerDefaults"]


@pytest.mark.requirement("T4", "S1")
def test_a_dynamic_default_goes_over_the_controllers_own(scene: Scene) -> None:
    """Switched off for the whole cluster, whatever the controller was started with."""
    scene.configure(unclean=True)
    scene.memory.broker_defaults = OFF
    scene.memory.config_changes["config_change_1"] = DEFAULTS

    scene.handle(ConfigsChanged(0))

    assert scene.state.unclean_default is False
    scene.memory.broker_defaults = {}
    scene.memory.config_changes["config_change_2"] = DEFAULTS
    scene.handle(ConfigsChanged(0))
    assert scene.state.unclean_default is True


@pytest.mark.requirement("E6", "T4")
def test_a_new_controller_knows_the_defaults_before_it_elects(node: Scene) -> None:
    """And what was announced before its time is not news to it."""
    node.memory.register(9)
    node.memory.create_topic("t", (8, 9))
    node.memory.leaderships[name("t", 0)] = leadership(8, (8,))
    node.memory.broker_defaults = ON
    node.memory.config_changes["config_change_1"] = "topics/t"

    node.elect()

    (partition,) = node.state.all_partitions()
    assert node.state.leader_of(partition) == 9
    assert node.handle(ConfigsChanged(0)).asked == ["ReadConfigChanges"]


# --- what the configs decide ------------------------------------------------------------------


@pytest.mark.behaviour("unc-001")
@pytest.mark.requirement("S1")
def test_with_unclean_elections_on_a_stale_follower_leads_when_it_starts(scene: Scene) -> None:
    """The leader is gone for good; what only it had is lost, and that is counted once."""
    scene.configure(unclean=True)
    scene.live(1)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1,)))
    scene.set_replicas(partition, (partition.assignment.replicas[1],), ReplicaState.OFFLINE)
    scene.memory.lose(1)
    scene.handle(BrokersChanged(0))
    assert (scene.state.leader_of(partition), scene.state.unclean_election_count) == (-1, 0)
    scene.memory.register(2)

    scene.handle(BrokersChanged(0))

    assert scene.stored(partition) == leadership(
        2, (2,), leader_epoch=2, zk_version=2, recovering=True
    )
    assert scene.state.unclean_election_count == 1


@pytest.mark.behaviour("unc-004")
@pytest.mark.requirement("S1")
def test_a_topic_that_says_no_waits_for_its_old_leader(scene: Scene) -> None:
    """Its own word goes over the default."""
    scene.configure(unclean=True)
    scene.memory.configs["t"] = OFF
    scene.live(1)
    partition = scene.partition("t", 0, (1, 2), leadership=leadership(1, (1,)))
    scene.memory.lose(1)
    scene.handle(BrokersChanged(0))
    scene.memory.register(2)
    scene.handle(BrokersChanged(0))
    assert scene.state.leader_of(partition) == -1

    scene.memory.register(1, life=2)
    scene.handle(BrokersChanged(0))

    assert scene.state.leader_of(partition) == 1
    assert scene.state.unclean_election_count == 0


@pytest.mark.behaviour("zk-026")
def test_all_configs_of_an_election_are_read_at_once_and_judged_each_by_itself(
    scene: Scene,
) -> None:
    """Nothing set means the default, a topic's word wins, and one broken config stops one topic."""
    scene.live(9)
    scene.state.dynamic_unclean = True
    partitions = [leaderless(scene, topic) for topic in ("plain", "no", "broken", "yes")]
    broken = Malformed("/config/topics/broken", "not JSON")
    scene.memory.configs = {"no": OFF, "broken": broken, "yes": ON}
    scene.memory.register(10)

    run = scene.handle(BrokersChanged(0))

    assert [scene.state.leader_of(p) for p in partitions] == [9, -1, -1, 9]
    assert "ReadTopicConfigs plain,no,broken,yes" in run.asked
    assert [line for line in run.story if "stays" in line] == [
        "no-0 stays OfflinePartition: no in-sync replica is alive",
        "broken-0 stays OfflinePartition: /config/topics/broken: not JSON",
    ]


@pytest.mark.behaviour("unc-009", "unc-010")
@pytest.mark.requirement("R4")
@pytest.mark.parametrize("unclean", [False, True])
def test_the_only_replica_stays_in_the_isr_when_it_dies(scene: Scene, *, unclean: bool) -> None:
    """Nobody else has the data, so unclean elections make no difference."""
    scene.configure(unclean=unclean)
    scene.live(4)
    partition = scene.partition("t", 0, (4,), leadership=leadership(4, (4,)))
    scene.memory.lose(4)

    scene.handle(BrokersChanged(0))

    assert scene.stored(partition) == leadership(-1, (4,), leader_epoch=1, zk_version=1)
