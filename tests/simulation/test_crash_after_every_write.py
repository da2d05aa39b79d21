"""A controller may die between any two of its writes; its successor finishes what it began."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec import Struct

from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    ConfigsChanged,
    ControlledShutdownRequested,
    ElectionZnodeChanged,
    ElectLeadersRequested,
    Event,
    IsrChangesNotified,
    LeaderAndIsrAnswered,
    LogDirsFailed,
    PartitionCreationRequested,
    ResignRequested,
    TimerRang,
    TopicChanged,
    TopicCreationRequested,
    TopicDeletionRequested,
    TopicDeletionsChanged,
    TopicsChanged,
)
from regent.model.admin_requests import (
    ControlledShutdown,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    MorePartitions,
    NewTopic,
)
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.control_requests import ControlAnswer
from regent.model.error_codes import ErrorCode
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.zookeeper import paths
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.notice_znodes import encode_config_change, encode_election
from regent.zookeeper.registration import (
    announce_isr_changes,
    announce_log_dir_failure,
    write_isr_directly,
)
from regent.zookeeper.store import Create
from tests.support.interrupted import Died, Ground, Reign, one_write_at_a_time

__all__ = ["one_write_at_a_time"]

ELECTION_CHANGED = ElectionZnodeChanged(0)
ALL_PREFERRED = ElectLeadersRequested(0, 1, ElectLeaders(ElectionType.PREFERRED))
ALL_UNCLEAN = ElectLeadersRequested(0, 1, ElectLeaders(ElectionType.UNCLEAN))

#: More writes than any procedure here makes; a loop that needs more has gone wrong.
WRITES_MAX = 60


class Scene(Struct, frozen=True):
    """What has happened, what it makes the controller do, and how much of the end is certain."""

    name: str
    #: Before the controller that is to die takes office.
    before: Callable[[Ground], None] = lambda _ground: None
    #: While it is in office.
    change: Callable[[Ground], None] = lambda _ground: None
    #: What it is doing when it dies. Its successor hears of the same: a watch fires for whoever
    #: looks, and a leader that got no answer asks again.
    #: None: it is taking office.
    act: Callable[[Ground, Reign], None] | None = None
    #: After a bounce that only the dead one saw, its successor finds everybody alive and need not
    #: move anything: then all that is certain is that every partition is led.
    ends_alike: bool = True


def prepare() -> Ground:
    """Four brokers, three topics, a first controller that has come and gone."""
    ground = Ground()
    ground.register(1, 2, 3, 4)
    ground.write_topic("orders", (1, 2, 3), (2, 3, 1), (3, 1, 2))
    ground.write_topic("clicks", (1, 2), (4, 1))
    ground.write_topic("lossy", (1,), (1, 2), unclean_leader_election_enable="true")
    first = ground.controller(9)
    first.stand()
    first.die()
    return ground


# --- what happens -------------------------------------------------------------------------------


def write_old_topics(ground: Ground) -> None:
    """Topics from before there were topic ids."""
    ground.write_topic("ancient", (1, 2), topic_id=None)
    ground.write_topic("older", (3, 4), topic_id=None)


def bounce_a_broker(ground: Ground) -> None:
    """A broker dies and is back before anybody looks."""
    ground.lose(2)
    ground.register(2)


def shrink_an_isr_directly(ground: Ground) -> None:
    """A leader has written its ISR itself and says so."""
    name, before = TopicPartition("orders", 0), ground.leadership("orders", 0)
    shrunk = Leadership(
        before.leader,
        before.leader_epoch,
        (before.leader,),
        before.controller_epoch,
        before.zk_version,
    )
    run_exchange(ground.operator, write_isr_directly(name, shrunk))
    run_exchange(ground.operator, announce_isr_changes([name]))


def ask_for_an_isr(ground: Ground, reign: Reign) -> None:
    """A leader asks for a smaller ISR, as it knows the partition now."""
    broker_epoch = reign.controller.state.broker_epoch(BrokerId(2))
    assert broker_epoch is not None, "broker 2 is registered"
    before = ground.leadership("orders", 1)
    proposal = IsrProposal("orders", 1, before.leader_epoch, (BrokerId(2),), before.zk_version)
    request = AlterPartition(BrokerId(2), broker_epoch, (proposal,), version=1)
    reign.handle(AlterPartitionRequested(0, 1, request))


def create_topics(_ground: Ground, reign: Reign) -> None:
    """Somebody creates two topics, and the watch tells of them."""
    by_hand = NewTopic("fixed", assignments=((0, (BrokerId(4), BrokerId(2))),))
    placed = NewTopic("fresh", 2, 3, configs=(("retention.ms", "1"),))
    reign.handle(TopicCreationRequested(0, 1, CreateTopics((by_hand, placed))))
    reign.handle(TopicsChanged(0))


def create_partitions(_ground: Ground, reign: Reign) -> None:
    """Somebody gives two topics more partitions, and the watches tell of them."""
    wanted = (MorePartitions("clicks", 4), MorePartitions("orders", 4))
    reign.handle(PartitionCreationRequested(0, 1, CreatePartitions(wanted)))
    for topic in wanted:
        reign.handle(TopicChanged(0, topic.name))


def ask_for_deletions(_ground: Ground, reign: Reign) -> None:
    """Somebody wants two topics deleted, and the watch tells of the marks."""
    reign.handle(TopicDeletionRequested(0, 1, DeleteTopics(("clicks", "orders"))))
    reign.handle(TopicDeletionsChanged(0))


def delete_topics(_ground: Ground, reign: Reign) -> None:
    """Deletions are under way, or not yet; everybody obeys until there is nothing left to do."""
    reign.handle(TopicDeletionsChanged(0))
    reign.confirm_deletions()


def delete_when_a_broker_is_back(ground: Ground, reign: Reign) -> None:
    """One replica's broker is down at first."""
    delete_topics(ground, reign)
    if ground.is_down(3):
        ground.register(3)
    reign.handle(BrokersChanged(0))
    reign.confirm_deletions()


def lead(ground: Ground, topic: str, partition: int, *isr: int) -> None:
    """A partition is led by the first of these, and the others are in sync."""
    before = ground.leadership(topic, partition)
    members = tuple(map(BrokerId, isr))
    after = msgspec.structs.replace(before, leader=members[0], isr=members)
    run_exchange(ground.operator, write_isr_directly(TopicPartition(topic, partition), after))


def lead_astray(ground: Ground) -> None:
    """Three partitions are led by others than their preferred replicas, which are in sync."""
    lead(ground, "orders", 0, 2, 1, 3)
    lead(ground, "orders", 1, 3, 2, 1)
    lead(ground, "clicks", 1, 1, 4)


def ask_by_znode(ground: Ground) -> None:
    """An admin wants preferred leaders, for one partition that does not exist too."""
    names = [TopicPartition(t, p) for t, p in (("orders", 0), ("clicks", 1), ("ghost", 0))]
    ground.operator.call([Create(paths.ELECTION, encode_election(names))])


def lead_astray_and_ask(ground: Ground) -> None:
    """The election znode is there before the controller is."""
    lead_astray(ground)
    ask_by_znode(ground)


def lose_the_in_sync(ground: Ground) -> None:
    """The only in-sync replica dies, and another one lives."""
    lead(ground, "clicks", 0, 1)
    ground.lose(1)


def allow_unclean(ground: Ground) -> None:
    """A topic allows unclean elections from now on."""
    ground.write_topic("clicks", (1, 2), (4, 1), unclean_leader_election_enable="true")
    announced = encode_config_change("topics/clicks")
    prefix = f"{paths.CONFIG_CHANGES}/config_change_"
    ground.operator.call([Create(prefix, announced, sequential=True)])


def let_a_broker_go(_ground: Ground, reign: Reign) -> None:
    """A broker wants to go, and asks twice."""
    for request_id in (1, 2):
        request = ControlledShutdown(BrokerId(1))
        reign.handle(ControlledShutdownRequested(0, request_id, request))


def lose_a_directory(_ground: Ground, reign: Reign) -> None:
    """A broker announces a failed directory, and refuses what was in it."""
    reign.handle(LogDirsFailed(0))
    state = reign.controller.state
    broker_epoch = state.broker_epoch(BrokerId(1))
    assert broker_epoch is not None, "broker 1 is registered"
    lost = [TopicPartition(t, p) for t, p in (("orders", 0), ("orders", 2), ("lossy", 0))]
    refused = ControlAnswer(
        partition_errors=tuple((n, ErrorCode.KAFKA_STORAGE_ERROR) for n in lost)
    )
    answered = LeaderAndIsrAnswered(0, BrokerId(1), broker_epoch, state.controller_epoch, refused)
    reign.handle(answered)


def announce_a_failed_directory(ground: Ground) -> None:
    """The broker goes on living."""
    run_exchange(ground.operator, announce_log_dir_failure(BrokerId(1)))


def handles(event: Event) -> Callable[[Ground, Reign], None]:
    """Handle one event."""
    return lambda _ground, reign: reign.handle(event)


SCENES = [
    Scene("takes office"),
    Scene("takes office after a broker died", before=lambda ground: ground.lose(1)),
    Scene("takes office after two died", before=lambda ground: ground.lose(1, 2)),
    Scene("gives ids to old topics", before=write_old_topics),
    Scene("loses a broker", change=lambda ground: ground.lose(1), act=handles(BrokersChanged(0))),
    Scene("loses two", change=lambda ground: ground.lose(1, 2), act=handles(BrokersChanged(0))),
    Scene("a bounce", change=bounce_a_broker, act=handles(BrokersChanged(0)), ends_alike=False),
    Scene(
        "welcomes a broker",
        before=lambda ground: ground.lose(1),
        change=lambda ground: ground.register(1),
        act=handles(BrokersChanged(0)),
    ),
    Scene(
        "serves a new topic",
        change=lambda ground: ground.write_topic("fresh", (4, 3, 2), (2, 4, 1), (1, 4)),
        act=handles(TopicsChanged(0)),
    ),
    Scene(
        "serves a new topic on half a cluster",
        before=lambda ground: ground.lose(3, 4),
        change=lambda ground: ground.write_topic("fresh", (4, 3, 2), (3, 4)),
        act=handles(TopicsChanged(0)),
    ),
    Scene(
        "serves more partitions",
        change=lambda ground: ground.write_topic("clicks", (1, 2), (4, 1), (2, 3), (3, 4)),
        act=handles(TopicChanged(0, "clicks")),
    ),
    Scene("hears of an ISR", change=shrink_an_isr_directly, act=handles(IsrChangesNotified(0))),
    Scene("grants an ISR", act=ask_for_an_isr),
    Scene("creates topics", act=create_topics),
    Scene("creates partitions", act=create_partitions),
    Scene("marks topics for deletion", act=ask_for_deletions),
    Scene(
        "deletes two topics",
        change=lambda ground: ground.mark_for_deletion("orders", "clicks"),
        act=delete_topics,
    ),
    Scene(
        "takes office with deletions pending",
        before=lambda ground: ground.mark_for_deletion("orders", "ghost"),
    ),
    Scene(
        "goes on with a deletion",
        before=lambda ground: ground.mark_for_deletion("orders"),
        act=delete_topics,
    ),
    Scene(
        "deletes a topic with a replica down",
        before=lambda ground: ground.lose(3),
        change=lambda ground: ground.mark_for_deletion("orders", "ghost"),
        act=delete_when_a_broker_is_back,
    ),
    Scene("serves a znode", before=lead_astray, change=ask_by_znode, act=handles(ELECTION_CHANGED)),
    Scene("takes office with elections pending", before=lead_astray_and_ask),
    Scene("balances leaders", before=lead_astray, act=handles(TimerRang(0, "leader-balance"))),
    Scene("elects all by request", before=lead_astray, act=handles(ALL_PREFERRED)),
    Scene("elects uncleanly by request", before=lose_the_in_sync, act=handles(ALL_UNCLEAN)),
    Scene(
        "hears that unclean elections are on",
        before=lose_the_in_sync,
        change=allow_unclean,
        act=handles(ConfigsChanged(0)),
    ),
    Scene("lets a broker go", act=let_a_broker_go),
    Scene("loses a directory", change=announce_a_failed_directory, act=lose_a_directory),
    Scene("resigns", act=handles(ResignRequested(0))),
]


def end_of(scene: Scene, writes_to_live: int | None) -> tuple[Ground, bool]:
    """The cluster after a successor has taken over, and whether the first one died."""
    ground = prepare()
    scene.before(ground)
    reign = ground.controller(7)
    if scene.act is not None:
        reign.stand()
    scene.change(ground)
    reign.session.writes_to_live = writes_to_live
    died = False
    try:
        if scene.act is None:
            reign.stand()
        else:
            scene.act(ground, reign)
    except Died:
        died = True
    reign.die()
    successor = ground.controller(8)
    successor.stand()
    if scene.act is not None:
        scene.act(ground, successor)
    return ground, died


def shape_of(ground: Ground, scene: Scene) -> object:
    """What must be the same in the end."""
    summary = ground.summary()
    if scene.ends_alike:
        return summary
    return {path: found[0] != NO_LEADER for path, found in summary.items()}


@pytest.mark.requirement("E5", "E6", "P4", "R4")
@pytest.mark.usefixtures("one_write_at_a_time")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_a_successor_ends_where_an_uninterrupted_run_ends(scene: Scene) -> None:
    """Whatever the n-th write was, after it the cluster is in a state that can be gone on from."""
    whole, died = end_of(scene, None)

    assert not died
    for writes in range(1, WRITES_MAX):
        end, died = end_of(scene, writes)
        assert shape_of(end, scene) == shape_of(whole, scene), f"died behind write {writes}"
        if not died:
            return
    pytest.fail(f"{scene.name}: more than {WRITES_MAX} writes")
