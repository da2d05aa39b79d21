"""What one broker is told, as a part of what its batch tells."""

from msgspec.structs import replace

from regent.model.control_requests import BrokerEntries, LeaderAndIsr, LeaderAndIsrPartition
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from tests.support.builders import assignment, leadership


def entry(index: int) -> LeaderAndIsrPartition:
    led = leadership(1, (1, 2))
    return LeaderAndIsrPartition("orders", index, led, assignment(1, 2), is_new=False)


def request(partitions: tuple[LeaderAndIsrPartition, ...] | BrokerEntries) -> LeaderAndIsr:
    return LeaderAndIsr(BrokerId(9), ControllerEpoch(3), BrokerEpoch(20), partitions)


BATCH = tuple(map(entry, range(5)))


def test_a_brokers_entries_are_those_in_its_places() -> None:
    chosen = BrokerEntries(BATCH, [0, 2, 3])

    assert list(chosen) == [BATCH[0], BATCH[2], BATCH[3]]
    assert len(chosen) == 3
    assert chosen[-1] is BATCH[3]
    assert list(chosen[1:]) == [BATCH[2], BATCH[3]]
    assert BATCH[1] not in chosen


def test_a_request_is_the_same_whether_it_was_picked_from_a_batch_or_not() -> None:
    """Who receives, checks or prints it must not see where it comes from."""
    picked = request(BrokerEntries(BATCH, [1, 4]))
    plain = request((BATCH[1], BATCH[4]))
    from_another = request(BrokerEntries((BATCH[4], BATCH[1]), [1, 0]))

    assert picked == plain
    assert plain == picked
    assert picked == from_another
    assert hash(picked) == hash(plain)
    assert repr(picked) == repr(plain)
    assert picked != replace(plain, partitions=(BATCH[1],))
    assert picked != request(BrokerEntries(BATCH, [1, 3]))
