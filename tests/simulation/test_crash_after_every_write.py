"""A controller may die between any two of its writes; its successor finishes what it began."""

from collections.abc import Callable

import pytest
from msgspec import Struct

from regent.core.events import (
    AlterPartitionRequested,
    BrokersChanged,
    Event,
    IsrChangesNotified,
    ResignRequested,
    TopicChanged,
    TopicsChanged,
)
from regent.model.alter_partition import AlterPartition, IsrProposal
from regent.model.ids import NO_LEADER, BrokerId, TopicPartition
from regent.model.leadership import Leadership
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.registration import announce_isr_changes, write_isr_directly
from tests.support.interrupted import Died, Ground, Reign, one_write_at_a_time

__all__ = ["one_write_at_a_time"]

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
