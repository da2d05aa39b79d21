"""Fetches, sessions, long polls and the cut, one side at a time."""

import pytest

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import (
    AnswerAppend,
    AnswerFetch,
    SendAlterPartition,
    SendEpochQuery,
    SendFetch,
)
from regent.broker.log import LogEntry, MemoryLog, MemoryLogDirectory
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
from regent.model.alter_partition import AlterPartitionAnswer, IsrVerdict
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition, ZkVersion
from tests.unit.broker.wiring import (
    ALL,
    B1,
    B2,
    B3,
    NOW_MS,
    T0,
    T1,
    broker,
    leader_and_isr,
    leadership,
    stop_replica,
    update_metadata,
)

E1, E2 = LeaderEpoch(1), LeaderEpoch(2)


def leader(
    *names: TopicPartition, isr: tuple[BrokerId, ...] = ALL, config: BrokerConfig | None = None
) -> BrokerCore:
    """Broker 1, leading these partitions in leader epoch 1."""
    core = broker(config=config)
    core.leader_and_isr(leader_and_isr(*((name, leadership(isr=isr)) for name in names)), NOW_MS)
    return core


def full_fetch(
    replica: BrokerId, *positions: tuple[TopicPartition, int], epoch: int = 1, fetch_id: int = 1
) -> Fetch:
    wanted = tuple(FetchPosition(name, LeaderEpoch(epoch), offset) for name, offset in positions)
    return Fetch(replica, fetch_id, 0, 0, wanted)


def codes(answer: FetchAnswer | None) -> list[ErrorCode]:
    assert answer is not None
    return [each.error for each in answer.partitions]


# --- the leader --------------------------------------------------------------------------------


def test_a_fetch_with_nothing_new_is_parked_until_a_record_comes() -> None:
    """Followers learn of records at once, without asking again and again."""
    core = leader(T0)
    told = core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)
    assert told == FetchAnswer(1, partitions=(FetchedPartition(T0, ErrorCode.NONE, E1, 0, 0),))
    assert core.fetch(Fetch(B2, 2, 1, 1), NOW_MS) is None

    core.append(T0, "a", 7)

    news = FetchedPartition(T0, ErrorCode.NONE, E1, 0, 0, (LogEntry(E1, "a"),))
    assert core.take_effects() == [AnswerFetch(B2, 2, FetchAnswer(1, partitions=(news,)))]


def test_a_parked_fetch_is_let_go_after_its_time() -> None:
    """The empty answer is the leader's sign of life."""
    core = leader(T0)
    core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)
    core.fetch(Fetch(B2, 2, 1, 1), NOW_MS)

    assert core.next_tick_ms() == NOW_MS + 500
    core.tick(NOW_MS + 499)
    assert core.take_effects() == []
    core.tick(NOW_MS + 500)

    assert core.take_effects() == [AnswerFetch(B2, 2, FetchAnswer(1))]


def test_a_moved_high_watermark_is_news_to_the_other_follower() -> None:
    """Otherwise followers would know what is committed only half a second late."""
    core = leader(T0)
    core.append(T0, "a", 7)
    core.fetch(full_fetch(B2, (T0, 1)), NOW_MS)
    core.fetch(Fetch(B2, 2, 1, 1), NOW_MS)
    core.take_effects()

    core.fetch(full_fetch(B3, (T0, 1)), NOW_MS)

    news = FetchedPartition(T0, ErrorCode.NONE, E1, 1, 1)
    assert core.take_effects() == [
        AnswerAppend(7, ErrorCode.NONE, 0),
        AnswerFetch(B2, 2, FetchAnswer(1, partitions=(news,))),
    ]


@pytest.mark.parametrize(
    ("epoch", "offset", "code"),
    [
        (0, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (2, 0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (1, 1, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_fetch_in_another_epoch_or_beyond_the_log_is_refused(
    epoch: int, offset: int, code: ErrorCode
) -> None:
    """And it counts for nothing: the high watermark must not rest on it."""
    core = leader(T0)

    answer = core.fetch(full_fetch(B2, (T0, offset), epoch=epoch), NOW_MS)

    assert codes(answer) == [code]
    assert core.hosted[T0].followers[B2].end_offset == -1


def test_only_a_leader_serves_and_only_its_replicas() -> None:
    """Errors tell the follower to wait for its next orders."""
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(B2, isr=(B2,)))), NOW_MS)
    order = leader_and_isr((T1, leadership(isr=(B1,))), replicas=(B1, B2))
    core.leader_and_isr(order, NOW_MS)

    answer = core.fetch(full_fetch(B3, (T0, 0), (T1, 0), (TopicPartition("x", 0), 0)), NOW_MS)

    assert codes(answer) == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.parametrize(
    ("session_id", "session_epoch"), [(1, 2), (2, 1)], ids=["wrong epoch", "wrong session"]
)
def test_a_fetch_out_of_its_session_must_start_afresh(session_id: int, session_epoch: int) -> None:
    """A lost or repeated request would leave the two with different ideas of the positions."""
    core = leader(T0)
    core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)

    answer = core.fetch(Fetch(B2, 2, session_id, session_epoch), NOW_MS)

    assert answer == FetchAnswer(0, session_lost=True)


def test_losing_the_leadership_answers_the_parked_fetch_with_the_error() -> None:
    """The follower can then move to the new leader without waiting for the poll to end."""
    core = leader(T0, T1)
    core.fetch(full_fetch(B2, (T0, 0), (T1, 0)), NOW_MS)
    core.fetch(Fetch(B2, 2, 1, 1), NOW_MS)

    core.stop_replica(stop_replica(T1, 1), NOW_MS)
    gone = FetchedPartition(T1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert core.take_effects() == [AnswerFetch(B2, 2, FetchAnswer(1, partitions=(gone,)))]
    core.fetch(Fetch(B2, 3, 1, 2), NOW_MS)
    core.leader_and_isr(leader_and_isr((T0, leadership(epoch=2))), NOW_MS)

    fenced = FetchedPartition(T0, ErrorCode.FENCED_LEADER_EPOCH)
    assert core.take_effects() == [AnswerFetch(B2, 3, FetchAnswer(1, partitions=(fenced,)))]


def test_an_answer_is_bounded_and_the_rest_follows() -> None:
    """A follower far behind must not get its whole backlog in one message."""
    core = leader(T0, isr=(B1,), config=BrokerConfig(fetch_limit=2))
    for value in range(3):
        core.append(T0, value, value)

    first = core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)
    second = core.fetch(Fetch(B2, 2, 1, 1, (FetchPosition(T0, E1, 2),)), NOW_MS)

    assert first is not None
    assert second is not None
    assert [len(first.partitions[0].entries), len(second.partitions[0].entries)] == [2, 1]


def test_epochs_are_told_only_in_the_same_leadership() -> None:
    """An offset from another leadership would cut the wrong records."""
    core = leader(T0)
    core.append(T0, "a", 1)
    other = TopicPartition("x", 0)
    questions = (
        EpochQuestion(T0, E1, E1),
        EpochQuestion(T0, LeaderEpoch(0), E1),
        EpochQuestion(T0, E2, E1),
        EpochQuestion(other, E1, E1),
    )

    answer = core.epoch_query(EpochQuery(B2, 1, questions))

    assert answer.replies == (
        EpochReply(T0, ErrorCode.NONE, E1, 1),
        EpochReply(T0, ErrorCode.FENCED_LEADER_EPOCH),
        EpochReply(T0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        EpochReply(other, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    )


def test_appends_are_refused_where_they_cannot_be_kept() -> None:
    """At once, and without touching the log."""
    core = leader(T0, isr=(B1,), config=BrokerConfig(min_isr=2))
    core.leader_and_isr(leader_and_isr((T1, leadership(B2))), NOW_MS)
    core.take_effects()

    core.append(T0, "a", 1)
    core.append(T1, "a", 2)
    core.append(TopicPartition("x", 0), "a", 3)

    assert core.take_effects() == [
        AnswerAppend(1, ErrorCode.NOT_ENOUGH_REPLICAS, -1),
        AnswerAppend(2, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1),
        AnswerAppend(3, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert core.hosted[T0].log.end_offset == 0


def test_a_record_that_too_few_have_is_not_committed() -> None:
    """Its producer waits until enough are in sync again, and consumers do not see it."""
    core = leader(T0, isr=(B1, B2), config=BrokerConfig(min_isr=2))
    core.append(T0, "a", 1)
    core.tick(NOW_MS + 10_001)
    (effect,) = core.take_effects()
    assert isinstance(effect, SendAlterPartition)

    alone = IsrVerdict("t", 0, ErrorCode.NONE, B1, E1, (B1,), ZkVersion(2))
    answer = AlterPartitionAnswer(verdicts=(alone,))
    core.alter_partition_answered(effect.request_id, answer, NOW_MS + 10_001)

    assert core.take_effects() == []
    assert core.hosted[T0].high_watermark == 0


# --- the follower ------------------------------------------------------------------------------


def follower(*names: TopicPartition, directory: MemoryLogDirectory | None = None) -> BrokerCore:
    """Broker 2, following these partitions at broker 1 in leader epoch 1."""
    core = broker(B2, directory=directory)
    core.leader_and_isr(leader_and_isr(*((name, leadership()) for name in names)), NOW_MS)
    return core


def fetch_of(core: BrokerCore) -> Fetch:
    (effect,) = core.take_effects()
    assert isinstance(effect, SendFetch)
    assert effect.leader_id == B1
    return effect.request


def entries(name: TopicPartition, offset: int, *values: str) -> FetchedPartition:
    return FetchedPartition(
        name,
        leader_epoch=E1,
        fetch_offset=offset,
        high_watermark=1,
        entries=tuple(LogEntry(E1, value) for value in values),
    )


def test_an_empty_replica_fetches_at_once_and_then_only_what_moved() -> None:
    """The first fetch lists everything, later ones only positions that changed."""
    core = follower(T0, T1)
    first = fetch_of(core)
    assert first == full_fetch(B2, (T0, 0), (T1, 0))

    answer = FetchAnswer(9, partitions=(entries(T0, 0, "a", "b"),))
    core.fetch_answered(B1, first, answer, NOW_MS)

    second = fetch_of(core)
    assert second == Fetch(B2, 2, 9, 1, (FetchPosition(T0, E1, 2),))
    assert core.hosted[T0].high_watermark == 1
    core.fetch_answered(B1, second, FetchAnswer(9), NOW_MS)
    assert fetch_of(core) == Fetch(B2, 3, 9, 2)


def test_the_high_watermark_of_a_follower_is_capped_by_its_own_log() -> None:
    """It cannot vouch for records that it does not have."""
    core = follower(T0)
    news = FetchedPartition(T0, leader_epoch=E1, fetch_offset=0, high_watermark=7)

    core.fetch_answered(B1, fetch_of(core), FetchAnswer(9, partitions=(news,)), NOW_MS)

    assert core.hosted[T0].high_watermark == 0


@pytest.mark.parametrize("lost", [None, FetchAnswer(0, session_lost=True)])
def test_a_failed_fetch_starts_a_new_session(lost: FetchAnswer | None) -> None:
    """Nobody knows whether the leader saw the last one. Silence also calls for a pause."""
    core = follower(T0)
    core.fetch_answered(B1, fetch_of(core), FetchAnswer(9), NOW_MS)

    core.fetch_answered(B1, fetch_of(core), lost, NOW_MS)

    if lost is None:
        assert core.take_effects() == []
        assert core.next_tick_ms() == NOW_MS + 100
        core.tick(NOW_MS + 100)
    assert fetch_of(core) == full_fetch(B2, (T0, 0), fetch_id=3)


def test_an_answer_to_another_request_is_ignored() -> None:
    """It may come from before a disconnect, when positions were different."""
    core = follower(T0)
    first = fetch_of(core)
    core.fetch_answered(B1, first, None, NOW_MS)

    core.fetch_answered(B1, first, FetchAnswer(9, partitions=(entries(T0, 0, "a"),)), NOW_MS)

    assert core.hosted[T0].log.end_offset == 0


def test_news_of_another_epoch_or_offset_are_ignored_and_asked_for_again() -> None:
    """Each partition is judged by itself; the good ones in the answer count."""
    core = follower(T0, T1)
    first = fetch_of(core)
    other_epoch = FetchedPartition(
        T1, leader_epoch=E2, fetch_offset=0, entries=(LogEntry(E2, "x"),)
    )

    answer = FetchAnswer(9, partitions=(entries(T0, 5, "a"), other_epoch))
    core.fetch_answered(B1, first, answer, NOW_MS)

    assert core.hosted[T0].log.end_offset == core.hosted[T1].log.end_offset == 0
    positions = (FetchPosition(T0, E1, 0), FetchPosition(T1, E1, 0))
    assert fetch_of(core) == Fetch(B2, 2, 9, 1, positions)


def test_news_for_a_follower_that_got_new_orders_meanwhile_are_ignored() -> None:
    """The answer belongs to a leadership that is over; the leader is told to forget."""
    core = follower(T0, T1)
    first = fetch_of(core)
    core.leader_and_isr(leader_and_isr((T0, leadership(B3, 2))), NOW_MS)
    core.take_effects()

    answer = FetchAnswer(9, partitions=(entries(T0, 0, "a"),))
    core.fetch_answered(B1, first, answer, NOW_MS)

    assert core.hosted[T0].log.end_offset == 0
    assert fetch_of(core) == Fetch(B2, 2, 9, 1, forgotten=(T0,))


def test_a_partition_that_met_an_error_rests_while_the_others_go_on() -> None:
    """One leaderless partition must not stop the copying of the rest."""
    core = follower(T0, T1)
    refused = FetchedPartition(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    core.fetch_answered(B1, fetch_of(core), FetchAnswer(9, partitions=(refused,)), NOW_MS)

    second = fetch_of(core)
    assert second == Fetch(B2, 2, 9, 1, forgotten=(T0,))
    core.tick(NOW_MS + 100)
    core.fetch_answered(B1, second, FetchAnswer(9), NOW_MS + 100)
    assert fetch_of(core) == Fetch(B2, 3, 9, 2, (FetchPosition(T0, E1, 0),))


def follower_with_tail() -> tuple[BrokerCore, EpochQuery]:
    """Broker 2 with five records, of epochs 0 and 1, told to follow in epoch 3."""
    directory = MemoryLogDirectory()
    directory.open(T0).append(LeaderEpoch(0), ("a", "b"))
    directory.open(T0).append(E1, ("c", "d", "e"))
    directory.checkpoint(T0, 4)
    core = broker(B2, directory=directory)
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 3))), NOW_MS)
    (effect,) = core.take_effects()
    assert isinstance(effect, SendEpochQuery)
    return core, effect.query


def test_a_replica_with_records_asks_before_it_fetches() -> None:
    """Its tail may be of a leader that lost."""
    core, query = follower_with_tail()
    assert query.questions == (EpochQuestion(T0, LeaderEpoch(3), E1),)

    reply = EpochReply(T0, ErrorCode.NONE, E1, 3)
    core.epoch_query_answered(B1, query, EpochQueryAnswer((reply,)), NOW_MS)

    assert core.hosted[T0].log.end_offset == 3
    assert core.hosted[T0].high_watermark == 3
    assert fetch_of(core).positions == (FetchPosition(T0, LeaderEpoch(3), 3),)


def test_a_leader_that_ends_beyond_our_log_cuts_nothing() -> None:
    """Being behind is no divergence."""
    core, query = follower_with_tail()

    reply = EpochReply(T0, ErrorCode.NONE, E1, 9)
    core.epoch_query_answered(B1, query, EpochQueryAnswer((reply,)), NOW_MS)

    assert core.hosted[T0].log.end_offset == 5
    assert core.hosted[T0].high_watermark == 4


@pytest.mark.parametrize("failure", ["silence", "error"])
def test_an_unanswered_epoch_query_is_repeated_after_a_pause(failure: str) -> None:
    """Fetching without the cut could bury a divergent tail under good records."""
    core, query = follower_with_tail()
    fenced = EpochReply(T0, ErrorCode.UNKNOWN_LEADER_EPOCH)
    answer = None if failure == "silence" else EpochQueryAnswer((fenced,))

    core.epoch_query_answered(B1, query, answer, NOW_MS)

    assert core.take_effects() == []
    assert core.next_tick_ms() == NOW_MS + 100
    core.tick(NOW_MS + 100)
    (effect,) = core.take_effects()
    assert isinstance(effect, SendEpochQuery)
    assert effect.query.questions == query.questions


def test_a_cut_ordered_in_another_leadership_is_not_made() -> None:
    """The answer was true once; the new leader may well have what it would remove."""
    core, query = follower_with_tail()
    core.leader_and_isr(leader_and_isr((T0, leadership(B1, 4))), NOW_MS)

    reply = EpochReply(T0, ErrorCode.NONE, LeaderEpoch(0), 1)
    core.epoch_query_answered(B1, query, EpochQueryAnswer((reply,)), NOW_MS)

    assert core.hosted[T0].log.end_offset == 5


def test_an_idle_round_touches_no_partition() -> None:
    """Its cost must not grow with the number of partitions."""
    names = tuple(TopicPartition("wide", partition) for partition in range(10))
    leading, following = leader(*names), follower(*names)
    request = fetch_of(following)
    answer = leading.fetch(request, NOW_MS)
    following.fetch_answered(B1, request, answer, NOW_MS)
    request = fetch_of(following)

    assert leading.fetch(request, NOW_MS) is None

    assert (request.positions, request.forgotten) == ((), ())
    leading.tick(NOW_MS + 500)
    answers = [each for each in leading.take_effects() if not isinstance(each, SendAlterPartition)]
    assert answers == [AnswerFetch(B2, 2, FetchAnswer(1))]


def test_a_record_without_acks_all_is_acknowledged_by_the_leader_alone() -> None:
    """However few are in sync, and before anybody else has it."""
    core = leader(T0, isr=(B1, B2), config=BrokerConfig(min_isr=3))

    core.append(T0, "r1", 1, acks_all=False)

    assert AnswerAppend(1, ErrorCode.NONE, 0) in core.take_effects()
    assert core.hosted[T0].high_watermark == 0


def test_a_topics_own_word_on_the_isr_goes_over_the_brokers() -> None:
    core = leader(T0, isr=(B1,), config=BrokerConfig(min_isr=2))
    core.min_isr[T0.topic] = 1

    core.append(T0, "r1", 1)

    assert AnswerAppend(1, ErrorCode.NONE, 0) in core.take_effects()


# --- followers that are about to join ---------------------------------------------------------


def proposed(core: BrokerCore) -> list[tuple[BrokerId, ...]]:
    effects = core.take_effects()
    return [
        each.isr
        for effect in effects
        if isinstance(effect, SendAlterPartition)
        for each in effect.request.proposals
    ]


def test_a_follower_joins_a_leader_that_never_rests() -> None:
    """One record is appended while each answer travels; a high watermark at the end would flee."""
    core = leader(T0, isr=(B1,))
    core.append(T0, "first", 0)
    answer = core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)
    for offset in range(1, 4):
        assert answer is not None
        core.append(T0, "next", offset)
        position = FetchPosition(T0, E1, offset)
        request = Fetch(B2, offset + 1, answer.session_id, offset, (position,))
        answer = core.fetch(request, NOW_MS + 2 * offset)

    assert proposed(core) == [(B1, B2)]


@pytest.mark.parametrize("how", ["it falls behind", "it dies"])
def test_nobody_waits_for_a_follower_that_will_not_join(how: str) -> None:
    core = leader(T0, isr=(B1,))
    core.append(T0, "a", 1)
    core.fetch(full_fetch(B2, (T0, 0)), NOW_MS)
    first = core.fetch(full_fetch(B2, (T0, 1)), NOW_MS)
    assert first is not None
    # The controller does not want it yet. It keeps up, so that the next record waits for it.
    (sent,) = (each for each in core.take_effects() if isinstance(each, SendAlterPartition))
    refused = IsrVerdict(T0.topic, T0.partition, ErrorCode.INELIGIBLE_REPLICA)
    core.alter_partition_answered(
        sent.request_id, AlterPartitionAnswer(verdicts=(refused,)), NOW_MS
    )
    core.take_effects()
    core.append(T0, "b", 2)
    waits = [each.request_id for each in core.take_effects() if isinstance(each, AnswerAppend)]
    assert waits == []

    if how == "it dies":
        core.update_metadata(update_metadata(B1, B3))
    else:
        core.tick(NOW_MS + 3 * BrokerConfig().replica_lag_ms)

    answered = [each.request_id for each in core.take_effects() if isinstance(each, AnswerAppend)]
    assert answered == [2]


def test_a_leader_that_restarts_in_its_epoch_lets_in_only_who_has_all_of_its_log() -> None:
    """The high watermark on disk may be older than what it has acknowledged since."""
    disk = MemoryLogDirectory()
    disk.open(T0).append(E1, range(12))
    disk.checkpoint(T0, 5)
    core = broker(directory=disk)
    core.leader_and_isr(leader_and_isr((T0, leadership(isr=(B1, B2)))), NOW_MS)

    core.fetch(full_fetch(B3, (T0, 5)), NOW_MS)
    assert proposed(core) == []

    core.fetch(full_fetch(B3, (T0, 12)), NOW_MS)
    assert proposed(core) == [(B1, B2, B3)]


def test_an_idle_follower_hears_that_the_log_begins_later() -> None:
    """Or the deleted records would be back with the next leader."""

    class Trimmed(MemoryLog):
        start = 0

        @property
        def start_offset(self) -> int:
            return self.start

    core = leader(T0, isr=(B1, B2))
    log = core.hosted[T0].log = Trimmed()
    log.append(E1, range(3))
    first = core.fetch(full_fetch(B2, (T0, 3)), NOW_MS)
    assert first is not None
    assert core.fetch(Fetch(B2, 2, first.session_id, 1), NOW_MS) is None
    core.take_effects()

    log.start = 2
    core.log_began_later(T0)

    (told,) = (each for each in core.take_effects() if isinstance(each, AnswerFetch))
    assert [each.log_start_offset for each in told.answer.partitions] == [2]


def test_a_topic_with_one_replica_needs_no_more_in_sync() -> None:
    """Kafka's effective min ISR: no more can be wanted than there are replicas."""
    core = broker(config=BrokerConfig(min_isr=2))
    core.leader_and_isr(leader_and_isr((T0, leadership(isr=(B1,))), replicas=(B1,)), NOW_MS)
    core.leader_and_isr(leader_and_isr((T1, leadership(isr=(B1,)))), NOW_MS)

    assert core.append_refusal(T0, acks_all=True) is ErrorCode.NONE
    assert core.append_refusal(T1, acks_all=True) is ErrorCode.NOT_ENOUGH_REPLICAS
