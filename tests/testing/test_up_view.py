"""What `regent up` shows: brokers with what they carry, and what is wrong."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from regent.cli.up_view import PARTITIONS_SHOWN, picture, sentences
from regent.client.seen import BrokerSeen, ClusterSeen, PartitionSeen, TopicSeen
from regent.model.ids import NO_LEADER, BrokerId
from regent.testing.broker_process import BrokerProcess
from regent.testing.held_port import HeldPort

ONE, TWO = BrokerId(1), BrokerId(2)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """Broker 1, which was never started."""
    made = BrokerProcess(
        1,
        tmp_path,
        HeldPort(),
        journal_dir=tmp_path / "journal",
        properties=tmp_path / "none",
        rack="attic",
    )
    yield made
    made.end_for_good()


def seen(*partitions: PartitionSeen) -> ClusterSeen:
    """Broker 1 is alone and leads the cluster."""
    return ClusterSeen((BrokerSeen(ONE, "h", 1),), ONE, (TopicSeen("t", partitions),))


def offline(index: int) -> PartitionSeen:
    return PartitionSeen("t", index, NO_LEADER, (ONE, TWO), (TWO,))


def drawn(broker: BrokerProcess, cluster: ClusterSeen | None) -> str:
    output = StringIO()
    Console(file=output, width=120).print(picture([broker], cluster))
    return output.getvalue()


def test_the_table_shows_brokers_and_partitions(broker: BrokerProcess) -> None:
    text = drawn(broker, seen(PartitionSeen("t", 0, ONE, (ONE,), (ONE,)), offline(1)))

    words = [line.replace("│", " ").split() for line in text.splitlines()]
    assert ["1", broker.address, "attic", "down", "1", "2", "controller"] in words
    assert "1 topics, 2 partitions: 1 offline, 1 under-replicated" in text
    assert ["t-0", "1", "1", "1"] in words
    assert ["t-1", "none", "1,2", "2"] in words


def test_a_table_ends_somewhere(broker: BrokerProcess) -> None:
    text = drawn(broker, seen(*map(offline, range(PARTITIONS_SHOWN + 5))))

    assert f"t-{PARTITIONS_SHOWN - 1} " in text
    assert f"t-{PARTITIONS_SHOWN} " not in text
    assert "and 5 more" in text


def test_without_an_answer_the_brokers_are_shown_all_the_same(broker: BrokerProcess) -> None:
    text = drawn(broker, None)

    assert broker.address in text
    assert "no broker answers" in text


def test_elsewhere_it_is_said_in_sentences(broker: BrokerProcess) -> None:
    assert [line for _, line in sentences([broker], seen(offline(0)))] == [
        f"broker 1 at {broker.address}: down",
        "controller: broker 1",
        "1 topics, 1 partitions: 1 offline, 1 under-replicated",
    ]
    assert [line for _, line in sentences([broker], None)][-1] == "no broker answers"
