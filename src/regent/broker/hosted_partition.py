"""One replica on this broker: its role, its log, and the arithmetic of a leader.

The rules are Kafka's (`Partition.scala`). Two of them keep acknowledged records safe. The high
watermark is the smallest log end over the *maximal* ISR: members of the committed ISR count until
their removal is committed, proposed members count at once. And what a follower reported under an
older leader epoch is forgotten when a new one begins.
"""

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

from msgspec import Struct

from regent.broker.fetch_session import FetchSession
from regent.broker.log import UNKNOWN_OFFSET, LogEntry, ReplicaLog, Value
from regent.model.assignment import Assignment
from regent.model.ids import (
    NO_CONTROLLER_EPOCH,
    NO_LEADER,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership


class ReplicaRole(Enum):
    """What a hosted replica does at the moment."""

    #: It has a log but no orders yet, or was stopped.
    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


class RemoteReplica(Struct, eq=False):
    """What the leader knows of one follower in the present leader epoch."""

    caught_up_ms: int
    end_offset: int = UNKNOWN_OFFSET
    last_fetch_ms: int = 0
    #: The leader's end at that fetch; reaching it later means having been in sync then.
    leader_end_at_last_fetch: int = UNKNOWN_OFFSET
    #: Set from the first fetch in this leader epoch until the follower drops the partition.
    session: FetchSession | None = None


class WaitingAppend(Struct, frozen=True, gc=False):
    """An acks=all append that is answered once the high watermark passes its last record."""

    request_id: int
    offset: int
    last_offset: int


class HostedPartition:
    """A replica. Attributes are for reading; only the broker's own code changes them."""

    def __init__(
        self,
        name: TopicPartition,
        broker_id: BrokerId,
        log: ReplicaLog,
        min_isr_of: Callable[[str], int] = lambda _topic: 1,
        is_joining: Callable[["RemoteReplica", BrokerId], bool] = lambda _remote, _id: False,
    ) -> None:
        """`min_isr_of` says how many replicas a topic wants in sync, as it is configured now.

        `is_joining` says whether a follower outside the ISR keeps up and may join.
        """
        self.name = name
        self.log = log
        self.role = ReplicaRole.NONE
        self.leader = NO_LEADER
        self.leader_epoch = LeaderEpoch(-1)
        self.zk_version = ZkVersion(-1)
        self.controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
        self.replicas: tuple[BrokerId, ...] = ()
        #: The committed ISR: what the state znode says, as far as this broker knows.
        self.isr: tuple[BrokerId, ...] = ()
        #: The ISR asked for, until its fate is known; at most one at a time.
        self.pending_isr: tuple[BrokerId, ...] | None = None
        self.high_watermark = 0
        #: Where the present leadership began; a follower short of it is not in sync.
        self.epoch_start_offset = 0
        self.followers: dict[BrokerId, RemoteReplica] = {}
        #: Sessions that hold a position here and must hear of changes.
        self.watchers: dict[BrokerId, FetchSession] = {}
        #: In the order of their offsets.
        self.waiting: deque[WaitingAppend] = deque()
        self._broker_id = broker_id
        self._min_isr_of = min_isr_of
        self._is_joining = is_joining

    # --- roles --------------------------------------------------------------------------------

    def lead(self, leadership: Leadership, assignment: Assignment, now_ms: int) -> None:
        """Become leader, or leader anew: nothing is known of any follower in this epoch yet."""
        self._take(leadership, assignment)
        self.role = ReplicaRole.LEADER
        self.log.begin_epoch(leadership.leader_epoch)
        # Not where the epoch began: after a restart in the same epoch the high watermark is as old
        # as its checkpoint, and only the end of the log is sure to cover what was committed.
        self.epoch_start_offset = self.log.end_offset
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
        self.followers = {
            replica: RemoteReplica(caught_up_ms=now_ms if replica in leadership.isr else 0)
            for replica in dict.fromkeys(assignment.replicas + leadership.isr)
            if replica != self._broker_id
        }
        self.advance_high_watermark()

    def follow(self, leadership: Leadership, assignment: Assignment) -> None:
        """Become follower, or follower anew; what to cut is for the fetcher to find out."""
        self._take(leadership, assignment)
        self.role = ReplicaRole.FOLLOWER
        self.followers = {}

    def stop(self) -> None:
        """Serve no longer. The epochs stay, so that older orders are still recognised."""
        self.role = ReplicaRole.NONE
        self.followers = {}
        self.pending_isr = None

    def _take(self, leadership: Leadership, assignment: Assignment) -> None:
        self.leader = leadership.leader
        self.leader_epoch = leadership.leader_epoch
        self.zk_version = leadership.zk_version
        self.controller_epoch = leadership.controller_epoch
        self.replicas = assignment.replicas
        self.isr = leadership.isr
        self.pending_isr = None

    # --- leader -------------------------------------------------------------------------------

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """Everyone who may be in the ISR, whichever way a pending change ends."""
        if self.pending_isr is None:
            return self.isr
        return tuple(dict.fromkeys(self.isr + self.pending_isr))

    def append(self, value: Value) -> int:
        """Take a record, or several in one value; the offset of the first."""
        end = self.log.end_offset
        for remote in self.followers.values():
            if remote.end_offset == end and remote.session is not None:
                # It had everything at its latest fetch. Idle fetches do not touch partitions,
                # so that time is taken from the session, now that the follower falls behind.
                remote.last_fetch_ms = remote.session.last_fetch_ms
                remote.caught_up_ms = max(remote.caught_up_ms, remote.last_fetch_ms)
                remote.leader_end_at_last_fetch = end
        offset = self.log.append(self.leader_epoch, (value,))
        self.advance_high_watermark()
        return offset

    def wait_for_commit(self, request_id: int, offset: int) -> None:
        """The request of the latest append waits for the high watermark."""
        self.waiting.append(WaitingAppend(request_id, offset, self.log.end_offset - 1))

    def follower_fetched(self, session: FetchSession, fetch_offset: int, now_ms: int) -> bool:
        """Note how far a follower is; whether the high watermark moved."""
        remote = self.followers[session.replica_id]
        end = self.log.end_offset
        if fetch_offset >= end:
            remote.caught_up_ms = max(remote.caught_up_ms, now_ms)
        elif fetch_offset >= remote.leader_end_at_last_fetch:
            remote.caught_up_ms = max(remote.caught_up_ms, remote.last_fetch_ms)
        remote.leader_end_at_last_fetch = end
        remote.last_fetch_ms = now_ms
        remote.end_offset = fetch_offset
        remote.session = session
        return self.advance_high_watermark()

    @property
    def is_under_min_isr(self) -> bool:
        """Whether too few are in sync; no more can be wanted than there are replicas."""
        wanted = min(self._min_isr_of(self.name.topic), len(self.followers) + 1)
        return len(self.isr) < wanted

    def advance_high_watermark(self) -> bool:
        """Move to the smallest end over the maximal ISR, never back; whether it moved.

        Under min ISR it stays where it is: what too few replicas have is not committed. It also
        waits for followers that are about to join. A leader alone in the ISR would else commit
        each record at once, and who fetches all the time would always come one too late.
        """
        if self.is_under_min_isr:
            return False
        lowest = self.log.end_offset
        members = self.maximal_isr
        for replica, remote in self.followers.items():
            if remote.end_offset < lowest and (
                replica in members or self._is_joining(remote, replica)
            ):
                lowest = remote.end_offset
        if lowest <= self.high_watermark:
            return False
        self.high_watermark = lowest
        return True

    def wait_again(self, request_id: int, offset: int, last_offset: int) -> None:
        """A repeated request waits for what an earlier one has appended."""
        place = len(self.waiting)
        while place and self.waiting[place - 1].last_offset > last_offset:
            place -= 1
        self.waiting.insert(place, WaitingAppend(request_id, offset, last_offset))

    def take_committed(self) -> list[WaitingAppend]:
        """The appends that the high watermark has passed; they wait no longer."""
        committed = []
        while self.waiting and self.waiting[0].last_offset < self.high_watermark:
            committed.append(self.waiting.popleft())
        return committed

    # --- leader: the ISR ----------------------------------------------------------------------

    def choose_shrunk_isr(self, now_ms: int, replica_lag_ms: int) -> tuple[BrokerId, ...] | None:
        """The ISR without those that lag, or None if all keep up or a change is under way."""
        if self.role is not ReplicaRole.LEADER or self.pending_isr is not None:
            return None
        end = self.log.end_offset
        kept = tuple(
            replica
            for replica in self.isr
            if replica == self._broker_id
            or self.followers[replica].end_offset == end
            or now_ms - self.followers[replica].caught_up_ms <= replica_lag_ms
        )
        return kept if kept != self.isr else None

    def choose_grown_isr(
        self, is_eligible: Callable[[RemoteReplica, BrokerId], bool]
    ) -> tuple[BrokerId, ...] | None:
        """The ISR with the first follower that has caught up, or None.

        Caught up means at the high watermark *and* past the start of this leader's epoch: short
        of that, the follower may still lack records that an earlier high watermark covered.
        """
        if self.role is not ReplicaRole.LEADER or self.pending_isr is not None:
            return None
        if len(self.isr) >= len(self.replicas):
            return None
        enough = max(self.high_watermark, self.epoch_start_offset)
        for replica in self.replicas:
            if replica == self._broker_id or replica in self.isr:
                continue
            remote = self.followers[replica]
            if remote.end_offset >= enough and is_eligible(remote, replica):
                return (*self.isr, replica)
        return None

    def proposed_leadership(self) -> Leadership:
        """The pending ISR as the state znode would hold it, expecting the version known here."""
        assert self.pending_isr is not None, "only a pending change can be proposed"
        return Leadership(
            leader=self.leader,
            leader_epoch=self.leader_epoch,
            isr=self.pending_isr,
            controller_epoch=self.controller_epoch,
            zk_version=self.zk_version,
        )

    def commit_isr(self, isr: tuple[BrokerId, ...], zk_version: ZkVersion) -> None:
        """The change took hold; the caller then lets the high watermark advance."""
        self.isr = isr
        self.zk_version = zk_version
        self.pending_isr = None
        for replica in isr:
            if replica != self._broker_id and replica not in self.followers:
                self.followers[replica] = RemoteReplica(caught_up_ms=0)

    # --- follower -----------------------------------------------------------------------------

    def apply_fetched(
        self, entries: Sequence[LogEntry], leader_high_watermark: int, leader_start: int
    ) -> bool:
        """Add what the leader sent, and learn how much of it is committed; False if damaged."""
        if entries and not self.log.append_entries(entries):
            return False
        self.high_watermark = min(leader_high_watermark, self.log.end_offset)
        if leader_start > self.log.start_offset:
            self.log.begin_at(min(leader_start, self.high_watermark))
        return True

    def restart_at(self, offset: int) -> None:
        """Begin anew where the leader's log begins now: it has nothing that follows ours."""
        self.log.restart_at(offset)
        self.high_watermark = offset

    def truncate_to(self, offset: int) -> None:
        """Cut the log; what is gone can no longer count as committed here."""
        self.log.truncate_to(offset)
        self.high_watermark = min(self.high_watermark, self.log.end_offset)
