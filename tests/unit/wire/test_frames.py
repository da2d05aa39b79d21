"""Frames come in whatever pieces the network makes of them."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regent.errors import ProtocolError
from regent.wire.frames import FrameReader, frame_prefix, to_frame
from regent.wire.limits import WireLimits


@settings(deadline=None)
@given(
    messages=st.lists(st.binary(max_size=20), max_size=5),
    cuts=st.lists(st.integers(0, 120), max_size=8),
)
def test_messages_come_out_as_they_went_in(messages: list[bytes], cuts: list[int]) -> None:
    """However the stream is cut, and if it ends after a message it has ended cleanly."""
    stream = b"".join(map(to_frame, messages))
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reader = FrameReader()

    read = [
        message for start, end in pairwise(bounds) for message in reader.feed(stream[start:end])
    ]

    assert read == messages
    assert reader.is_between_frames


@pytest.mark.parametrize("cut", range(1, 9))
def test_half_a_frame_is_no_message(cut: int) -> None:
    reader = FrameReader()

    assert list(reader.feed(to_frame(b"orders")[:cut])) == []
    assert not reader.is_between_frames


@pytest.mark.parametrize("length", [2**31 - 1, 11, -1, -(2**31)])
def test_a_length_over_the_limit_is_refused_at_once(length: int) -> None:
    """Before its message comes: nobody waits for two gigabytes, or keeps them."""
    reader = FrameReader(WireLimits(frame_bytes=10))

    with pytest.raises(ProtocolError, match=f"a frame of {length} bytes; 10 are allowed"):
        list(reader.feed(struct.pack(">i", length)))


def test_a_length_at_the_limit_is_fine() -> None:
    reader = FrameReader(WireLimits(frame_bytes=6))

    assert list(reader.feed(to_frame(b"orders"))) == [b"orders"]


def test_the_prefix_counts_all_parts() -> None:
    assert frame_prefix([b"ab", b"", b"cde"]) == struct.pack(">i", 5)
