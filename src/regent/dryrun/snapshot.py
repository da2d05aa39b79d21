"""A cluster's state in a file: what a controller would find if it took office now.

The format is described in `docs/what-if.md`. Reading is strict: an unknown key may be a misspelt
one, and an answer about half of a cluster is worse than none. Every refusal says where in the file
it stands and what to do.
"""

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from regent.errors import BadInput

SNAPSHOT_VERSION: Final = 1
MIN_ISR: Final = "min.insync.replicas"
_COMPRESSED: Final = ".gz"
_BYTE: Final = re.compile(r"\(byte (\d+)\)")

Whole = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1)]


class SnapshotEndpoint(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One address at which a broker listens."""

    host: str
    port: int
    listener: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"


class SnapshotBroker(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A registered broker. One that is not registered is not in the file."""

    id: Whole
    rack: str | None = None
    #: Which life of the broker it is: the czxid of its registration.
    epoch: Whole = 0
    endpoints: tuple[SnapshotEndpoint, ...] = ()


class SnapshotLeadership(
    Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True
):
    """A partition's state znode."""

    #: -1: nobody.
    leader: Annotated[int, Meta(ge=-1)]
    isr: tuple[Whole, ...]
    leader_epoch: Whole = 0
    controller_epoch: Whole = 0
    zk_version: Whole = 0
    recovering: bool = False


class SnapshotPartition(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A partition: its replicas, those coming and going, and who leads."""

    partition: Whole
    replicas: Annotated[tuple[Whole, ...], Meta(min_length=1)]
    adding: tuple[Whole, ...] = ()
    removing: tuple[Whole, ...] = ()
    #: None: nobody has ever led it.
    leadership: SnapshotLeadership | None = None


class SnapshotTopic(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A topic with what is set on it and its partitions."""

    name: Name
    partitions: tuple[SnapshotPartition, ...]
    id: Name | None = None
    configs: dict[str, str] = {}
    #: Whether it is marked for deletion.
    deleting: bool = False


class Snapshot(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A whole cluster."""

    version: int
    brokers: tuple[SnapshotBroker, ...]
    topics: tuple[SnapshotTopic, ...]
    #: The dynamic defaults of all brokers.
    broker_defaults: dict[str, str] = {}
    #: When it was taken, in milliseconds since 1970; None: the file does not say.
    at_ms: Whole | None = None
    #: Which cluster it is of; None: the file does not say.
    cluster: Name | None = None

    def partition_count(self) -> int:
        """Over all topics."""
        return sum(len(topic.partitions) for topic in self.topics)


class _SnapshotStamp(Struct):
    """The part that every version of the format has."""

    version: int


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Snapshot)
_stamp_decoder: Final = msgspec.json.Decoder(_SnapshotStamp)


# --- files ------------------------------------------------------------------------------------


def write_snapshot(snapshot: Snapshot, path: Path) -> None:
    """Keep a snapshot in a file, compressed if its name ends in `.gz`."""
    content = encode_snapshot(snapshot)
    if path.suffix == _COMPRESSED:
        # Without the time, so that equal snapshots are equal files.
        content = gzip.compress(content, mtime=0)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise BadInput(
            f"cannot write the snapshot {path}: {error.strerror}; choose another place for it"
        ) from error


def read_snapshot(path: Path) -> Snapshot:
    """A snapshot from a file, or a clear word on why not."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"cannot read the snapshot {path}: {error.strerror}; `regent snapshot` writes one"
        ) from error
    if path.suffix == _COMPRESSED:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(
                f"{path} is not a gzip file, or not all of one: {error}; copy it again, or name it "
                f"without {_COMPRESSED} if it is plain JSON"
            ) from error
    return decode_snapshot(content, str(path))


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """JSON with one topic on a line, so that two snapshots can be compared with common tools."""
    optional = {"cluster": snapshot.cluster, "at_ms": snapshot.at_ms}
    head = {
        "version": snapshot.version,
        **{key: value for key, value in optional.items() if value is not None},
        "brokers": snapshot.brokers,
        "broker_defaults": snapshot.broker_defaults,
    }
    opening = b",\n".join(
        _encoder.encode(key) + b": " + _encoder.encode(value) for key, value in head.items()
    )
    topics = b",\n  ".join(_encoder.encode(topic) for topic in snapshot.topics)
    return b"{\n" + opening + b',\n"topics": [\n  ' + topics + b"\n]\n}\n"


def decode_snapshot(content: bytes, where: str) -> Snapshot:
    """The snapshot in these bytes; `where` is what a complaint calls them."""
    try:
        snapshot = _decoder.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        _refuse_other_version(content, where)
        raise BadInput(
            f"{where} is not a snapshot: {_located(str(error), content)}; docs/what-if.md describes"
            " the format, and `regent snapshot` writes one"
        ) from error
    if snapshot.version != SNAPSHOT_VERSION:
        raise _other_version(where, snapshot.version)
    _check(snapshot, where)
    return snapshot


def _refuse_other_version(content: bytes, where: str) -> None:
    """What does not fit this format may fit another."""
    try:
        version = _stamp_decoder.decode(content).version
    except (msgspec.DecodeError, UnicodeDecodeError):
        return
    if version != SNAPSHOT_VERSION:
        raise _other_version(where, version)


def _other_version(where: str, version: int) -> BadInput:
    return BadInput(
        f"{where} has version {version} of the format, and this Regent reads version"
        f" {SNAPSHOT_VERSION}; write the snapshot again with this Regent"
    )


def _located(complaint: str, content: bytes) -> str:
    """Bytes are hard to count; lines are not."""
    found = _BYTE.search(complaint)
    if found is None:
        return complaint
    line = content.count(b"\n", 0, int(found[1])) + 1
    return _BYTE.sub(f"(line {line})", complaint)


# --- what the types cannot say ----------------------------------------------------------------


def _check(snapshot: Snapshot, where: str) -> None:
    _refuse_twins((broker.id for broker in snapshot.brokers), f"{where}: broker")
    _refuse_twins((topic.name for topic in snapshot.topics), f"{where}: topic")
    ids = (topic.id for topic in snapshot.topics if topic.id is not None)
    _refuse_twins(ids, f"{where}: topic id")
    _check_min_isr(snapshot.broker_defaults, f"{where}: broker_defaults")
    for topic in snapshot.topics:
        at_topic = f"{where}: topic {topic.name!r}"
        _check_min_isr(topic.configs, at_topic)
        indexes = [partition.partition for partition in topic.partitions]
        if len(frozenset(indexes)) < len(indexes):
            _refuse_twins(indexes, f"{at_topic}: partition")
        for partition in topic.partitions:
            _check_partition(partition, at_topic)


def _refuse_twins(values: Iterable[Any], what: str) -> None:
    """Which of the two to believe nobody can tell."""
    seen = set()
    for value in values:
        if value in seen:
            raise BadInput(f"{what} {value} is there twice; leave one of them")
        seen.add(value)


def _check_min_isr(configs: dict[str, str], at: str) -> None:
    said = configs.get(MIN_ISR)
    if said is not None and not (said.isascii() and said.isdigit() and int(said) > 0):
        raise BadInput(f"{at}: {MIN_ISR} is {said!r}; make it a whole number from 1 on")


def _check_partition(partition: SnapshotPartition, at_topic: str) -> None:
    replicas = partition.replicas
    lists = [("replicas", replicas), ("adding", partition.adding), ("removing", partition.removing)]
    if partition.leadership is not None:
        lists.append(("isr", partition.leadership.isr))
    for name, members in lists:
        if len(frozenset(members)) < len(members):
            _refuse_twins(members, f"{at_topic}: partition {partition.partition}: {name}: broker")
    for name, members in lists[1:3]:
        strangers = [member for member in members if member not in replicas]
        if strangers:
            raise BadInput(
                f"{at_topic}: partition {partition.partition}: {name} names broker {strangers[0]},"
                f" which is not in replicas; while a partition moves, replicas has them all"
            )
