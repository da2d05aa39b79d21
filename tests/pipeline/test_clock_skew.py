"""How far clocks are apart, on exchanges whose truth is known (Q1)."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from regent.pipeline import schemas
from regent.pipeline.clock_skew import clock_offsets, with_corrected_times
from regent.pipeline.sources.state_change_log import read_state_change_log
from tests.pipeline.log_builders import START_MS, said, write_log

pytestmark = pytest.mark.requirement("Q1")

STATE = "LeaderAndIsrPartitionState(topicName='t', partitionIndex=0, controllerEpoch={epoch},"
REST = (
    " isr=[2], zkVersion=7, replicas=[2, 3], addingReplicas=[], removingReplicas=[], isNew=false)"
)


class Nodes:
    """Nodes that write to their own logs by their own clocks."""

    def __init__(self, **ahead_ms: int) -> None:
        self.ahead_ms = {int(name.removeprefix("node")): ms for name, ms in ahead_ms.items()}
        self._lines: dict[int, list[str]] = {node: [] for node in self.ahead_ms}

    def say(self, node: int, at_ms: int, sentence: str) -> None:
        """A line in the log of a node, with the time that its clock shows then."""
        self._lines[node].append(said(at_ms + self.ahead_ms[node], sentence, "TRACE"))

    def exchange(self, at_ms: int, controller: int, broker: int, number: int) -> None:
        """A request of which all is said: it takes 10 ms to arrive, and 20 ms to be answered."""
        told = f"[Controller id={controller} epoch={controller}]"
        state = STATE.format(epoch=controller) + f" leader=2, leaderEpoch={number}," + REST
        self.say(
            controller,
            at_ms,
            f"{told} Sending become-leader LeaderAndIsr request {state} to broker {broker}"
            " for partition t-0",
        )
        self.say(
            broker,
            at_ms + 10,
            f"[Broker id={broker}] Received LeaderAndIsr request {state} correlation id {number}"
            f" from controller {controller} epoch {controller}",
        )
        self.answer(at_ms + 30, controller, broker, number)

    def answer(self, at_ms: int, controller: int, broker: int, number: int) -> None:
        """The controller hears from a broker."""
        self.say(
            controller,
            at_ms,
            f"[Controller id={controller} epoch={controller}] Received response {{error_code=0}}"
            f" for request LEADER_AND_ISR with correlation id {number} sent to broker h:9092"
            f" (id: {broker} rack: null)",
        )

    def write(self, directory: Path) -> str:
        """All logs, each in a directory of its own."""
        for node, lines in self._lines.items():
            write_log(directory / f"node{node}" / "state-change.log", lines)
        return str(directory)


@pytest.fixture
def exchanges(tmp_path: Path) -> str:
    nodes = Nodes(node1=0, node2=5_000, node3=-700, node4=3, node5=0, node6=200)
    for number in range(3):
        nodes.exchange(1_000 * number, 1, 2, number)
        nodes.exchange(1_000 * number + 100, 1, 4, number)
    nodes.exchange(9_000, 2, 3, 0)  # 3 never heard of 1
    # The clock of 5 is set in the middle.
    nodes.exchange(10_000, 1, 5, 0)
    nodes.ahead_ms[5] = 60_000
    nodes.exchange(11_000, 1, 5, 1)
    # Nobody said when these were sent, only that one was answered before the next.
    for number, at_ms in enumerate((12_000, 12_070)):
        nodes.say(
            6,
            at_ms + 10,
            "[Broker id=6] Add 1 partitions and deleted 0 partitions from metadata cache in"
            " response to UpdateMetadata request sent by controller 1 epoch 1"
            f" with correlation id {number}",
        )
        nodes.answer(at_ms + 30, 1, 6, number)
    return nodes.write(tmp_path)


def test_offsets_are_found_within_their_bounds(spark: SparkSession, exchanges: str) -> None:
    transitions = read_state_change_log(spark, exchanges).localCheckpoint()

    offsets = clock_offsets(transitions).localCheckpoint()

    assert schemas.table(*((f.name, f.dataType) for f in offsets.schema.fields)) == (
        schemas.CLOCK_OFFSETS
    )
    assert [tuple(row) for row in offsets.orderBy("reporter_id").collect()] == [
        ("kafka", 1, 1, 0.0, 0, 0, 0, True),
        ("kafka", 2, 1, 4_995.0, 4_980, 5_010, 3, True),
        ("kafka", 3, 1, -710.0, -740, -680, 1, True),
        ("kafka", 4, 1, -2.0, -17, 13, 3, True),
        ("kafka", 5, 1, None, 59_980, 10, 2, False),
        ("kafka", 6, 1, 215.0, 180, 250, 2, True),
    ]
    corrected = with_corrected_times(transitions, offsets)
    assert corrected.columns == transitions.columns
    first = corrected.groupBy("reporter_id").agg({"at_ms": "min"}).orderBy("reporter_id").collect()
    assert [(row[0], row[1] - START_MS) for row in first] == [
        (1, 0),
        (2, 15),  # truly 10
        (3, 9_020),  # truly 9 010
        (4, 113),  # may well be right, so left alone
        (5, 10_010),
        (6, 11_995),  # truly 12 010
    ]


def test_lines_that_only_count_are_paired_by_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What Kafka 2.6 and later write by default: no answers, so each way gives one bound."""
    nodes = Nodes(node1=0, node2=500, node3=0, node4=0)

    def send(at_ms: int, controller: int, broker: int, number: int) -> None:
        nodes.say(
            controller,
            at_ms,
            f"[Controller id={controller} epoch={controller}] Sending LeaderAndIsr request to"
            f" broker {broker} with {number} become-leader and 1 become-follower partitions",
        )

    def receive(at_ms: int, controller: int, broker: int, number: int) -> None:
        update = f"UpdateMetadata request sent by controller {controller} epoch {controller}"
        nodes.say(
            broker,
            at_ms - 1,
            f"[Broker id={broker}] Add 0 partitions and deleted 0 partitions from metadata cache"
            f" in response to {update} with correlation id {90 + number}",
        )
        nodes.say(
            broker,
            at_ms,
            f"[Broker id={broker}] Handling LeaderAndIsr request correlationId {number} from"
            f" controller {controller} for {number + 1} partitions",
        )

    for number in range(3):
        send(1_000 * number, 1, 2, number)
        receive(1_000 * number + 40, 1, 2, number)
    send(4_000, 2, 1, 0)
    receive(4_020, 2, 1, 0)
    send(5_000, 1, 3, 7)  # got lost, so that 3 has heard of one request less than it was sent
    send(6_000, 1, 3, 7)
    receive(6_010, 1, 3, 7)
    send(7_000, 1, 4, 5)  # not the request that 4 speaks of
    receive(7_010, 1, 4, 8)

    transitions = read_state_change_log(spark, nodes.write(tmp_path)).localCheckpoint()
    offsets = clock_offsets(transitions)

    assert [tuple(row)[1:] for row in offsets.orderBy("reporter_id").collect()] == [
        (1, 1, 0.0, 0, 0, 0, True),
        (2, 1, 510.0, 480, 540, 4, True),
    ]
