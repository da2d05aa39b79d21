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


@pytest.mark.parametrize("length", [0, 16_379, 16_380, 16_381, 1 << 20, (1 << 20) + 1, 5 << 20])
@pytest.mark.parametrize("piece_bytes", [1_000, 16 * 1024, 1 << 18, 1 << 30])
def test_long_messages_come_out_too(length: int, piece_bytes: int) -> None:
    """Around the sizes at which they are received otherwise, and with others before and behind."""
    messages = [b"before", bytes(range(256)) * (length // 256) + bytes(length % 256), b"behind"]
    stream = b"".join(map(to_frame, messages))
    reader = FrameReader()

    pieces = [stream[at : at + piece_bytes] for at in range(0, len(stream), piece_bytes)]

    assert [message for piece in pieces for message in reader.feed(piece)] == messages
    assert reader.is_between_frames


def test_a_long_message_is_received_in_place() -> None:
    """Whoever has a socket need not copy what it received."""
    stream, reader = to_frame(bytes(100_000)) + to_frame(b"behind"), FrameReader()
    messages: list[bytes | bytearray] = []
    while stream:
        into = reader.buffer()
        count = min(len(into), len(stream))
        into[:count] = stream[:count]
        stream = stream[count:]
        messages += reader.filled(count)

    assert messages == [bytes(100_000), b"behind"]


def test_a_length_alone_costs_no_memory() -> None:
    """A stranger who announces a hundred megabytes has sent four bytes."""
    reader = FrameReader(WireLimits(frame_bytes=100 << 20))

    assert list(reader.feed(struct.pack(">i", 100 << 20))) == []
    assert len(reader.buffer()) <= 1 << 20


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
