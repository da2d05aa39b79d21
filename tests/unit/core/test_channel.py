"""One broker's channel: in order, one at a time, again until answered (C1, C2)."""

import pytest

from regent.core.channel import Channel
from regent.model.control_requests import StopReplica
from regent.model.ids import BrokerId, ControllerEpoch
from tests.support.builders import broker_epoch


def request(number: int) -> StopReplica:
    """Some request, told apart by its controller epoch."""
    return StopReplica(BrokerId(100), ControllerEpoch(number), broker_epoch(1), ())


@pytest.fixture
def channel() -> Channel[StopReplica]:
    """A channel to broker 1 with two requests in it."""
    channel: Channel[StopReplica] = Channel(BrokerId(1), broker_epoch(1))
    channel.put(request(1))
    channel.put(request(2))
    return channel


@pytest.mark.requirement("C1")
def test_a_request_goes_out_only_when_the_one_before_is_answered(
    channel: Channel[StopReplica],
) -> None:
    """Requests to one broker never overtake each other."""
    steps = [
        channel.next_to_send(),
        channel.next_to_send(),
        channel.answered(1),
        channel.next_to_send(),
        channel.answered(2),
        channel.next_to_send(),
    ]

    assert steps == [request(1), None, request(1), request(2), request(2), None]
    assert len(channel) == 0


@pytest.mark.fault("F37")
@pytest.mark.requirement("C2")
def test_after_a_failure_the_same_request_goes_again(channel: Channel[StopReplica]) -> None:
    """Nobody knows whether it arrived, and nothing behind it overtakes it."""
    channel.next_to_send()

    channel.failed()

    assert channel.next_to_send() == request(1)
    assert len(channel) == 2


@pytest.mark.fault("F38")
@pytest.mark.parametrize("number", [0, 2])
def test_an_answer_to_another_request_is_not_for_us(
    channel: Channel[StopReplica], number: int
) -> None:
    """A late answer to what was sent twice must not confirm what comes next."""
    channel.next_to_send()

    assert channel.answered(number) is None
    assert len(channel) == 2


def test_an_answer_to_what_was_not_sent_is_not_for_us(channel: Channel[StopReplica]) -> None:
    """Also after a failure: the answer came on the broken connection."""
    unsent = channel.answered(1)
    channel.next_to_send()
    channel.failed()

    assert (unsent, channel.answered(1)) == (None, None)


def test_a_closed_channel_holds_and_sends_nothing(channel: Channel[StopReplica]) -> None:
    """The broker's life is over; its next one starts with an empty queue."""
    channel.next_to_send()

    channel.close()

    assert (len(channel), channel.next_to_send(), channel.answered(1)) == (0, None, None)
    with pytest.raises(AssertionError, match="closed"):
        channel.put(request(3))
