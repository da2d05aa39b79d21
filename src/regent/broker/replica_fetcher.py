"""The follower's conversation with one leader: first cut, then copy.

A partition that begins to follow is `truncating` until its history agrees with the leader's, then
`fetching`; while the quota for copying is used up, what is throttled is `held`. After an error it
rests for a moment and starts again from the cut, which is cheap and always safe. At most one
request is under way, as with Kafka's fetcher threads. An answer is believed only for partitions
that still are what they were when it was asked for.
"""

from msgspec import Struct

from regent.broker.broker_config import NEVER_MS, BrokerConfig
from regent.broker.broker_effects import SendEpochQuery, SendFetch
from regent.broker.hosted_partition import HostedPartition
from regent.broker.log import UNKNOWN_OFFSET, weight_of
from regent.broker.log_failures import LOG_FAILURES
from regent.broker.replication_quota import ReplicationQuota
from regent.broker.replication_requests import (
    EpochQuery,
    EpochQueryAnswer,
    EpochQuestion,
    EpochReply,
    Fetch,
    FetchAnswer,
    FetchedPartition,
    FetchPosition,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition


class Resting(Struct):
    """A partition that met an error, and when it tries again."""

    hosted: HostedPartition
    due_ms: int


class ReplicaFetcher:
    """All partitions that this broker follows at one leader."""

    def __init__(
        self,
        broker_id: BrokerId,
        leader_id: BrokerId,
        config: BrokerConfig,
        quota: ReplicationQuota,
    ) -> None:
        self._broker_id = broker_id
        self._leader_id = leader_id
        self._config = config
        self._quota = quota
        self._truncating: dict[TopicPartition, HostedPartition] = {}
        self._fetching: dict[TopicPartition, HostedPartition] = {}
        self._resting: dict[TopicPartition, Resting] = {}
        #: Would be fetching if the quota let them, and when to look again.
        self._held: dict[TopicPartition, HostedPartition] = {}
        self._held_until_ms = 0
        #: Those of the fetching that had all that is committed when they were last heard of.
        self._caught_up: dict[TopicPartition, None] = {}
        #: Of both kinds of request; never used twice, so an old answer is recognised.
        self._last_request_id = 0
        self._in_flight_id: int | None = None
        #: After a failed request nothing is sent before this time.
        self._retry_ms = 0
        self._session_id = 0
        #: 0 means that the next fetch lists everything.
        self._session_epoch = 0
        #: The partitions that the leader has a position for.
        self._told: dict[TopicPartition, None] = {}
        #: Partitions whose position the leader may have wrong.
        self._untold: dict[TopicPartition, None] = {}

    def add(self, hosted: HostedPartition) -> None:
        """Follow this partition here, from the cut on."""
        self._truncating[hosted.name] = hosted

    def remove(self, name: TopicPartition) -> None:
        """Follow it here no longer; the leader hears of it with the next fetch."""
        self._truncating.pop(name, None)
        self._resting.pop(name, None)
        self._held.pop(name, None)
        self._caught_up.pop(name, None)
        if self._fetching.pop(name, None) is not None:
            self._untold[name] = None

    def next_request(self, now_ms: int) -> SendEpochQuery | SendFetch | None:
        """What to send now, if anything; it then counts as under way."""
        if self._in_flight_id is not None or now_ms < self._retry_ms:
            return None
        self._retry_ms = 0
        if self._truncating:
            questions = self._questions()
            if questions:
                query = EpochQuery(self._broker_id, self._new_request_id(), questions)
                return SendEpochQuery(self._leader_id, query)
        self._keep_to_quota(now_ms)
        if self._fetching:
            return SendFetch(self._leader_id, self._next_fetch())
        # The leader keeps a session that nobody continues; the next fetch will replace it.
        self._forget_session()
        return None

    def epoch_query_answered(
        self, query: EpochQuery, answer: EpochQueryAnswer | None, now_ms: int
    ) -> None:
        """Cut what has to go; a partition whose epochs agree then fetches."""
        if query.query_id != self._in_flight_id:
            return
        self._in_flight_id = None
        if answer is None:
            self._retry_ms = now_ms + self._config.fetch_backoff_ms
            return
        replies = {reply.name: reply for reply in answer.replies}
        for question in query.questions:
            hosted = self._truncating.get(question.name)
            if hosted is None or hosted.leader_epoch != question.current_leader_epoch:
                continue
            reply = replies.get(question.name)
            if reply is None or reply.error is not ErrorCode.NONE:
                del self._truncating[question.name]
                self._rest(hosted, now_ms)
            else:
                self._cut(hosted, reply, now_ms)

    def _cut(self, hosted: HostedPartition, reply: EpochReply, now_ms: int) -> None:
        """A log that cannot be cut must not keep the others from being fetched."""
        try:
            is_cut = cut_where_histories_part(hosted, reply)
        except LOG_FAILURES:
            del self._truncating[hosted.name]
            self._rest(hosted, now_ms)
            return
        if is_cut:
            del self._truncating[hosted.name]
            self._start_fetching(hosted)

    def fetch_answered(
        self, request: Fetch, answer: FetchAnswer | None, now_ms: int
    ) -> list[HostedPartition]:
        """Apply the news; the partitions that got any."""
        if request.fetch_id != self._in_flight_id:
            return []
        self._in_flight_id = None
        if answer is None:
            self._forget_session()
            self._retry_ms = now_ms + self._config.fetch_backoff_ms
            return []
        if answer.session_lost:
            self._forget_session()
            return []
        self._session_id = answer.session_id
        self._session_epoch += 1
        if not answer.partitions:
            return []
        return [hosted for each in answer.partitions if (hosted := self._apply(each, now_ms))]

    def due_ms(self) -> int:
        """When `tick` has something to do."""
        due = NEVER_MS
        if self._retry_ms and self._in_flight_id is None and (self._truncating or self._fetching):
            due = self._retry_ms
        if self._held and self._in_flight_id is None:
            due = min(due, max(self._held_until_ms, self._retry_ms))
        for resting in self._resting.values():
            due = min(due, resting.due_ms)
        return due

    def tick(self, now_ms: int) -> None:
        """Let those that rested long enough try again."""
        rested = [name for name, each in self._resting.items() if each.due_ms <= now_ms]
        for name in rested:
            self._truncating[name] = self._resting.pop(name).hosted

    def _new_request_id(self) -> int:
        self._last_request_id += 1
        self._in_flight_id = self._last_request_id
        return self._last_request_id

    def _questions(self) -> tuple[EpochQuestion, ...]:
        """One for each log that has an epoch; others are cut to what they know is committed."""
        questions = []
        for hosted in tuple(self._truncating.values()):
            latest_epoch = hosted.log.latest_epoch
            if latest_epoch is None:
                hosted.truncate_to(hosted.high_watermark)
                del self._truncating[hosted.name]
                self._start_fetching(hosted)
            else:
                questions.append(EpochQuestion(hosted.name, hosted.leader_epoch, latest_epoch))
        return tuple(questions)

    def _start_fetching(self, hosted: HostedPartition) -> None:
        self._fetching[hosted.name] = hosted
        self._untold[hosted.name] = None

    def _keep_to_quota(self, now_ms: int) -> None:
        """Hold what is throttled while the quota is used up, and fetch it again afterwards."""
        is_used_up = self._quota.left(now_ms) <= 0
        for name, hosted in tuple(self._held.items()):
            if not (is_used_up and self._quota.limits(name)):
                del self._held[name]
                self._start_fetching(hosted)
        if not is_used_up:
            return
        for name, hosted in tuple(self._fetching.items()):
            if name not in self._caught_up and self._quota.limits(name):
                self.remove(name)
                self._held[name] = hosted
        self._held_until_ms = now_ms + self._config.fetch_backoff_ms

    def _next_fetch(self) -> Fetch:
        if self._session_epoch == 0:
            self._told = {}
            self._untold = dict.fromkeys(self._fetching)
        positions: list[FetchPosition] = []
        forgotten: list[TopicPartition] = []
        for name in self._untold:
            hosted = self._fetching.get(name)
            if hosted is not None:
                self._told[name] = None
                end = hosted.log.end_offset
                positions.append(FetchPosition(name, hosted.leader_epoch, end))
            elif name in self._told:
                del self._told[name]
                forgotten.append(name)
        self._untold.clear()
        return Fetch(
            self._broker_id,
            self._new_request_id(),
            self._session_id,
            self._session_epoch,
            tuple(positions),
            tuple(forgotten),
        )

    def _apply(self, fetched: FetchedPartition, now_ms: int) -> HostedPartition | None:
        hosted = self._fetching.get(fetched.name)
        if hosted is None:
            return None
        if fetched.error is not ErrorCode.NONE:
            self.remove(fetched.name)
            self._rest(hosted, now_ms)
            if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
                _skip_what_is_gone(hosted, fetched)
            return None
        stale = fetched.leader_epoch != hosted.leader_epoch
        if stale or fetched.fetch_offset != hosted.log.end_offset:
            self._untold[fetched.name] = None
            return None
        if fetched.entries:
            self._untold[fetched.name] = None
        sound = hosted.apply_fetched(
            fetched.entries, fetched.high_watermark, fetched.log_start_offset
        )
        if not sound:
            self.remove(fetched.name)
            self._rest(hosted, now_ms)
            return hosted
        if fetched.name not in self._caught_up and self._quota.limits(fetched.name):
            self._quota.use(sum(map(weight_of, fetched.entries)), now_ms)
        if fetched.high_watermark <= hosted.log.end_offset:
            self._caught_up[fetched.name] = None
        else:
            self._caught_up.pop(fetched.name, None)
        return hosted

    def _rest(self, hosted: HostedPartition, now_ms: int) -> None:
        due_ms = now_ms + self._config.fetch_backoff_ms
        self._resting[hosted.name] = Resting(hosted, due_ms)

    def _forget_session(self) -> None:
        self._session_id = 0
        self._session_epoch = 0


def _skip_what_is_gone(hosted: HostedPartition, fetched: FetchedPartition) -> None:
    """The leader has deleted what would come next here: go on where its log begins now."""
    if hosted.log.end_offset < fetched.log_start_offset:
        hosted.restart_at(fetched.log_start_offset)


def cut_where_histories_part(hosted: HostedPartition, reply: EpochReply) -> bool:
    """Cut the log where it leaves the leader's history; False if it has to ask once more.

    A leader that lacks our last epoch names the last one before it that it has. If we lack that
    one in turn, we cut back to where ours could still agree and ask about what is left.
    """
    if reply.end_offset == UNKNOWN_OFFSET:
        hosted.truncate_to(hosted.high_watermark)
        return True
    own = hosted.log.end_offset_for(reply.leader_epoch)
    if own.leader_epoch != reply.leader_epoch:
        hosted.truncate_to(own.end_offset)
        return False
    hosted.truncate_to(min(own.end_offset, reply.end_offset))
    return True
