"""Four client libraries that nobody here wrote, as they are, against one cluster of three brokers.

All are asked the same. A topic and a group are named after the library and the test, so that no
test sees what another one has left.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import pytest

from regent.broker.groups.group_config import OFFSETS_TOPIC
from regent.broker.groups.offsets_partitions import partition_of
from regent.storage.record_batch import CheckedBatch
from regent.storage.records import batches_in
from regent.testing import Cluster
from tests.clients.aiokafka_library import AiokafkaLibrary
from tests.clients.client_library import (
    AdministeringLibrary,
    ClientAdmin,
    ClientLibrary,
    ClientMember,
)
from tests.clients.confluent_library import ConfluentLibrary
from tests.clients.kafka_python_library import KafkaPythonLibrary
from tests.clients.kcat_library import KcatLibrary, found_kcat
from tests.runtime.listener.clients import CLIENT_WARNINGS
from tests.support.waiting import eventually

pytestmark = [*CLIENT_WARNINGS, pytest.mark.requirement("K1")]

LIBRARIES: Final[Mapping[str, type[ClientLibrary]]] = {
    "kafka-python": KafkaPythonLibrary,
    "confluent-kafka": ConfluentLibrary,
    "aiokafka": AiokafkaLibrary,
    "kcat": KcatLibrary,
}
ADMINISTERING: Final = tuple(
    name for name, library in LIBRARIES.items() if issubclass(library, AdministeringLibrary)
)
#: Kafka's numbers for them, as they stand in a batch.
COMPRESSIONS: Final[Mapping[str, int]] = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
OFFSETS_PARTITIONS: Final = 4

#: A partition and a value.
Read: TypeAlias = tuple[int, bytes]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Tests mend what they break."""
    config = {"offsets.topic.num.partitions": OFFSETS_PARTITIONS, "default.replication.factor": 3}
    with Cluster(brokers=3, config=config) as started:
        yield started


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[ClientLibrary]:
    for noisy in ("kafka", "aiokafka"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    if request.param == "kcat" and found_kcat() is None:
        pytest.skip("kcat is not installed here: apt-get install kcat")
    made = LIBRARIES[request.param](cluster.bootstrap)
    yield made
    made.close()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name for what this test, with this library, makes."""
    kind, _, parameters = request.node.name.partition("[")
    return f"{kind}.{parameters.rstrip(']')}"


@pytest.fixture
def admin(library: ClientLibrary) -> Iterator[ClientAdmin]:
    assert isinstance(library, AdministeringLibrary)
    made = library.admin()
    yield made
    made.close()


def numbered(count: int, text: bytes = b"") -> list[bytes]:
    return [b"%d%s" % (number, text) for number in range(count)]


def produce_to_all(library: ClientLibrary, topic: str, count: int, value: bytes) -> set[Read]:
    """One record to each partition; idempotent, so that it is there once, whatever happens."""
    for partition in range(count):
        library.produce(topic, [value], partition=partition, is_idempotent=True)
    return {(partition, value) for partition in range(count)}


def read_by(*members: ClientMember, expected: set[Read]) -> list[list[Read]]:
    """What each member reads until all of them together have read all that is expected."""
    found: list[list[Read]] = [[] for _ in members]

    def look() -> bool:
        for read, member in zip(found, members, strict=True):
            read.extend(member.poll())
        return expected <= {each for read in found for each in read}

    eventually(look, f"the records {sorted(expected)}")
    return found


def test_what_is_written_is_read_in_order(library: ClientLibrary, name: str) -> None:
    """To a topic that is made on the way."""
    sent = numbered(100)
    library.produce(name, sent)

    assert library.read(name, len(sent)) == sent
    assert name in library.topics()


def test_an_idempotent_producer_writes(library: ClientLibrary, name: str, cluster: Cluster) -> None:
    cluster.create_topic(name)
    sent = numbered(100)
    library.produce(name, sent, is_idempotent=True)

    assert library.read(name, len(sent)) == sent
    assert {batch.header.producer_id >= 0 for batch in stored(cluster, name)} == {True}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_batches_stay_as_their_producer_compressed_them(
    library: ClientLibrary, name: str, cluster: Cluster, compression: str
) -> None:
    cluster.create_topic(name)
    # Something that becomes smaller; librdkafka sends it as it is otherwise.
    sent = numbered(50, b"x" * 200)
    library.produce(name, sent, compression=compression)

    assert library.read(name, len(sent)) == sent
    codecs = {batch.header.compression for batch in stored(cluster, name)}
    assert codecs == {COMPRESSIONS[compression]}


def stored(cluster: Cluster, topic: str) -> list[CheckedBatch]:
    """The batches of partition 0 as its leader has them on disk."""
    folder = cluster.broker(cluster.leader(topic)).data_dir / f"{topic}-0"
    return [batch for log in folder.glob("*.log") for batch in batches_in(log.read_bytes())]


def test_a_second_member_gets_its_share_until_it_leaves(
    library: ClientLibrary, name: str, cluster: Cluster
) -> None:
    cluster.create_topic(name, partitions=4)

    with library.join(name, name) as first:
        read_by(first, expected=produce_to_all(library, name, 4, b"alone"))
        first.commit()
        with library.join(name, name) as second:
            eventually(lambda: shares(first, second) == [2, 2], "a fair share for both")
            together = produce_to_all(library, name, 4, b"together")
            by_first, by_second = map(set, read_by(first, second, expected=together))
            assert by_first & together == {(each, b"together") for each in first.assigned()}
            assert by_second & together == {(each, b"together") for each in second.assigned()}
        eventually(lambda: shares(first) == [4], "all for the one that is left")
        read_by(first, expected=produce_to_all(library, name, 4, b"alone again"))


def shares(*members: ClientMember) -> list[int]:
    """How many partitions each has; some go on only while they poll."""
    for member in members:
        member.poll()
    return [len(member.assigned()) for member in members]


def test_what_is_committed_outlives_the_coordinator(
    library: ClientLibrary, name: str, cluster: Cluster
) -> None:
    """With it dies the leader of some of the partitions that the group reads."""
    cluster.create_topic(name, partitions=3)
    with library.join(name, name) as member:
        read_by(member, expected=produce_to_all(library, name, 3, b"before"))
    coordinator = cluster.leader(OFFSETS_TOPIC, partition_of(name, OFFSETS_PARTITIONS))

    cluster.kill(coordinator)
    try:
        after = produce_to_all(library, name, 3, b"after")
        with library.join(name, name) as member:
            (found,) = read_by(member, expected=after)
    finally:
        cluster.start(coordinator)

    assert set(found) == after


@pytest.mark.parametrize("library", ADMINISTERING, indirect=True)
def test_a_topic_is_made_described_grown_and_deleted(
    admin: ClientAdmin, library: ClientLibrary, name: str
) -> None:
    admin.create_topic(name, 2, {"retention.ms": "86400000"})
    eventually(lambda: library.topics().get(name) == 2, "the topic")
    assert admin.config(name, "retention.ms") == "86400000"

    admin.grow_topic(name, 3)
    eventually(lambda: library.topics().get(name) == 3, "the new partition")

    admin.delete_topic(name)
    eventually(lambda: name not in library.topics(), "the deletion")


@pytest.mark.parametrize("library", ADMINISTERING, indirect=True)
def test_what_a_group_has_committed_can_be_asked(
    admin: ClientAdmin, library: ClientLibrary, name: str, cluster: Cluster
) -> None:
    cluster.create_topic(name, partitions=2)
    library.produce(name, numbered(3), partition=0)
    library.produce(name, numbered(5), partition=1)
    with library.join(name, name) as member:
        read_by(member, expected={(0, b"2"), (1, b"4")})

    assert admin.committed(name) == {0: 3, 1: 5}
