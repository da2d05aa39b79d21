"""How long a client noticed something."""

from time import monotonic

from regent.demo.arrivals import Arrivals, Silence
from regent.model.ids import TopicPartition

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 1)


def arrivals(**times: float) -> Arrivals:
    """Both partitions in step, but for a pause of each."""
    noted = Arrivals()
    now_s = monotonic()
    for name, pause_s in ((ORDERS, times["orders_s"]), (CLICKS, times["clicks_s"])):
        for at_s in (now_s - 1_000 - pause_s, now_s - 1_000, now_s + 1_000):
            noted.note(name, at_s)
    return noted


def test_the_longest_silence_is_that_of_the_partition_that_was_hit_hardest() -> None:
    """Others that go on writing must not hide it."""
    silence = arrivals(orders_s=5_000, clicks_s=7_000).longest_silence(monotonic() - 3_000)

    assert silence is not None
    assert (silence.name, round(silence.seconds)) == (CLICKS, 7_000)


def test_silences_that_were_over_before_do_not_count() -> None:
    silence = arrivals(orders_s=5_000, clicks_s=7_000).longest_silence(monotonic() - 500)

    assert silence is not None
    assert round(silence.seconds) == 2_000


def test_a_silence_that_lasts_counts_up_to_now() -> None:
    noted = Arrivals()
    began_s = monotonic() - 100
    noted.note(ORDERS, began_s)

    silence = noted.longest_silence(began_s)

    assert silence is not None
    assert silence >= Silence(100, ORDERS)


def test_nothing_is_expected_of_a_topic_that_is_left() -> None:
    noted = arrivals(orders_s=5_000, clicks_s=7_000)
    noted.forget("clicks")
    silence = noted.longest_silence(0)

    assert silence is not None
    assert silence.name == ORDERS
    assert Arrivals().longest_silence(0) is None


def test_something_has_come_when_it_has_come_everywhere() -> None:
    noted = Arrivals()
    noted.note(ORDERS, 10.0)

    assert noted.have_come([ORDERS], 9.0)
    assert not noted.have_come([ORDERS], 10.0)
    assert not noted.have_come([ORDERS, CLICKS], 9.0)
