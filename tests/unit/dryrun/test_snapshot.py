"""Snapshots in files: what is written can be read, and what cannot be read is said clearly."""

import gzip
from pathlib import Path

import msgspec
import pytest

from regent.dryrun.snapshot import (
    SnapshotBroker,
    SnapshotEndpoint,
    SnapshotLeadership,
    SnapshotPartition,
    decode_snapshot,
    encode_snapshot,
    read_snapshot,
    write_snapshot,
)
from regent.errors import BadInput
from tests.unit.dryrun.builders import cluster, partition, topic

FULL = msgspec.structs.replace(
    cluster(
        topic("moving", SnapshotPartition(0, (1, 2, 3), (3,), (1,)), min_insync_replicas="2"),
        topic("never-led", SnapshotPartition(4, (2,))),
        msgspec.structs.replace(topic("going", partition(0, 1)), deleting=True),
        topic(
            "recovering",
            SnapshotPartition(0, (3, 1), leadership=SnapshotLeadership(-1, (3,), 7, 5, 9, True)),
        ),
        topic("empty"),
    ),
    brokers=(
        SnapshotBroker(3, "a", 17, (SnapshotEndpoint("h", 9092, "INSIDE", "SSL"),)),
        SnapshotBroker(1),
    ),
    broker_defaults={"min.insync.replicas": "2"},
)


@pytest.mark.parametrize("name", ["cluster.json", "cluster.json.gz"])
def test_what_is_written_is_read_back_equal(name: str, tmp_path: Path) -> None:
    """Every field of the format, in both forms of the file."""
    path = tmp_path / name

    write_snapshot(FULL, path)

    assert read_snapshot(path) == FULL


def test_a_file_called_gz_is_compressed_and_the_same_each_time(tmp_path: Path) -> None:
    """Equal snapshots are equal files, so that a checksum tells whether anything changed."""
    path = tmp_path / "cluster.json.gz"

    write_snapshot(FULL, path)

    content = path.read_bytes()
    assert gzip.decompress(content) == encode_snapshot(FULL)
    assert content[4:8] == bytes(4), "gzip would have the time here"


def test_each_topic_has_a_line_of_its_own() -> None:
    """Two snapshots can be compared with the tools that everybody has."""
    lines = encode_snapshot(FULL).decode().splitlines()

    assert sum('"name":' in line for line in lines) == len(FULL.topics)


def test_a_cluster_without_topics_can_be_kept() -> None:
    """An empty list is written as one."""
    assert decode_snapshot(encode_snapshot(cluster()), "it") == cluster()


BROKERS = '"brokers": [{"id": 1}]'


def topics(listed: str) -> str:
    """A file with these topics."""
    return f'{{"version": 1, {BROKERS}, "topics": [{listed}]}}'


def whole(partitions: str) -> str:
    """A file with one topic of these partitions."""
    return topics(f'{{"name": "t", "partitions": [{partitions}]}}')


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "it is not a snapshot: Input data was truncated"),
        ('{"version": 1,\n"brokers": oops}', "(line 2)"),
        ("[]", "Expected `object`, got `array`"),
        ("\xff", "it is not a snapshot"),
        ('{"seed": 7}', "unknown field `seed`"),
        ('{"brokers": [], "topics": []}', "missing required field `version`"),
        (f'{{"version": 2, {BROKERS}, "topics": []}}', "it has version 2 of the format"),
        ('{"version": 9, "nodes": []}', "it has version 9 of the format"),
        (f'{{"version": "1", {BROKERS}, "topics": []}}', "Expected `int`, got `str`"),
        (f'{{"version": 1, {BROKERS}, "topics": [], "x": 1}}', "unknown field `x`"),
        ('{"version": 1, "brokers": [{"id": 1, "zone": "a"}], "topics": []}', "unknown field"),
        ('{"version": 1, "brokers": [{"id": -1}], "topics": []}', "at `$.brokers[0].id`"),
        (
            '{"version": 1, "brokers": [{"id": 1}, {"id": 1}], "topics": []}',
            "it: broker 1 is there twice; leave one of them",
        ),
        (
            topics('{"name": "t", "partitions": []}, {"name": "t", "partitions": []}'),
            "it: topic t is there twice",
        ),
        (
            topics(", ".join(f'{{"name": "{n}", "id": "i", "partitions": []}}' for n in "ab")),
            "it: topic id i is there twice",
        ),
        (whole('{"partition": -1, "replicas": [1]}'), "`$.topics[0].partitions[0].partition`"),
        (whole('{"partition": 0, "replicas": []}'), "length >= 1"),
        (whole('{"partition": 0, "replicas": [1, -2]}'), "`$.topics[0].partitions[0].replicas[1]`"),
        (whole('{"partition": 0, "replicas": ["1"]}'), "Expected `int`, got `str`"),
        (
            whole('{"partition": 0, "replicas": [1]}, {"partition": 0, "replicas": [2]}'),
            "it: topic 't': partition 0 is there twice",
        ),
        (
            whole('{"partition": 0, "replicas": [1, 2, 1]}'),
            "topic 't': partition 0: replicas: broker 1 is there twice",
        ),
        (
            whole('{"partition": 0, "replicas": [1, 2], "adding": [3]}'),
            "partition 0: adding names broker 3, which is not in replicas",
        ),
        (
            whole('{"partition": 0, "replicas": [1, 2], "removing": [3]}'),
            "partition 0: removing names broker 3, which is not in replicas",
        ),
        (
            whole('{"partition": 0, "replicas": [1], "leadership": {"leader": 1}}'),
            "missing required field `isr`",
        ),
        (
            whole('{"partition": 0, "replicas": [1], "leadership": {"leader": -2, "isr": [1]}}'),
            ">= -1",
        ),
        (
            whole('{"partition": 0, "replicas": [1], "leadership": {"leader": 1, "isr": [1, 1]}}'),
            "partition 0: isr: broker 1 is there twice",
        ),
        (
            topics('{"name": "t", "partitions": [], "configs": {"min.insync.replicas": "two"}}'),
            "topic 't': min.insync.replicas is 'two'; make it a whole number from 1 on",
        ),
        (
            topics("")[:-1] + ', "broker_defaults": {"min.insync.replicas": "0"}}',
            "broker_defaults: min.insync.replicas is '0'",
        ),
    ],
)
def test_a_bad_snapshot_is_refused_with_where_and_why(content: str, complaint: str) -> None:
    """An answer about half of a cluster is worse than none."""
    with pytest.raises(BadInput) as refused:
        decode_snapshot(content.encode("latin-1"), "it")

    assert complaint in str(refused.value)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    """With the command that makes one."""
    with pytest.raises(BadInput, match="No such file or directory; `regent snapshot` writes one"):
        read_snapshot(tmp_path / "none.json")


@pytest.mark.parametrize(
    "content", [b'{"version": 1}', gzip.compress(b"x" * 99, mtime=0)[:-9]], ids=["plain", "torn"]
)
def test_a_gz_file_that_is_not_one_is_refused(content: bytes, tmp_path: Path) -> None:
    """Plain JSON under the wrong name, and a download cut short."""
    path = tmp_path / "cluster.json.gz"
    path.write_bytes(content)

    with pytest.raises(BadInput, match="is not a gzip file, or not all of one"):
        read_snapshot(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(BadInput, match=r"cannot write the snapshot .*; choose another place"):
        write_snapshot(cluster(), tmp_path / "no" / "such" / "place.json")
