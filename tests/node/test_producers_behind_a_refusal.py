"""Batches of idempotent producers that were refused for now hold up those behind them."""

import asyncio
from pathlib import Path

import pytest

from regent.model.error_codes import ErrorCode
from regent.model.record_requests import PartitionRecords, Produce
from regent.node import admission
from regent.node.apis import k00_produce
from regent.node.broker_host import log_of
from tests.node.late_leader import TOPIC
from tests.node.nodes import Nodes
from tests.node.one_broker import OneBroker, with_broker
from tests.runtime.listener.clients import CLIENT_WARNINGS, confluent, confluent_admin
from tests.storage.batches import batch_of
from tests.support.real_zookeeper import fresh_options
from tests.unit.broker.wiring import B1, B2, T0, leader_and_isr, leadership

pytestmark = CLIENT_WARNINGS

NONE = ErrorCode.NONE
NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def produced(
    broker: OneBroker, *sequences: int, epoch: int = 0, producer_id: int = 7
) -> list[ErrorCode]:
    """What a producer is told about batches of one record each."""
    told = []
    for sequence in sequences:
        content = batch_of(
            b"%d" % sequence,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )
        request = Produce(-1, 60_000, (PartitionRecords(T0, content),))
        (result,) = (await broker.ask(k00_produce.answer, request)).results
        told.append(ErrorCode(result.error))
    return told


def follow(broker: OneBroker, epoch: int) -> None:
    broker.host.control(leader_and_isr((T0, leadership(B2, epoch=epoch))))


def test_a_batch_behind_one_that_was_turned_away_is_turned_away(tmp_path: Path) -> None:
    """Were it called out of order, librdkafka would repeat batch 1, which is stored."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await produced(broker, 0, 1) == [NONE, NONE]
        follow(broker, epoch=2)
        assert await produced(broker, 1, 2) == [NOT_LEADER, NOT_LEADER]
        broker.lead(T0, epoch=3)
        assert await produced(broker, 3, 4) == [NOT_LEADER, NOT_LEADER]
        assert await produced(broker, 1, 2, 3, 4) == [NONE] * 4
        assert log_of(broker.host.core.hosted[T0]).end_offset == 5
        assert await produced(broker, 6) == [OUT_OF_ORDER]

    with_broker(tmp_path, script)


def test_a_producer_that_is_not_known_yet_begins_with_its_first_batch(tmp_path: Path) -> None:
    """Were a later one taken, the first could never be stored any more."""

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 0, 1) == [NOT_LEADER, NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 2) == [NOT_LEADER]
        assert await produced(broker, 5, producer_id=8) == [NONE]
        assert await produced(broker, 0, 1, 2) == [NONE] * 3

    with_broker(tmp_path, script)


def test_a_batch_that_comes_before_is_not_held_up(tmp_path: Path) -> None:
    """It was under way to another leader meanwhile. Those behind it still wait for all of them."""

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 1) == [NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 0, 2, 1, 2) == [NONE, NOT_LEADER, NONE, NONE]

    with_broker(tmp_path, script)


def test_whoever_was_turned_away_first_is_awaited_over_all_changes(tmp_path: Path) -> None:
    """Batch 2 was only held up, so that there is a gap between what was turned away."""

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 0, 1) == [NOT_LEADER, NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 2) == [NOT_LEADER]
        follow(broker, epoch=3)
        assert await produced(broker, 3) == [NOT_LEADER]
        broker.lead(T0, epoch=4)
        assert await produced(broker, 4) == [NOT_LEADER]
        assert await produced(broker, 0, 1, 2, 3, 4) == [NONE] * 5

    with_broker(tmp_path, script)


def test_a_batch_whose_leader_steps_down_before_it_is_safe_is_awaited(tmp_path: Path) -> None:
    """It is cut off the log later: nothing but the refusal says that it ever was."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0, isr=(B1, B2))
        unsafe = asyncio.create_task(produced(broker, 0))
        await asyncio.sleep(0)
        follow(broker, epoch=2)
        assert await unsafe == [NOT_LEADER]
        broker.store.open(T0).truncate_to(0)
        broker.lead(T0, epoch=3)
        assert await produced(broker, 1) == [NOT_LEADER]
        assert await produced(broker, 0, 1) == [NONE, NONE]

    with_broker(tmp_path, script)


def test_too_few_in_sync_hold_up_as_well(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        broker.host.core.min_isr["t"] = 2
        broker.lead(T0, isr=(B1,))
        few = ErrorCode.NOT_ENOUGH_REPLICAS
        assert await produced(broker, 0) == [few]
        broker.host.core.min_isr["t"] = 1
        assert await produced(broker, 1) == [few]
        assert await produced(broker, 0, 1) == [NONE, NONE]

    with_broker(tmp_path, script)


def test_what_is_lost_is_told_to_the_first_that_comes_again(tmp_path: Path) -> None:
    """It waits for nobody: there is a gap in the log itself."""

    async def script(broker: OneBroker) -> None:
        broker.lead(T0)
        assert await produced(broker, 0) == [NONE]
        follow(broker, epoch=2)
        assert await produced(broker, 2, 3) == [NOT_LEADER, NOT_LEADER]
        broker.lead(T0, epoch=3)
        assert await produced(broker, 2) == [OUT_OF_ORDER]

    with_broker(tmp_path, script)


def test_a_producer_that_went_on_elsewhere_is_not_held_up(tmp_path: Path) -> None:
    """What it was refused here long ago came to this log by another leader."""

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 0, 1) == [NOT_LEADER, NOT_LEADER]
        elsewhere = batch_of(b"0", b"1", b"2", producer_id=7, producer_epoch=0, base_sequence=0)
        assert broker.store.open(T0).append_entries(elsewhere) is None
        broker.lead(T0, epoch=2)
        assert await produced(broker, 3) == [NONE]

    with_broker(tmp_path, script)


def test_a_new_epoch_of_the_producer_is_not_held_up(tmp_path: Path) -> None:
    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 4) == [NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 0, epoch=1) == [NONE]

    with_broker(tmp_path, script)


def test_a_batch_that_never_comes_again_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "KEPT_MS", -1)

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        assert await produced(broker, 0) == [NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 1) == [NONE]

    with_broker(tmp_path, script)


def test_only_so_many_producers_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "KEPT_PRODUCERS", 2)

    async def script(broker: OneBroker) -> None:
        follow(broker, epoch=1)
        for producer_id in (7, 8, 9):
            assert await produced(broker, 0, producer_id=producer_id) == [NOT_LEADER]
        broker.lead(T0, epoch=2)
        assert await produced(broker, 1, producer_id=7) == [NONE]
        assert await produced(broker, 1, producer_id=8) == [NOT_LEADER]

    with_broker(tmp_path, script)


@pytest.mark.parametrize(
    "wavering",
    ["20,20,21", "-1,0,1"],
    ids=["after an answer was lost", "at its first batches"],
)
def test_librdkafka_repeats_nothing_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wavering: str
) -> None:
    """Its idempotent producer, before a leader that turns two of its batches away."""
    monkeypatch.setenv("REGENT_LATE_LEADER", wavering)
    settings = "min.insync.replicas=1\ndefault.replication.factor=1\n"
    with Nodes(fresh_options(), tmp_path, settings, "tests.node.late_leader") as nodes:
        nodes.start(1)
        nodes.controller()
        admin = confluent_admin.AdminClient({"bootstrap.servers": nodes.bootstrap})
        admin.create_topics([confluent_admin.NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
        told: list[object] = []
        producer = confluent.Producer(
            {
                "bootstrap.servers": nodes.bootstrap,
                "enable.idempotence": True,
                # So that several batches are under way.
                "batch.num.messages": 1,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        for number in range(60):
            value = b"%d" % number
            producer.produce(
                TOPIC, value, partition=0, on_delivery=lambda error, _: told.append(error)
            )
            producer.poll(0)
        assert producer.flush(30) == 0
        assert told == [None] * 60
        consumer = confluent.Consumer(
            {
                "bootstrap.servers": nodes.bootstrap,
                "group.id": "nobody",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([confluent.TopicPartition(TOPIC, 0, 0)])
        values = []
        while (message := consumer.poll(30)) is not None and message.error() is None:
            values.append(message.value())
        consumer.close()
        assert values == [b"%d" % number for number in range(60)]
