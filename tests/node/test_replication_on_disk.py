"""A leader and a follower with logs on disk, joined by the very bytes of Kafka's Fetch."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import SendEpochQuery, SendFetch
from regent.broker.replication_requests import Fetch, FetchPosition
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.record_requests import FetchedRecords, FetchRecords, FetchRecordsAnswer
from regent.node.broker_settings import BrokerSettings
from regent.node.disk_logs import DiskLog, DiskLogDirectory
from regent.node.replica_fetches import (
    AskedPositions,
    from_epoch_ends,
    to_epoch_ends,
    to_epoch_query,
    to_epoch_question,
    to_fetch,
    to_fetched_records,
)
from regent.storage.log_store import LogStore
from regent.storage.record_batch import CheckedBatch
from regent.wire.fetch_codec import read_answer, read_request, write_answer, write_request
from tests.storage.batches import batch_of
from tests.unit.broker.wiring import (
    ALL,
    B1,
    B2,
    NOW_MS,
    T0,
    T1,
    leader_and_isr,
    leadership,
    update_metadata,
)

VERSION = 11
CONFIG = BrokerSettings().replication


class Pair:
    """Broker 1 leads, broker 2 follows; the test decides when a fetch goes over."""

    def __init__(self, folder: Path) -> None:
        self.stores = {
            each: LogStore((folder / str(each),), broker_id=each, cluster_id="c")
            for each in (B1, B2)
        }
        self.leader, self.follower = (self._core(each, folder) for each in (B1, B2))
        self.now_ms = NOW_MS
        self._asked = AskedPositions()
        self._fetch_id = 0
        #: What the leader's next answers are spoilt with.
        self.damage = False

    def _core(self, broker_id: BrokerId, folder: Path) -> BrokerCore:
        directory = DiskLogDirectory(self.stores[broker_id], (folder,))
        core = BrokerCore(broker_id, CONFIG, directory)
        core.update_metadata(update_metadata(*ALL))
        return core

    def order(self, *names: TopicPartition, epoch: int = 1) -> None:
        """Broker 1 leads these in this epoch."""
        request = leader_and_isr(
            *((name, leadership(isr=(B1,), epoch=epoch)) for name in names), replicas=(B1, B2)
        )
        self.leader.leader_and_isr(request, self.now_ms)
        self.follower.leader_and_isr(request, self.now_ms)

    def append(self, name: TopicPartition, *values: bytes) -> None:
        """One batch, acks=1."""
        admitted = self.log(self.leader, name).admit(batch_of(*values))
        assert isinstance(admitted, CheckedBatch)
        self.leader.append(name, admitted, 1, acks_all=False)

    def log(self, core: BrokerCore, name: TopicPartition = T0) -> DiskLog:
        """The replica that a broker has."""
        log = core.hosted[name].log
        assert isinstance(log, DiskLog)
        return log

    def talk(self, rounds: int = 20) -> int:
        """Carry over what the follower asks for, until it would have to wait; how many fetches."""
        fetches = 0
        for _ in range(rounds):
            for effect in self.follower.take_effects():
                if isinstance(effect, SendEpochQuery):
                    query = to_epoch_query(to_epoch_question(effect.query), {})
                    answer = from_epoch_ends(to_epoch_ends(self.leader.epoch_query(query)))
                    self.follower.epoch_query_answered(B1, effect.query, answer, self.now_ms)
                elif isinstance(effect, SendFetch):
                    fetches += 1
                    if not self._fetch(effect):
                        return fetches
            self.now_ms += CONFIG.fetch_backoff_ms
            self.follower.tick(self.now_ms)
        return fetches

    def _fetch(self, effect: SendFetch) -> bool:
        request = self._asked.to_wire(
            effect.request, max_wait_ms=500, partition_bytes=1_000_000, answer_bytes=10_000_000
        )
        self._fetch_id += 1
        fetch = to_fetch(over_the_wire(request), self._fetch_id)
        answer = self.leader.fetch(fetch, self.now_ms)
        if answer is None:
            # Parked: the leader lets go of it when time is up.
            self.follower.fetch_answered(B1, effect.request, None, self.now_ms)
            return False
        content = b"".join(write_answer(to_fetched_records(answer), VERSION))
        if self.damage:
            content = content[:-1] + bytes([content[-1] ^ 1])
        found: FetchRecordsAnswer = read_answer(content, 0, VERSION)
        applied = self._asked.from_wire(found)
        self.follower.fetch_answered(B1, effect.request, applied, self.now_ms)
        return True


def over_the_wire(request: FetchRecords) -> FetchRecords:
    return read_request(b"".join(write_request(request, VERSION)), 0, VERSION)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    yield made
    for store in made.stores.values():
        store.close()


def content(pair: Pair, core: BrokerCore, name: TopicPartition = T0) -> bytes:
    return b"".join(bytes(e.value) for e in pair.log(core, name).read(0, 10_000_000))  # type: ignore[arg-type]


def test_a_follower_has_the_very_bytes_of_its_leader(pair: Pair) -> None:
    pair.order(T0, T1)
    pair.append(T0, b"a", b"b")
    pair.append(T1, b"c")
    pair.append(T0, b"d")
    pair.talk()

    for name in (T0, T1):
        assert content(pair, pair.follower, name) == content(pair, pair.leader, name) != b""
    assert pair.log(pair.follower).end_offset == 3


def test_a_session_lists_only_what_moved_and_goes_on(pair: Pair) -> None:
    """The second partition is not in the answer's request, and yet is told from where it is."""
    pair.order(T0, T1)
    pair.talk()
    pair.append(T1, b"a")
    pair.now_ms += CONFIG.fetch_backoff_ms
    pair.follower.tick(pair.now_ms)
    pair.talk()
    pair.append(T0, b"b")
    pair.now_ms += CONFIG.fetch_backoff_ms
    pair.follower.tick(pair.now_ms)
    pair.talk()

    assert content(pair, pair.follower, T0) == content(pair, pair.leader, T0) != b""
    assert content(pair, pair.follower, T1) == content(pair, pair.leader, T1) != b""


def test_damaged_records_are_asked_for_again(pair: Pair) -> None:
    pair.order(T0)
    pair.append(T0, b"a")
    pair.damage = True
    pair.talk(rounds=3)
    assert pair.log(pair.follower).end_offset == 0
    pair.damage = False
    pair.talk()

    assert content(pair, pair.follower) == content(pair, pair.leader) != b""


def test_a_follower_whose_log_cannot_be_cut_still_follows_the_others(pair: Pair) -> None:
    """One damaged replica must not take all that are fetched from the same leader along."""
    pair.order(T0, T1)
    pair.append(T0, b"a")
    pair.talk()
    ahead = pair.log(pair.follower).admit(batch_of(b"b"))
    assert isinstance(ahead, CheckedBatch)
    pair.log(pair.follower).append(LeaderEpoch(1), (ahead,))
    damaged = pair.stores[B2].open(T0)._segments.active
    os.pwrite(damaged._opened, bytes(12), 0)
    damaged._recent.clear()

    pair.order(T0, T1, epoch=2)
    pair.append(T1, b"c")
    pair.talk()

    assert pair.log(pair.follower).end_offset == 2
    assert content(pair, pair.follower, T1) == content(pair, pair.leader, T1) != b""


def test_a_follower_that_is_too_far_behind_goes_on_where_the_leader_begins(pair: Pair) -> None:
    pair.order(T0)
    for value in (b"a", b"b", b"c"):
        pair.append(T0, value)
    assert pair.log(pair.leader).delete_records(2, 3) == 2
    pair.talk()

    follower = pair.log(pair.follower)
    assert (follower.start_offset, follower.end_offset) == (2, 3)


def test_a_follower_lets_go_of_what_the_leader_has_deleted(pair: Pair) -> None:
    pair.order(T0)
    for value in (b"a", b"b", b"c"):
        pair.append(T0, value)
    pair.talk()
    assert pair.log(pair.leader).delete_records(2, 3) == 2
    pair.append(T0, b"d")
    pair.now_ms += CONFIG.fetch_backoff_ms
    pair.follower.tick(pair.now_ms)
    pair.talk()

    assert pair.log(pair.follower).start_offset == 2


def test_epochs_end_at_the_same_offsets(pair: Pair) -> None:
    pair.order(T0)
    pair.append(T0, b"a")
    pair.talk()
    pair.order(T0, epoch=2)
    pair.append(T0, b"b")
    pair.talk()

    ends = [pair.log(core).end_offset_for(LeaderEpoch(1)) for core in (pair.leader, pair.follower)]
    assert ends[0] == ends[1] == (1, 1)


def test_an_answer_is_filled_with_what_was_asked_last(pair: Pair) -> None:
    """In this fetch or in an earlier one of the session."""
    pair.order(T0, T1)
    asked = AskedPositions()
    sizes = {"max_wait_ms": 0, "partition_bytes": 1, "answer_bytes": 1}
    first = (FetchPosition(T0, LeaderEpoch(3), 10), FetchPosition(T1, LeaderEpoch(4), 20))
    asked.to_wire(Fetch(B2, 1, 0, 0, first), **sizes)
    asked.to_wire(Fetch(B2, 2, 1, 1, (FetchPosition(T0, LeaderEpoch(3), 11),)), **sizes)
    answer = asked.from_wire(
        FetchRecordsAnswer(session_id=1, partitions=(FetchedRecords(T0), FetchedRecords(T1)))
    )

    found = [(each.leader_epoch, each.fetch_offset) for each in answer.partitions]
    assert found == [(3, 11), (4, 20)]
