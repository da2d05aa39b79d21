"""Lost records are found, and what Kafka itself gives up is forgiven: that and nothing more."""

import pytest

from regent.model.ids import BrokerId
from regent.sim.checkers.acked_records_survive import AckedRecordsSurvive
from regent.sim.observer import Violation
from tests.support.builders import leadership
from tests.unit.sim.checkers.stage import B1, B2, B3, ORDERS, Stage


def with_a_promise(*stored_on: BrokerId) -> Stage:
    """Broker 1 leads with all in sync, and has acknowledged the value 7 at offset 0."""
    stage = Stage(AckedRecordsSurvive())
    stage.write_leadership(leadership(1, (1, 2, 3)))
    stage.begin_to_lead(B1, 0)
    stage.store(7, *stored_on)
    stage.ack(0, 7)
    return stage


def lose_disk(stage: Stage, broker_id: BrokerId) -> None:
    stage.world.disks[broker_id].wipe()
    stage.world.disk_lost(broker_id)


def test_a_leader_with_everything_is_fine() -> None:
    """That is what the ISR is for."""
    stage = with_a_promise(B1, B2, B3)

    stage.begin_to_lead(B2, 1)
    stage.world.at_rest()

    assert stage.world.counts["acked_forgiven"] == 0


def test_a_leader_without_a_promised_record_is_found() -> None:
    """Its followers will cut the record off."""
    stage = with_a_promise(B1, B3)

    with pytest.raises(Violation, match=r"2 leads orders-0 .*offset 0: 7"):
        stage.begin_to_lead(B2, 1)


def test_a_leader_with_another_record_there_is_found() -> None:
    """An offset that holds something else has lost what was promised."""
    stage = with_a_promise(B1, B3)
    stage.store(8, B2)

    with pytest.raises(Violation, match="offset 0: 7"):
        stage.begin_to_lead(B2, 1)


def test_a_leader_of_an_earlier_epoch_need_not_know_the_future() -> None:
    """It hears of its election when it is long over, and no record of later epochs is its."""
    stage = with_a_promise(B1, B2, B3)
    stage.store(9, B1, B3, leader_epoch=5)
    stage.ack(1, 9)

    stage.begin_to_lead(B2, 4)


def test_a_record_that_no_log_has_is_found() -> None:
    """It was acknowledged out of thin air."""
    with pytest.raises(Violation, match="no log has it"):
        with_a_promise()


def test_two_records_at_one_offset_are_found() -> None:
    """Two clients were promised the same place."""
    stage = with_a_promise(B1, B2)
    stage.store(8, B3)

    with pytest.raises(Violation, match="acknowledged where 7 was"):
        stage.ack(0, 8)


def test_a_replica_that_lacks_a_record_in_the_end_is_found() -> None:
    """At rest everybody is in sync, and in sync means having everything."""
    stage = with_a_promise(B1, B2)

    with pytest.raises(Violation, match="in the end orders-0 on 3 lacks"):
        stage.world.at_rest()


def test_a_record_that_is_there_twice_in_the_end_is_found() -> None:
    """A follower that fetched it twice has moved everything behind it."""
    stage = with_a_promise(B1, B2, B3)
    stage.store(7, B1, B2, B3)

    with pytest.raises(Violation, match="twice"):
        stage.world.at_rest()


def test_an_unclean_election_is_forgiven_where_it_is_allowed() -> None:
    """The topic's owner has chosen to lose records."""
    stage = with_a_promise(B1)
    stage.allow_unclean()
    stage.write_leadership(leadership(-1, (1,), leader_epoch=1))

    stage.write_leadership(leadership(2, (2,), leader_epoch=2))
    stage.begin_to_lead(B2, 2)

    assert stage.world.counts["acked_forgiven"] == 1


def test_an_unclean_election_is_not_forgiven_where_it_is_not_allowed() -> None:
    """Nobody has chosen that."""
    stage = with_a_promise(B1)
    stage.write_leadership(leadership(-1, (1,), leader_epoch=1))
    stage.write_leadership(leadership(2, (2,), leader_epoch=2))

    with pytest.raises(Violation, match="2 leads orders-0"):
        stage.begin_to_lead(B2, 2)


def test_what_follows_an_unclean_election_is_promised_as_ever() -> None:
    """Only what came before it is forgiven."""
    stage = with_a_promise(B1)
    stage.allow_unclean()
    stage.write_leadership(leadership(-1, (1,), leader_epoch=1))
    stage.write_leadership(leadership(2, (2,), leader_epoch=2))
    stage.store(8, B2, leader_epoch=2)
    stage.ack(0, 8)

    with pytest.raises(Violation, match="offset 0: 8"):
        stage.begin_to_lead(B3, 3)


def test_a_replica_in_the_isr_that_lost_its_disk_is_forgiven() -> None:
    """ZooKeeper takes it for in sync, and nobody can know better."""
    stage = with_a_promise(B1, B2, B3)
    lose_disk(stage, B2)

    stage.begin_to_lead(B2, 1)

    assert stage.world.counts["acked_forgiven"] == 1


def test_a_replica_that_has_caught_up_after_its_loss_is_not_forgiven() -> None:
    """Once a leader has taken it back, its disk is as good as any."""
    stage = with_a_promise(B1, B2, B3)
    lose_disk(stage, B2)
    stage.write_leadership(leadership(1, (1, 3)))
    stage.store(7, B2)
    stage.write_leadership(leadership(1, (1, 3, 2)))
    stage.world.disks[B2].open(ORDERS).truncate_to(0)

    with pytest.raises(Violation, match="2 leads orders-0"):
        stage.begin_to_lead(B2, 1)


def test_a_replica_taken_back_without_its_records_is_still_forgiven() -> None:
    """That was decided before the loss and took hold after it."""
    stage = with_a_promise(B1, B2, B3)
    stage.write_leadership(leadership(1, (1, 3)))
    lose_disk(stage, B2)
    stage.write_leadership(leadership(1, (1, 3, 2)))

    stage.begin_to_lead(B2, 1)

    assert stage.world.counts["acked_forgiven"] == 1


def test_an_epoch_led_twice_over_a_lost_disk_is_ambiguous() -> None:
    """Followers with records of the first history cannot see that they are not of the second."""
    stage = with_a_promise(B1, B2, B3)
    lose_disk(stage, B1)
    stage.world.kill(B1)
    stage.begin_to_lead(B1, 0)
    stage.store(8, B1)
    stage.ack(0, 8)

    stage.world.at_rest()

    assert stage.world.counts["acked_forgiven"] == 2
