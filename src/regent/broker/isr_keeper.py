"""When a leader wishes for another ISR: who lags too long leaves, who has caught up joins.

Kafka looks at growth on every fetch. Idle fetches touch no partition here, so growth is looked at
whenever a follower's position moves, whenever an earlier change is settled, and at the lag check.
"""

from regent.broker.broker_config import NEVER_MS, BrokerConfig
from regent.broker.hosted_partition import HostedPartition, RemoteReplica
from regent.broker.isr_changes import IsrChanges
from regent.broker.metadata_cache import MetadataCache
from regent.model.ids import BrokerId, TopicPartition


class IsrKeeper:
    """Decides on changes; `IsrChanges` gets them done."""

    def __init__(
        self,
        config: BrokerConfig,
        metadata: MetadataCache,
        isr_changes: IsrChanges,
    ) -> None:
        #: The partitions whose ISR is this broker's business.
        self.leading: dict[TopicPartition, HostedPartition] = {}
        self._config = config
        self._metadata = metadata
        self._isr_changes = isr_changes
        self._lag_check_ms = NEVER_MS
        #: Partitions whose growth the controller refused, to be tried again at that time.
        self._refused: dict[TopicPartition, HostedPartition] = {}
        self._refused_ms = NEVER_MS

    def started(self, hosted: HostedPartition, now_ms: int) -> None:
        """Keep the ISR of one more partition."""
        self.leading[hosted.name] = hosted
        if self._lag_check_ms == NEVER_MS:
            self._lag_check_ms = now_ms + self._config.replica_lag_ms // 2

    def ended(self, name: TopicPartition) -> None:
        """Somebody else leads it, or nobody."""
        self.leading.pop(name, None)

    def is_joining(self, remote: RemoteReplica, replica: BrokerId, now_ms: int) -> bool:
        """Whether a follower outside the ISR keeps up, so that it is worth waiting for."""
        lag_ms = now_ms - remote.caught_up_ms
        return lag_ms <= self._config.replica_lag_ms and self._is_eligible(remote, replica, now_ms)

    def _is_eligible(self, remote: RemoteReplica, replica: BrokerId, now_ms: int) -> bool:
        # Without a fetch at hand, a follower that went quiet shows by the time of its last.
        return (
            remote.session is not None
            and now_ms - remote.session.last_fetch_ms <= self._config.replica_lag_ms
            and self._metadata.is_alive(replica)
        )

    def grow(self, hosted: HostedPartition, now_ms: int) -> None:
        """Wish for one more member, if one is ready."""
        isr = hosted.choose_grown_isr(
            lambda remote, replica: self._is_eligible(remote, replica, now_ms)
        )
        if isr is not None:
            self._isr_changes.propose(hosted, isr)

    def refused(self, hosted: HostedPartition, now_ms: int) -> None:
        """Try again a little later; the controller may see the newcomer alive by then."""
        self._refused[hosted.name] = hosted
        self._refused_ms = min(self._refused_ms, now_ms + self._config.fetch_max_wait_ms)

    def due_ms(self) -> int:
        """When `tick` has something to do."""
        return min(self._lag_check_ms, self._refused_ms)

    def tick(self, now_ms: int) -> bool:
        """Try refused growth again, and look for laggards every half lag time; whether it did."""
        if now_ms >= self._refused_ms:
            self._refused_ms = NEVER_MS
            refused = self._refused
            self._refused = {}
            for hosted in refused.values():
                self.grow(hosted, now_ms)
        if now_ms < self._lag_check_ms:
            return False
        self._check_lag(now_ms)
        half_lag_ms = self._config.replica_lag_ms // 2
        self._lag_check_ms = now_ms + half_lag_ms if self.leading else NEVER_MS
        return True

    def _check_lag(self, now_ms: int) -> None:
        for hosted in self.leading.values():
            isr = hosted.choose_shrunk_isr(now_ms, self._config.replica_lag_ms)
            if isr is not None:
                self._isr_changes.propose(hosted, isr)
            else:
                self.grow(hosted, now_ms)
