"""The records of the offsets topic, byte by byte, and what is made of bad ones."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.broker.groups.offsets_partitions import java_hash, partition_of
from regent.broker.groups.offsets_records import (
    GroupKey,
    GroupValue,
    OffsetKey,
    OffsetValue,
    StoredMember,
    read_group,
    read_key,
    read_offset,
    write_group,
    write_key,
    write_offset,
)
from regent.broker.groups.record_bytes import string
from regent.broker.groups.subscriptions import subscribed_topics
from regent.errors import ProtocolError
from regent.model.ids import TopicPartition

# Written out by hand after OffsetCommitKey.json, OffsetCommitValue.json, GroupMetadataKey.json and
# GroupMetadataValue.json of Kafka 3.9: each line is a field.
GOLDEN_KEYS = [
    (OffsetKey("g", TopicPartition("t", 7)), "0001 0001 67 0001 74 00000007"),
    (GroupKey("gé"), "0002 0003 67 c3a9"),
]
GOLDEN_OFFSETS = [
    (
        OffsetValue(258, 5, "m", 1_000),
        "0003  0000000000000102  00000005  0001 6d  00000000000003e8",
    ),
    (
        OffsetValue(258, -1, "", 1_000, 2_000),
        "0001  0000000000000102  0000  00000000000003e8  00000000000007d0",
    ),
]
MEMBER = StoredMember(
    member_id="m",
    group_instance_id="i",
    client_id="c",
    client_host="/h",
    rebalance_timeout_ms=2,
    session_timeout_ms=1,
    subscription=b"\x01",
    assignment=b"\x02\x03",
)
GROUP = GroupValue(
    protocol_type="consumer",
    generation_id=4,
    protocol_name="range",
    leader_id="m",
    state_since_ms=9,
    members=(MEMBER,),
)
GOLDEN_GROUP = """
    0003  0008 636f6e73756d6572  00000004  0005 72616e6765  0001 6d  0000000000000009
    00000001  0001 6d  0001 69  0001 63  0002 2f68  00000002  00000001
    00000001 01  00000002 0203
"""


@pytest.mark.parametrize(("key", "content"), GOLDEN_KEYS)
def test_keys_are_kafka_s(key: OffsetKey | GroupKey, content: str) -> None:
    assert write_key(key).hex() == content.replace(" ", "")
    assert read_key(bytes.fromhex(content)) == key


@pytest.mark.parametrize(("value", "content"), GOLDEN_OFFSETS)
def test_offsets_are_kafka_s(value: OffsetValue, content: str) -> None:
    assert write_offset(value) == bytes.fromhex(content)
    assert read_offset(bytes.fromhex(content)) == value


def test_groups_are_kafka_s() -> None:
    assert write_group(GROUP) == bytes.fromhex(GOLDEN_GROUP)
    assert read_group(bytes.fromhex(GOLDEN_GROUP)) == GROUP


def test_an_empty_group_has_nulls() -> None:
    """Kafka writes no protocol and no leader, but the type of the members that were."""
    value = GroupValue(protocol_type="consumer", generation_id=5, state_since_ms=9)

    content = write_group(value)

    expected = "0003 0008 636f6e73756d6572 00000005 ffff ffff 0000000000000009 00000000"
    assert content == bytes.fromhex(expected)
    assert read_group(content) == value


def test_old_versions_are_read() -> None:
    """A log may have been written by any Kafka since 0.9."""
    head = "0008 636f6e73756d6572 00000004 0005 72616e6765 0001 6d"
    v0 = f"0000 {head} 00000001 0001 6d 0001 63 0002 2f68 00000001 00000001 01 00000002 0203"
    v1 = f"0001 {head} 00000001 0001 6d 0001 63 0002 2f68 00000002 00000001 00000001 01 00000000"
    v2 = f"0002 {head} 0000000000000009 00000000"

    old, middle = read_group(bytes.fromhex(v0)), read_group(bytes.fromhex(v1))
    assert (old.members[0].rebalance_timeout_ms, old.members[0].session_timeout_ms) == (1, 1)
    assert (middle.members[0].rebalance_timeout_ms, middle.state_since_ms) == (2, None)
    assert read_group(bytes.fromhex(v2)).state_since_ms == 9
    offset = "0000000000000102 0001 6d 00000000000003e8"
    for version in ("0000", "0002"):
        assert read_offset(bytes.fromhex(version + offset)) == OffsetValue(258, -1, "m", 1_000)
    # Version 0 of the key has the same fields.
    key = read_key(bytes.fromhex("0000 0001 67 0001 74 00000007"))
    assert key == OffsetKey("g", TopicPartition("t", 7))


def test_keys_of_other_features_are_none_of_ours() -> None:
    """KIP-848 begins at 3."""
    assert read_key(bytes.fromhex("0003 0001 67")) is None


@given(st.binary(max_size=60), st.sampled_from([read_key, read_offset, read_group]))
def test_no_bytes_do_more_than_a_protocol_error(content: bytes, read: object) -> None:
    """Disks and other programs write anything."""
    assert callable(read)
    with suppress(ProtocolError):
        read(content)


@given(st.integers(0, 80), st.integers(0, 255))
def test_no_damaged_group_does_more_than_a_protocol_error(position: int, byte: int) -> None:
    """One byte of a good record is another one, or all from there are missing."""
    content = bytearray(bytes.fromhex(GOLDEN_GROUP))
    position %= len(content)
    content[position] = byte
    for damaged in (bytes(content), bytes(content[:position])):
        with suppress(ProtocolError):
            read_group(damaged)


def test_an_array_that_claims_too_much_is_refused_before_it_is_counted() -> None:
    """Two billion members in twenty bytes."""
    content = bytes.fromhex("0003 0000 00000001 ffff ffff 0000000000000009 7fffffff")

    with pytest.raises(ProtocolError, match="2147483647 entries"):
        read_group(content)


def test_a_string_that_fits_nowhere_is_refused() -> None:
    with pytest.raises(ProtocolError, match="32768 bytes"):
        string("x" * 32_768)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("test", 3_556_498),
        ("Hello World", -862_545_276),
        ("\N{GRINNING FACE}", 1_772_899),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_names_are_hashed_as_java_does(text: str, value: int) -> None:
    """The last is the one int that Java cannot negate; Kafka then takes partition 0."""
    assert java_hash(text) == value
    assert partition_of(text, 50) == (0 if value == -(2**31) else abs(value) % 50)


def test_subscriptions_name_their_topics_in_every_version() -> None:
    """What follows the topics is not looked at."""
    one = bytes.fromhex("0000 00000001 0001 61 ffffffff")
    two = bytes.fromhex("0003 00000002 0001 61 0001 62 ffffffff 00000000 00000001 ffff")

    assert subscribed_topics([one, two]) == {"a": None, "b": None}
    assert subscribed_topics([one, b"?"]) is None
