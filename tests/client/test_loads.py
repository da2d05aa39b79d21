"""Rates from two looks at a cluster."""

from regent.client.loads import LoadSample, MeasuredLoad, PartitionSize, measured
from regent.model.ids import TopicPartition

ORDERS = TopicPartition("orders", 0)


def look(at_ms: int, size_bytes: int | None, end_offset: int | None) -> LoadSample:
    return LoadSample(at_ms, {ORDERS: PartitionSize(size_bytes, end_offset)})


def load(
    at_ms: int, bytes_in: float | None, records_in: float | None, size: int | None
) -> MeasuredLoad:
    return MeasuredLoad("orders", 0, at_ms, bytes_in, records_in, size)


def test_a_first_look_knows_sizes_and_no_rates() -> None:
    assert list(measured(look(1_000, 500, 10))) == [load(1_000, None, None, 500)]


def test_rates_are_by_the_time_between_two_looks() -> None:
    rows = list(measured(look(3_000, 1_500, 15), look(1_000, 500, 10)))

    assert rows == [load(3_000, 500.0, 2.5, 1_500)]


def test_a_log_that_was_cut_has_no_rate_of_bytes_but_one_of_records() -> None:
    """Retention deletes old records while new ones come; a negative rate would be refused."""
    assert list(measured(look(2_000, 100, 20), look(1_000, 500, 10))) == [
        load(2_000, None, 10.0, 100)
    ]


def test_what_was_not_told_is_no_zero() -> None:
    """A broker was silent in one of the looks, or the topic is new."""
    assert list(measured(look(2_000, None, 20), look(1_000, 500, 10))) == []
    assert list(measured(look(2_000, 700, None), look(1_000, 500, 10))) == [
        load(2_000, 200.0, None, 700)
    ]
    assert list(measured(look(2_000, 700, 20), LoadSample(1_000, {}))) == [
        load(2_000, None, None, 700)
    ]


def test_two_looks_at_the_same_time_have_no_rate() -> None:
    """A clock may be set back between them."""
    assert list(measured(look(1_000, 900, 20), look(1_000, 500, 10))) == [
        load(1_000, None, None, 900)
    ]
