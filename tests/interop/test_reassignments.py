"""Partitions that Apache's own tool moves between Apache's brokers."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop.apache_tools import Tool
from tests.interop.led_cluster import LedCluster
from tests.interop.operator_tools import Operator, write_plan
from tests.runtime.listener.clients import CLIENT_WARNINGS, confluent

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

#: Bytes in a second: far too few for what is moved, so that the move lasts until somebody ends it.
CRAWL: Final = "1000"
SPRINT: Final = "1000000000"
RECORDS: Final = 2_000
ANSWER_S: Final = 120.0


def create_with_content(led: LedCluster, topic: str) -> tuple[int, int, int]:
    """A partition on two brokers, with two megabytes; those two, and the third broker."""
    led.tool(
        *(Tool.TOPICS, "--create", "--topic", topic),
        *("--partitions", "1", "--replication-factor", "2"),
    )
    led.apache.wait_until_led(topic)
    producer: Any = confluent.Producer({"bootstrap.servers": led.apache.bootstrap, "acks": "all"})
    for _ in range(RECORDS):
        producer.produce(topic, bytes(1_000))
    assert producer.flush(ANSWER_S) == 0
    first, second = led.apache.partition(topic).assignment.replicas
    (third,) = set(led.apache.broker_ids) - {first, second}
    return first, second, third


def reassign(led: LedCluster, *arguments: str) -> str:
    return led.tool(Tool.REASSIGN, *arguments)


def is_moving(led: LedCluster, topic: str) -> bool:
    return bool(led.apache.partition(topic).assignment.adding)


def test_apaches_tool_moves_a_partition(led: LedCluster, tmp_path: Path) -> None:
    """And says by itself that it is done."""
    _, second, third = create_with_content(led, "moved")
    plan = write_plan(tmp_path, "moved", (third, second))

    reassign(led, "--execute", "--reassignment-json-file", plan)
    Operator(led.apache).wait_until_moved("moved", (third, second))

    told = reassign(led, "--verify", "--reassignment-json-file", plan)
    assert "Reassignment of partition moved-0 is complete" in told.replace("completed", "complete")


def test_a_move_can_be_cancelled(led: LedCluster, tmp_path: Path) -> None:
    """All is as it was before, on disks too if the brokers can; only the order is the plan's."""
    first, second, third = create_with_content(led, "cancelled")
    plan = write_plan(tmp_path, "cancelled", (third, second))
    reassign(led, "--execute", "--reassignment-json-file", plan, "--throttle", CRAWL)
    led.apache.wait_for(lambda: is_moving(led, "cancelled"), "the move to begin")

    reassign(led, "--cancel", "--reassignment-json-file", plan)

    Operator(led.apache).wait_until_moved("cancelled", (second, first))
    if led.apache.mode.forgets_cancelled_replicas:
        led.apache.wait_for(lambda: not replicas_of(led, third, "cancelled"), "its replica to go")


def test_a_move_goes_on_under_the_next_controllers(led: LedCluster, tmp_path: Path) -> None:
    """Begun under Regent, found by a Java controller, and ended under Regent again."""
    _, second, third = create_with_content(led, "resumed")
    plan = write_plan(tmp_path, "resumed", (third, second))
    reassign(led, "--execute", "--reassignment-json-file", plan, "--throttle", CRAWL)
    led.apache.wait_for(lambda: is_moving(led, "resumed"), "the move to begin")

    before = led.apache.holder().controller_epoch
    led.regent.kill()
    between = led.apache.holder(after=before)
    assert between.node_id in led.apache.broker_ids
    led.apache.wait_until_followed(between.node_id)
    assert is_moving(led, "resumed")
    led.regent.take_office("--take-over")
    assert is_moving(led, "resumed")

    sprint = ("--additional", "--throttle", SPRINT)
    reassign(led, "--execute", "--reassignment-json-file", plan, *sprint)
    Operator(led.apache).wait_until_moved("resumed", (third, second))


def replicas_of(led: LedCluster, broker_id: int, topic: str) -> list[Path]:
    return [
        folder
        for log_dir in led.apache.broker(broker_id).log_dirs
        for folder in log_dir.glob(f"{topic}-0")
    ]
