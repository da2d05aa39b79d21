"""What is set on this broker while it runs, as far as it acts on it: how fast it may copy."""

import logging
from collections.abc import Mapping
from typing import Final

from regent.broker.broker_core import BrokerCore
from regent.core.asks import Malformed
from regent.model.ids import BrokerId
from regent.zookeeper.config_znodes import broker_entity

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"

logger = logging.getLogger(__name__)


class ThrottleRates:
    """From the configs of a broker to its quotas."""

    def __init__(self, broker_id: BrokerId, core: BrokerCore) -> None:
        #: Where they stand, the one that counts last.
        self.entities: Final = (broker_entity(None), broker_entity(broker_id))
        self._quotas = {LEADER_RATE: core.leader_quota, FOLLOWER_RATE: core.follower_quota}

    def learn(self, found: Mapping[str, dict[str, str] | Malformed | None]) -> None:
        """Take over what was read of the entities; what makes no sense is no limit."""
        given: dict[str, str] = {}
        for configs in map(found.get, self.entities):
            if isinstance(configs, Malformed):
                logger.warning("%s: %s; it goes without it", configs.path, configs.reason)
            elif configs is not None:
                given |= configs
        for name, quota in self._quotas.items():
            quota.set_rate(_to_rate(name, given.get(name)))


def _to_rate(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.strip().isascii() and text.strip().isdecimal()):
        logger.warning("%s=%s is no number of bytes; there is no limit", name, text)
        return None
    return int(text)
