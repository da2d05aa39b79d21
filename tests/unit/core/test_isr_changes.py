"""ISR changes that leaders want or have made (B6)."""

import pytest

from regent.core.asks import Malformed
from regent.core.effects import Reply
from regent.core.events import AlterPartitionRequested, IsrChangesNotified
from regent.core.state import Partition
from regent.model.alter_partition import (
    AlterPartition,
    AlterPartitionAnswer,
    IsrProposal,
    IsrVerdict,
)
from regent.model.error_codes import ErrorCode
from regent.model.facts import CallRefused, ZnodeIsolated
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from tests.support.builders import alter_partition, ids, leadership, name, proposal
from tests.support.drive import Run
from tests.support.scene import Scene

B1 = BrokerId(1)


def ask(scene: Scene, request: AlterPartition) -> Run[None]:
    """Have the controller look at a request."""
    return scene.handle(AlterPartitionRequested(0, 5, request))


def verdicts(scene: Scene, request: AlterPartition) -> list[ErrorCode]:
    """Just the codes, one for each partition asked about."""
    return [verdict.error for verdict in ask(scene, request).answer(AlterPartitionAnswer).verdicts]


def granted(led: Leadership, topic: str = "id-of-t") -> IsrVerdict:
    """The verdict that shows this leadership."""
    return IsrVerdict(
        topic,
        0,
        ErrorCode.NONE,
        led.leader,
        led.leader_epoch,
        led.isr,
        led.zk_version,
        led.recovering,
    )


@pytest.fixture
def led(scene: Scene) -> Partition:
    """Partition t-0 on live brokers 1 to 3, led by 1 with leader epoch 5 at version 8."""
    scene.live(1, 2, 3)
    return scene.partition(leadership=leadership(1, (1, 2), leader_epoch=5, zk_version=8))


# --- what is granted --------------------------------------------------------------------------


@pytest.mark.requirement("B6")
def test_a_wish_is_written_told_and_only_then_answered(scene: Scene, led: Partition) -> None:
    """The leader epoch stays: the leader is the same, and knows what it asked for."""
    request = alter_partition(1, proposal(1, 2, 3, leader_epoch=5, zk_version=8))

    run = ask(scene, request)

    new = "leader=1 isr=1,2,3 epoch=5 v9"
    assert run.lines == [
        "WriteLeaderships t-0 leader=1 isr=1,2,3 epoch=5 v8",
        f"t-0 altered {new}",
        *(f"{b} <- UpdateMetadata live=1,2,3; t-0 {new} replicas=1,2,3" for b in (1, 2, 3)),
        "reply to 5: NONE",
    ]
    written = leadership(1, (1, 2, 3), leader_epoch=5, zk_version=9)
    assert scene.stored(led) == led.leadership == written
    assert run.reply == Reply(5, AlterPartitionAnswer(verdicts=(granted(written),)))


@pytest.mark.fault("F47")
@pytest.mark.behaviour("int-012")
@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("zk_version", [7, 8])
def test_a_repeated_wish_is_a_success_before_versions_are_compared(
    scene: Scene, led: Partition, version: int, zk_version: int
) -> None:
    """The answer to the first was lost; nothing is written (KAFKA-14144)."""
    topic = "id-of-t" if version >= 2 else "t"
    again = proposal(1, 2, topic=topic, leader_epoch=5, zk_version=zk_version)

    run = ask(scene, alter_partition(1, again, version=version))

    assert run.asks == []
    assert led.leadership is not None
    verdict = granted(led.leadership, topic)
    assert run.reply == Reply(5, AlterPartitionAnswer(verdicts=(verdict,)))


@pytest.mark.behaviour("int-013")
def test_topic_ids_are_understood_after_a_downgrade(scene: Scene, led: Partition) -> None:
    """Ids once given are kept, whatever the brokers speak now."""
    scene.configure(protocol="2.7")

    request = alter_partition(1, proposal(1, leader_epoch=5, zk_version=8), version=2)

    assert verdicts(scene, request) == [ErrorCode.NONE]
    assert scene.stored(led).isr == ids(1)


def test_a_leader_that_has_recovered_says_so(scene: Scene) -> None:
    """And its ISR may grow from then on."""
    scene.live(1, 2)
    unclean = scene.partition(replicas=(1, 2), leadership=leadership(1, (1,), recovering=True))

    still = verdicts(scene, alter_partition(1, proposal(1, recovering=True)))
    over = verdicts(scene, alter_partition(1, proposal(1)))

    assert (still, over) == ([ErrorCode.NONE], [ErrorCode.NONE])
    assert scene.stored(unclean) == leadership(1, (1,), zk_version=1)


def test_every_partition_asked_about_is_answered_and_told(scene: Scene, led: Partition) -> None:
    """In the order of the request; a refusal of one does not touch the other."""
    other = scene.partition("t", 1, (1, 2), leadership=leadership(1, (1, 2)))
    request = alter_partition(
        1,
        proposal(1, leader_epoch=4, zk_version=8),
        proposal(1, index=1),
        proposal(1, index=77),
    )

    run = ask(scene, request)

    assert [(v.partition, v.error) for v in run.answer(AlterPartitionAnswer).verdicts] == [
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, ErrorCode.NONE),
        (77, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert scene.stored(other).isr == ids(1)
    assert run.told[0] == (
        "1 <- UpdateMetadata live=1,2,3; t-0 leader=1 isr=1,2 epoch=5 v8 replicas=1,2,3;"
        " t-1 leader=1 isr=1 epoch=0 v1 replicas=1,2"
    )
    assert led.leadership == scene.stored(led)


# --- what is refused as a whole ---------------------------------------------------------------


def test_a_node_that_is_not_in_office_sends_the_leader_on(node: Scene) -> None:
    """The caller looks for the controller and asks again."""
    run = ask(node, alter_partition(1, proposal(1)))

    assert run.steps == [Reply(5, AlterPartitionAnswer(ErrorCode.NOT_CONTROLLER))]


@pytest.mark.behaviour("int-016")
@pytest.mark.parametrize(("broker_id", "life"), [(1, 0), (1, 2), (99, 1)])
def test_a_wish_from_another_life_of_the_leader_is_refused(
    scene: Scene, led: Partition, broker_id: int, life: int
) -> None:
    """An earlier one, one we have not heard of yet, or a broker nobody knows."""
    wanted = proposal(1, leader_epoch=5, zk_version=8)

    run = ask(scene, alter_partition(broker_id, wanted, life=life))

    stale = ErrorCode.STALE_BROKER_EPOCH
    assert run.facts == [CallRefused("AlterPartition", stale, BrokerId(broker_id))]
    assert run.reply == Reply(5, AlterPartitionAnswer(stale))
    assert led.leadership == scene.stored(led)
    assert run.asks == []


# --- the order of the checks ------------------------------------------------------------------


@pytest.mark.behaviour("int-017")
@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        (2, proposal(1, topic="ghost"), ErrorCode.UNKNOWN_TOPIC_ID),
        (1, proposal(1, topic="ghost"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (1, proposal(1, topic="t", index=77), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (2, proposal(1, index=77), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
    ids=["id", "name", "partition by name", "partition by id"],
)
def test_what_is_unknown_is_refused_for_that_partition_only(
    scene: Scene, led: Partition, version: int, wanted: IsrProposal, expected: ErrorCode
) -> None:
    """An unknown topic id may become known; an unknown partition of a known topic is final."""
    topic = "id-of-t" if version >= 2 else "t"
    known = proposal(1, topic=topic, leader_epoch=5, zk_version=8)

    assert verdicts(scene, alter_partition(1, wanted, known, version=version)) == [
        expected,
        ErrorCode.NONE,
    ]
    assert led.leadership == scene.stored(led)


def test_a_partition_that_was_never_led_has_no_isr(scene: Scene) -> None:
    """Nobody can be its leader."""
    scene.live(1)
    scene.partition(replicas=(1,))

    assert verdicts(scene, alter_partition(1, proposal(1))) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]


@pytest.mark.fault("F07")
@pytest.mark.behaviour("int-020")
@pytest.mark.usefixtures("led")
@pytest.mark.parametrize(("leader_epoch", "zk_version"), [(6, 8), (5, 9), (4, 9), (6, 7)])
def test_a_leader_ahead_of_us_means_that_we_are_the_zombie(
    scene: Scene, leader_epoch: int, zk_version: int
) -> None:
    """A fencing error would be final for it and leave the ISR stuck (KAFKA-14154)."""
    ahead = proposal(1, leader_epoch=leader_epoch, zk_version=zk_version)

    assert verdicts(scene, alter_partition(1, ahead)) == [ErrorCode.NOT_CONTROLLER]


@pytest.mark.usefixtures("led")
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (proposal(1, 2, leader_epoch=4, zk_version=8), ErrorCode.FENCED_LEADER_EPOCH),
        (proposal(1, leader_epoch=4, zk_version=7), ErrorCode.FENCED_LEADER_EPOCH),
        (proposal(1, leader_epoch=5, zk_version=7), ErrorCode.INVALID_UPDATE_VERSION),
        (proposal(2, 1, leader_epoch=5, zk_version=7), ErrorCode.INVALID_UPDATE_VERSION),
    ],
    ids=["old epoch, same isr", "both old", "old version", "old version, other order"],
)
def test_a_leader_behind_us_is_fenced(
    scene: Scene, wanted: IsrProposal, expected: ErrorCode
) -> None:
    """First by the leader epoch, then, unless it repeats itself, by the version."""
    assert verdicts(scene, alter_partition(1, wanted)) == [expected]


@pytest.mark.behaviour("int-021")
@pytest.mark.usefixtures("led")
@pytest.mark.parametrize("isr", [(1,), (1, 2)])
def test_a_recovered_leader_does_not_go_back_to_recovering(
    scene: Scene, isr: tuple[int, ...]
) -> None:
    """Only an unclean election starts a recovery."""
    back = proposal(*isr, leader_epoch=5, zk_version=8, recovering=True)

    assert verdicts(scene, alter_partition(1, back)) == [ErrorCode.INVALID_REQUEST]


def test_a_recovering_leader_is_alone_in_the_isr(scene: Scene) -> None:
    """Nobody can be in sync with what is still being recovered."""
    scene.live(1, 2)
    scene.partition(replicas=(1, 2), leadership=leadership(1, (1,), recovering=True))

    request = alter_partition(1, proposal(1, 2, recovering=True))

    assert verdicts(scene, request) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.behaviour("int-022")
@pytest.mark.usefixtures("led")
@pytest.mark.parametrize(
    ("leader_epoch", "zk_version", "expected"),
    [
        (6, 8, ErrorCode.NOT_CONTROLLER),
        (4, 8, ErrorCode.FENCED_LEADER_EPOCH),
        (5, 7, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_epochs_are_compared_before_anything_else(
    scene: Scene, leader_epoch: int, zk_version: int, expected: ErrorCode
) -> None:
    """Also where the recovery is illegal and a member is dead."""
    wrong = proposal(1, 99, leader_epoch=leader_epoch, zk_version=zk_version, recovering=True)

    assert verdicts(scene, alter_partition(1, wrong)) == [expected]


def test_an_illegal_recovery_is_refused_before_members_are_looked_at(
    scene: Scene, led: Partition
) -> None:
    """The request is wrong whoever lives."""
    wrong = proposal(1, 99, leader_epoch=5, zk_version=8, recovering=True)

    assert verdicts(scene, alter_partition(1, wrong)) == [ErrorCode.INVALID_REQUEST]
    assert led.leadership == scene.stored(led)


@pytest.mark.behaviour("int-015")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, ErrorCode.OPERATION_NOT_ATTEMPTED),
        (1, ErrorCode.OPERATION_NOT_ATTEMPTED),
        (2, ErrorCode.INELIGIBLE_REPLICA),
        (3, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_broker_that_is_dead_or_going_does_not_join_the_isr(
    scene: Scene, led: Partition, version: int, expected: ErrorCode
) -> None:
    """It would have to leave again at once; after its restart it may (KAFKA-14140)."""
    scene.state.mark_shutting_down(BrokerId(3))
    topic = "id-of-t" if version >= 2 else "t"

    def codes(*isr: int) -> list[ErrorCode]:
        wanted = proposal(*isr, topic=topic, leader_epoch=5, zk_version=8)
        return verdicts(scene, alter_partition(1, wanted, version=version))

    refused = (codes(1, 2, 3), codes(1, 2, 99))
    kept = scene.stored(led).isr
    scene.state.remove_broker(BrokerId(3))
    scene.live(3)

    assert refused == ([expected], [expected])
    assert kept == ids(1, 2)
    assert codes(1, 2, 3) == [ErrorCode.NONE]


# --- races ------------------------------------------------------------------------------------


def test_a_wish_that_loses_a_race_is_refused_and_what_won_is_learned(
    scene: Scene, led: Partition
) -> None:
    """The leader reads the metadata that follows and may ask again."""
    scene.memory.before_write = lambda _: scene.overwrite(led, isr=ids(1, 3))

    run = ask(scene, alter_partition(1, proposal(1, leader_epoch=5, zk_version=8)))

    refused = ErrorCode.INVALID_UPDATE_VERSION
    assert run.answer(AlterPartitionAnswer).verdicts == (IsrVerdict("id-of-t", 0, refused),)
    assert run.asked[1:] == ["ReadLeaderships t-0"]
    assert led.leadership == scene.stored(led)
    assert run.facts[-1] == CallRefused("AlterPartition", refused, B1, "id-of-t", 0)


@pytest.mark.usefixtures("led")
def test_a_wish_for_a_state_that_vanished_is_refused(scene: Scene) -> None:
    """Its topic is being removed by somebody."""
    scene.memory.before_write = lambda _: scene.memory.leaderships.clear()

    request = alter_partition(1, proposal(1, leader_epoch=5, zk_version=8))

    assert verdicts(scene, request) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


# --- by notification --------------------------------------------------------------------------


@pytest.mark.fault("F50")
@pytest.mark.requirement("B6")
def test_notified_changes_are_read_told_and_the_notifications_removed(
    scene: Scene, led: Partition
) -> None:
    """Just the partitions that they name, each once; unknown ones are passed over."""
    scene.partition("u", 0, (2,), leadership=leadership(2, (2,)))
    scene.overwrite(led, isr=ids(1))
    scene.memory.notifications = {
        "isr_change_0": (name("t", 0), name("ghost", 0)),
        "isr_change_1": (name("t", 0),),
    }

    run = scene.handle(IsrChangesNotified(0))

    new = "leader=1 isr=1 epoch=5 v9"
    assert run.lines == [
        "ReadIsrNotifications",
        "ReadLeaderships t-0",
        f"t-0 learned {new}",
        *(f"{b} <- UpdateMetadata live=1,2,3; t-0 {new} replicas=1,2,3" for b in (1, 2, 3)),
        "DeleteIsrNotifications isr_change_0,isr_change_1",
    ]
    assert scene.memory.notifications == {}


def test_no_notification_is_no_work(scene: Scene) -> None:
    """Removing them sets the watch off once more."""
    assert scene.handle(IsrChangesNotified(0)).lines == ["ReadIsrNotifications"]


def test_a_notification_that_cannot_be_read_is_reported_and_removed(
    scene: Scene, led: Partition
) -> None:
    """Left there it would be met again and again; the others are heeded."""
    path = "/isr_change_notification/isr_change_0"
    scene.memory.notifications = {
        "isr_change_0": Malformed(path, "not JSON"),
        "isr_change_1": (name("t", 0),),
    }
    scene.overwrite(led, isr=ids(1))

    run = scene.handle(IsrChangesNotified(0))

    assert run.facts[0] == ZnodeIsolated(path, "not JSON")
    assert led.leadership == scene.stored(led)
    assert scene.memory.notifications == {}


@pytest.mark.parametrize("isr", [(), (1, 1), (2,)], ids=["empty", "repeated", "without its leader"])
def test_an_isr_that_nobody_could_read_back_is_refused(scene: Scene, isr: tuple[int, ...]) -> None:
    """The partition would be lost at the next failover."""
    scene.live(1, 2)
    scene.partition(leadership=leadership(1, (1, 2)))

    assert verdicts(scene, alter_partition(1, proposal(*isr))) == [ErrorCode.INVALID_REQUEST]
