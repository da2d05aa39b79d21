"""What a broker does for the partitions it follows: one fetcher for each leader it follows at."""

from regent.broker.broker_config import NEVER_MS, BrokerConfig
from regent.broker.broker_effects import BrokerEffect
from regent.broker.hosted_partition import HostedPartition
from regent.broker.replica_fetcher import ReplicaFetcher
from regent.broker.replication_quota import ReplicationQuota
from regent.broker.replication_requests import EpochQuery, EpochQueryAnswer, Fetch, FetchAnswer
from regent.model.ids import BrokerId, TopicPartition


class FollowerSide:
    """The fetchers of one broker. They are kept for good, so that no request id comes twice."""

    def __init__(
        self,
        broker_id: BrokerId,
        config: BrokerConfig,
        effects: list[BrokerEffect],
        quota: ReplicationQuota,
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._effects = effects
        self._quota = quota
        self._fetchers: dict[BrokerId, ReplicaFetcher] = {}
        #: Where each followed partition is fetched.
        self._fetcher_of: dict[TopicPartition, ReplicaFetcher] = {}

    def started(self, hosted: HostedPartition) -> None:
        """Fetch this partition from its leader; nothing leaves before `send`."""
        fetcher = self._fetchers.get(hosted.leader)
        if fetcher is None:
            fetcher = ReplicaFetcher(self._broker_id, hosted.leader, self._config, self._quota)
            self._fetchers[hosted.leader] = fetcher
        self._fetcher_of[hosted.name] = fetcher
        fetcher.add(hosted)

    def ended(self, name: TopicPartition) -> None:
        """Fetch this partition no longer, if it was."""
        fetcher = self._fetcher_of.pop(name, None)
        if fetcher is not None:
            fetcher.remove(name)

    def fetch_answered(
        self, leader_id: BrokerId, request: Fetch, answer: FetchAnswer | None, now_ms: int
    ) -> list[HostedPartition]:
        """Apply an answer and send the next request; the partitions that got news."""
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            return []
        changed = fetcher.fetch_answered(request, answer, now_ms)
        self._send(fetcher, now_ms)
        return changed

    def epoch_query_answered(
        self, leader_id: BrokerId, query: EpochQuery, answer: EpochQueryAnswer | None, now_ms: int
    ) -> None:
        """Cut logs as answered and send the next request."""
        fetcher = self._fetchers.get(leader_id)
        if fetcher is not None:
            fetcher.epoch_query_answered(query, answer, now_ms)
            self._send(fetcher, now_ms)

    def due_ms(self) -> int:
        """When `tick` has something to do."""
        due = NEVER_MS
        for fetcher in self._fetchers.values():
            due = min(due, fetcher.due_ms())
        return due

    def tick(self, now_ms: int) -> None:
        """End the pauses that are over."""
        for fetcher in self._fetchers.values():
            fetcher.tick(now_ms)

    def send(self, now_ms: int) -> None:
        """Send what each fetcher may send."""
        for fetcher in self._fetchers.values():
            self._send(fetcher, now_ms)

    def _send(self, fetcher: ReplicaFetcher, now_ms: int) -> None:
        request = fetcher.next_request(now_ms)
        if request is not None:
            self._effects.append(request)
