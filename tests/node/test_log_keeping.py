"""What time asks of the logs is done for all of them, whatever is wrong with one."""

import asyncio
from pathlib import Path

from regent.broker.broker_config import BrokerConfig
from regent.node.broker_settings import BrokerSettings
from regent.node.log_keeping import keep_logs
from regent.storage.checkpoints import CheckpointFile, read_checkpoint
from regent.storage.log_config import LogConfig
from regent.storage.log_store import LogStore
from tests.storage.batches import T0, T1, add, batch_of
from tests.unit.broker.wiring import B1

SETTINGS = BrokerSettings(replication=BrokerConfig(checkpoint_ms=5), retention_check_ms=5)


def open_store(folder: Path) -> LogStore:
    config = LogConfig(segment_bytes=100, retention_ms=1)
    return LogStore((folder,), broker_id=B1, cluster_id="c", config_of=lambda _: config)


def test_a_damaged_log_does_not_end_the_keeping_of_the_others(tmp_path: Path) -> None:
    """Else no log would be synced, checkpointed or shortened any more."""
    store = open_store(tmp_path)
    for name in (T0, T1):
        add(store.open(name), *[batch_of(b"x" * 20)] * 3)
        store.checkpoint(name, 3)
    store.close()
    with (tmp_path / str(T0) / f"{0:020}.log").open("r+b") as segment:
        segment.seek(8)
        segment.write(b"\xff" * 4)
    store = open_store(tmp_path)

    async def keep() -> None:
        keeping = asyncio.create_task(keep_logs(store, SETTINGS))

        async def starts_at(offset: int) -> None:
            async with asyncio.timeout(30):
                while not keeping.done() and store.open(T1).start_offset != offset:  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.01)

        await starts_at(3)
        add(store.open(T1), batch_of(b"y"))
        store.checkpoint(T1, 4)
        await starts_at(4)
        assert not keeping.done(), keeping
        keeping.cancel()

    asyncio.run(keep())

    assert (store.open(T0).start_offset, store.open(T1).start_offset) == (0, 4)
    marks = read_checkpoint(tmp_path, CheckpointFile.REPLICATION_OFFSETS)
    assert marks == {T0: 3, T1: 4}
    store.close()
