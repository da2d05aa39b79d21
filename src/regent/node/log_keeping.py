"""What time asks of the logs: checkpoints, promised syncs, and deleting what is too old."""

import asyncio
import logging

from regent.errors import LogDirOffline
from regent.node.broker_settings import BrokerSettings
from regent.storage.log_store import LogStore

logger = logging.getLogger(__name__)


async def keep_logs(store: LogStore, settings: BrokerSettings) -> None:
    """Runs until it is cancelled, on the loop that has the logs."""
    loop = asyncio.get_running_loop()
    interval_ms = min(settings.replication.checkpoint_ms, settings.retention_check_ms)
    retention_at_s = loop.time() + settings.retention_check_ms / 1000
    while True:
        await asyncio.sleep(interval_ms / 1000)
        try:
            store.flush_due()
            store.flush_rolled()
            if loop.time() >= retention_at_s:
                retention_at_s = loop.time() + settings.retention_check_ms / 1000
                count = store.apply_retention()
                if count:
                    logger.info("%d segments were too old or too much, and are deleted", count)
            store.write_checkpoints()
        except LogDirOffline as error:
            logger.warning("%s", error)
