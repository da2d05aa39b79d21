"""The bucket by itself: how it fills, what it allows, and how long to wait for it."""

import pytest

from regent.core.token_bucket import THROTTLE_MS_MAX, QuotaRate, TokenBucket

#: Four a second, five seconds' worth at once.
RATE = QuotaRate(4, 20)


def test_a_new_bucket_is_full_and_never_fuller() -> None:
    """However long it stands."""
    bucket = TokenBucket()

    assert bucket.level(RATE, 1_000) == 20
    assert bucket.level(RATE, 1_000_000) == 20


def test_what_is_taken_comes_back_at_the_rate() -> None:
    """Also from below zero."""
    bucket = TokenBucket()
    left = bucket.take(25, RATE, 0)

    levels = [bucket.level(RATE, now_ms) for now_ms in (0, 1_000, 1_250, 6_000, 7_000)]

    assert left == -5
    assert levels == [-5, -1, 0, 19, 20]


@pytest.mark.behaviour("quo-014")
@pytest.mark.parametrize(("level", "wait_ms"), [(0, 0), (-3, 750), (-6, 1_500)])
def test_the_wait_is_the_way_back_to_zero(level: float, wait_ms: int) -> None:
    """And nothing from zero on."""
    assert RATE.wait_ms(level) == wait_ms


def test_a_wait_is_never_longer_than_an_answer_can_say() -> None:
    """However small the quota."""
    assert QuotaRate(1e-12, 1e-11).wait_ms(-1_000) == THROTTLE_MS_MAX


def test_a_clock_that_is_set_back_takes_nothing_away() -> None:
    """And nothing comes twice when the time has come again."""
    bucket = TokenBucket()
    bucket.take(10, RATE, 5_000)

    assert [bucket.level(RATE, now_ms) for now_ms in (1_000, 2_000)] == [10, 14]


@pytest.mark.fault("F95")
def test_another_rate_holds_from_the_next_look_on() -> None:
    """KAFKA-10458: the live bucket kept the rate that it was made with."""
    bucket = TokenBucket()
    bucket.take(26, RATE, 0)

    assert bucket.level(QuotaRate(8, 40), 1_000) == 2
    assert bucket.level(QuotaRate(1, 1), 2_000) == 1
