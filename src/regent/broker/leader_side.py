"""What a broker does for the partitions it leads: take records, serve followers, mind the ISR.

Nothing here looks through all partitions when nothing changed. A partition that changes tells the
sessions watching it (`changed`), and `settle`, called once at the end of every input, answers the
parked fetches that now have something to say.
"""

from collections.abc import Callable

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_effects import AnswerAppend, AnswerFetch, BrokerEffect
from regent.broker.fetch_session import FetchSession, SessionPosition
from regent.broker.hosted_partition import HostedPartition, RemoteReplica, ReplicaRole
from regent.broker.isr_keeper import IsrKeeper
from regent.broker.log import LogDirectory, LogEntry, Value, weight_of
from regent.broker.log_failures import LOG_FAILURES, code_of
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
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition


class LeaderSide:
    """The led partitions of one broker and the sessions of their followers."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that it shares with the rest of the broker
        self,
        config: BrokerConfig,
        directory: LogDirectory,
        hosted: dict[TopicPartition, HostedPartition],
        isr_keeper: IsrKeeper,
        effects: list[BrokerEffect],
        quota: ReplicationQuota,
    ) -> None:
        #: What topics say themselves about the size of the ISR that an acks=all append needs.
        self.min_isr: dict[str, int] = {}
        #: High watermarks that moved since the last checkpoint.
        self.unsaved: dict[TopicPartition, HostedPartition] = {}
        #: Is told which partition got records, a high watermark or a role.
        self.on_changed: Callable[[TopicPartition], None] = lambda _name: None
        self._config = config
        self._directory = directory
        self._hosted = hosted
        self._isr_keeper = isr_keeper
        self._effects = effects
        self._quota = quota
        #: The latest time that was told.
        self._now_ms = 0
        self._sessions: dict[BrokerId, FetchSession] = {}
        self._session_id = 0
        #: Sessions whose parked fetch may have an answer now.
        self._woken: dict[BrokerId, FetchSession] = {}

    # --- roles --------------------------------------------------------------------------------

    def started(self, hosted: HostedPartition, now_ms: int) -> None:
        """A leadership began, or began anew."""
        self._now_ms = max(self._now_ms, now_ms)
        self._isr_keeper.started(hosted, now_ms)
        self.changed(hosted)

    def ended(self, hosted: HostedPartition) -> None:
        """A leadership is over, if there was one: its producers must ask elsewhere."""
        self._isr_keeper.ended(hosted.name)
        while hosted.waiting:
            waiting = hosted.waiting.popleft()
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            self._effects.append(AnswerAppend(waiting.request_id, error, waiting.offset))
        self.changed(hosted)

    def changed(self, hosted: HostedPartition) -> None:
        """Spread the news of records, of a high watermark or of a role."""
        self.unsaved[hosted.name] = hosted
        self.on_changed(hosted.name)
        for session in hosted.watchers.values():
            session.news[hosted.name] = None
            if session.parked_fetch_id is not None:
                self._woken[session.replica_id] = session
        if hosted.waiting:
            enough = not hosted.is_under_min_isr
            error = ErrorCode.NONE if enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
            for waiting in hosted.take_committed():
                self._effects.append(AnswerAppend(waiting.request_id, error, waiting.offset))

    # --- requests -----------------------------------------------------------------------------

    def append(
        self, name: TopicPartition, value: Value, request_id: int, *, acks_all: bool = True
    ) -> None:
        """Take a record or refuse it at once; without acks=all it is acknowledged at once, too."""
        error = self.append_refusal(name, acks_all=acks_all)
        if error is not ErrorCode.NONE:
            self._effects.append(AnswerAppend(request_id, error, -1))
            return
        hosted = self._hosted[name]
        offset = hosted.append(value)
        if acks_all:
            hosted.wait_for_commit(request_id, offset)
        else:
            self._effects.append(AnswerAppend(request_id, error, offset))
        self.changed(hosted)

    def append_refusal(self, name: TopicPartition, *, acks_all: bool) -> ErrorCode:
        """Why no record can be taken now, whatever it is."""
        hosted = self._hosted.get(name)
        if hosted is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._directory.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if hosted.role is not ReplicaRole.LEADER:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if acks_all and hosted.is_under_min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return ErrorCode.NONE

    def repeat(self, name: TopicPartition, offset: int, last_offset: int, request_id: int) -> None:
        """Answer for records that are in the log already, once they are committed."""
        hosted = self._hosted.get(name)
        if hosted is None or hosted.role is not ReplicaRole.LEADER:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            self._effects.append(AnswerAppend(request_id, error, -1))
            return
        hosted.wait_again(request_id, offset, last_offset)
        self.changed(hosted)

    def min_isr_of(self, topic: str) -> int:
        """How many replicas a topic wants in sync."""
        return self.min_isr.get(topic, self._config.min_isr)

    def is_joining(self, remote: RemoteReplica, replica: BrokerId) -> bool:
        """Whether a follower outside the ISR is worth waiting for, as of the latest time told."""
        return self._isr_keeper.is_joining(remote, replica, self._now_ms)

    def epoch_query(self, query: EpochQuery) -> EpochQueryAnswer:
        """Say where epochs end in the logs led here."""
        return EpochQueryAnswer(tuple(self._epoch_reply(each) for each in query.questions))

    def fetch(self, request: Fetch, now_ms: int) -> FetchAnswer | None:
        """News for a follower, or None: the fetch is parked until there is some."""
        session = self._session_for(request)
        if session is None:
            return FetchAnswer(session_id=0, session_lost=True)
        self._now_ms = now_ms
        session.last_fetch_ms = now_ms
        session.parked_fetch_id = None
        for name in request.forgotten:
            self._drop(session, name)
        for position in request.positions:
            self._note(session, position, now_ms)
        if session.news:
            partitions = self._collect(session)
            if partitions:
                return FetchAnswer(session.session_id, partitions=partitions)
        session.parked_fetch_id = request.fetch_id
        session.deadline_ms = now_ms + self._config.fetch_max_wait_ms
        return None

    # --- the ISR ------------------------------------------------------------------------------

    def isr_committed(self, hosted: HostedPartition, now_ms: int) -> None:
        """A change took hold: the high watermark may move, and the next follower may join."""
        hosted.advance_high_watermark()
        self.changed(hosted)
        self._isr_keeper.grow(hosted, now_ms)

    def isr_refused(self, hosted: HostedPartition, now_ms: int) -> None:
        """A change was taken back, and with it a newcomer that the high watermark waited for."""
        hosted.advance_high_watermark()
        self.changed(hosted)
        self._isr_keeper.refused(hosted, now_ms)

    # --- time ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Answer the parked fetches that have news."""
        if not self._woken:
            return
        woken = self._woken
        self._woken = {}
        for session in woken.values():
            if session.parked_fetch_id is not None:
                partitions = self._collect(session)
                if partitions:
                    self._answer_parked(session, partitions)

    def due_ms(self) -> int:
        """When `tick` has something to do."""
        due = self._isr_keeper.due_ms()
        for session in self._sessions.values():
            if session.parked_fetch_id is not None and session.deadline_ms < due:
                due = session.deadline_ms
        return due

    def tick(self, now_ms: int) -> None:
        """Let go of fetches that waited long enough; look for laggards and newcomers."""
        self._now_ms = now_ms
        for session in self._sessions.values():
            if session.parked_fetch_id is not None and session.deadline_ms <= now_ms:
                self._answer_parked(session, ())
        if self._isr_keeper.tick(now_ms):
            self.stop_waiting_for_the_lost()

    def stop_waiting_for_the_lost(self) -> None:
        """Commit what waits for followers that were about to join and no longer are."""
        for hosted in self._isr_keeper.leading.values():
            if hosted.waiting and hosted.advance_high_watermark():
                self.changed(hosted)

    # --- sessions -----------------------------------------------------------------------------

    def _session_for(self, request: Fetch) -> FetchSession | None:
        known = self._sessions.get(request.replica_id)
        if request.session_epoch == 0:
            if known is not None:
                for name in tuple(known.positions):
                    self._drop(known, name)
            self._session_id += 1
            session = FetchSession(request.replica_id, self._session_id)
            self._sessions[request.replica_id] = session
            return session
        if known is None or known.session_id != request.session_id:
            return None
        if known.next_epoch != request.session_epoch:
            return None
        known.next_epoch += 1
        return known

    def _note(self, session: FetchSession, wanted: FetchPosition, now_ms: int) -> None:
        """Take over a follower's position, and count it if it is one in this leadership."""
        name = wanted.name
        session.positions[name] = SessionPosition(wanted.current_leader_epoch, wanted.fetch_offset)
        session.news[name] = None
        hosted = self._hosted.get(name)
        if hosted is None:
            return
        hosted.watchers[session.replica_id] = session
        if self._refusal(hosted, session, session.positions[name]) is not ErrorCode.NONE:
            return
        if hosted.follower_fetched(session, wanted.fetch_offset, now_ms):
            self.changed(hosted)
        if session.replica_id not in hosted.isr:
            self._isr_keeper.grow(hosted, now_ms)

    def _drop(self, session: FetchSession, name: TopicPartition) -> None:
        session.positions.pop(name, None)
        session.news.pop(name, None)
        hosted = self._hosted.get(name)
        if hosted is None or hosted.watchers.get(session.replica_id) is not session:
            return
        del hosted.watchers[session.replica_id]
        remote = hosted.followers.get(session.replica_id)
        if remote is not None and remote.session is session:
            if remote.end_offset == hosted.log.end_offset:
                remote.caught_up_ms = max(remote.caught_up_ms, session.last_fetch_ms)
            remote.session = None

    def _collect(self, session: FetchSession) -> tuple[FetchedPartition, ...]:
        """What the session has not been told yet; it counts as told from here on."""
        news = session.news
        session.news = {}
        collected = []
        room = self._config.fetch_answer_limit
        for name in tuple(news):
            if room <= 0:
                break
            del news[name]
            position = session.positions.get(name)
            if position is not None:
                partition = self._read(session, name, position)
                if partition is not None:
                    collected.append(partition)
                    room -= sum(map(weight_of, partition.entries))
        # What there was no room for comes first in the next answer.
        session.news = news | session.news
        return tuple(collected)

    def _read(
        self, session: FetchSession, name: TopicPartition, position: SessionPosition
    ) -> FetchedPartition | None:
        hosted = self._hosted.get(name)
        error = self._refusal(hosted, session, position)
        entries: tuple[LogEntry, ...] = ()
        if hosted is not None and error is ErrorCode.NONE:
            is_throttled = session.replica_id not in hosted.isr and self._quota.limits(name)
            limit = self._config.fetch_limit
            if is_throttled and position.fetch_offset < hosted.log.end_offset:
                limit = min(limit, self._quota.left(self._now_ms))
                if limit <= 0:
                    # It is looked at again with the follower's next fetch.
                    session.news[name] = None
                    return None
            try:
                entries = hosted.log.read(position.fetch_offset, limit)
            except LOG_FAILURES as failure:
                error = code_of(failure)
            if is_throttled:
                self._quota.use(sum(map(weight_of, entries)), self._now_ms)
        if hosted is None or error is not ErrorCode.NONE:
            self._drop(session, name)
            start = 0 if hosted is None else hosted.log.start_offset
            return FetchedPartition(name, error, log_start_offset=start)
        high_watermark = hosted.high_watermark
        start_offset = hosted.log.start_offset
        if not entries and position.told == (high_watermark, start_offset):
            return None
        position.told = (high_watermark, start_offset)
        return FetchedPartition(
            name,
            leader_epoch=hosted.leader_epoch,
            fetch_offset=position.fetch_offset,
            high_watermark=high_watermark,
            log_start_offset=start_offset,
            entries=entries,
        )

    def _answer_parked(
        self, session: FetchSession, partitions: tuple[FetchedPartition, ...]
    ) -> None:
        assert session.parked_fetch_id is not None, "somebody must be waiting"
        answer = FetchAnswer(session.session_id, partitions=partitions)
        self._effects.append(AnswerFetch(session.replica_id, session.parked_fetch_id, answer))
        session.parked_fetch_id = None

    # --- refusals -----------------------------------------------------------------------------

    def _refusal(
        self, hosted: HostedPartition | None, session: FetchSession, position: SessionPosition
    ) -> ErrorCode:
        if hosted is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        error = self._leadership_refusal(hosted, position.leader_epoch)
        if error is not ErrorCode.NONE:
            return error
        if session.replica_id not in hosted.followers:
            # Retriable: one of the two has not heard of the latest assignment.
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not hosted.log.start_offset <= position.fetch_offset <= hosted.log.end_offset:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        return ErrorCode.NONE

    def _leadership_refusal(self, hosted: HostedPartition, leader_epoch: LeaderEpoch) -> ErrorCode:
        if self._directory.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if leader_epoch < hosted.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if leader_epoch > hosted.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if hosted.role is not ReplicaRole.LEADER:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def _epoch_reply(self, question: EpochQuestion) -> EpochReply:
        hosted = self._hosted.get(question.name)
        if hosted is None:
            return EpochReply(question.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        error = self._leadership_refusal(hosted, question.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return EpochReply(question.name, error)
        end = hosted.log.end_offset_for(question.asked_epoch)
        return EpochReply(question.name, ErrorCode.NONE, end.leader_epoch, end.end_offset)
