"""What the broker's logic does for nodes and not for the simulator: limits, watchers, topics."""

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_effects import AnswerAppend
from regent.broker.replication_requests import Fetch, FetchPosition
from regent.model.control_requests import PartitionMetadata, UpdateMetadata
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    LEADER_DURING_DELETE,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    TopicPartition,
    ZkVersion,
)
from tests.unit.broker.wiring import (
    B1,
    B2,
    NOW_MS,
    T0,
    T1,
    T2,
    broker,
    leader_and_isr,
    leadership,
    stop_replica,
)

E1 = LeaderEpoch(1)


def test_what_does_not_fit_into_an_answer_comes_first_in_the_next() -> None:
    core = broker(config=BrokerConfig(fetch_limit=5, fetch_answer_limit=5))
    names = (T0, T1, T2)
    core.leader_and_isr(leader_and_isr(*((name, leadership(isr=(B1,))) for name in names)), NOW_MS)
    for name in names:
        for number in range(3):
            core.append(name, number, number, acks_all=False)
    positions = tuple(FetchPosition(name, E1, 0) for name in names)
    first = core.fetch(Fetch(B2, 1, 0, 0, positions), NOW_MS)
    second = core.fetch(Fetch(B2, 2, 1, 1, (FetchPosition(T0, E1, 3),)), NOW_MS)

    assert first is not None
    assert [(each.name, len(each.entries)) for each in first.partitions] == [(T0, 3), (T1, 3)]
    assert second is not None
    assert [each.name for each in second.partitions] == [T2, T0]


def test_a_repeated_append_is_answered_in_its_turn() -> None:
    core = broker()
    core.leader_and_isr(leader_and_isr((T0, leadership(isr=(B1, B2)))), NOW_MS)
    core.append(T0, "a", 1)
    core.append(T0, "b", 2)
    core.append_again(T0, 0, 0, 3)
    assert core.take_effects() == []

    core.fetch(Fetch(B2, 1, 0, 0, (FetchPosition(T0, E1, 1),)), NOW_MS)
    first = [each for each in core.take_effects() if isinstance(each, AnswerAppend)]
    core.append_again(T0, 0, 0, 4)
    late = [each for each in core.take_effects() if isinstance(each, AnswerAppend)]

    assert first == [AnswerAppend(1, ErrorCode.NONE, 0), AnswerAppend(3, ErrorCode.NONE, 0)]
    assert late == [AnswerAppend(4, ErrorCode.NONE, 0)]
    core.append_again(T1, 0, 0, 5)
    assert core.take_effects() == [AnswerAppend(5, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]


def test_whoever_watches_hears_of_records_and_of_roles() -> None:
    core = broker()
    seen: list[TopicPartition] = []
    core.watch(seen.append)
    core.leader_and_isr(leader_and_isr((T0, leadership(isr=(B1,)))), NOW_MS)
    assert T0 in seen
    seen.clear()
    core.append(T0, "a", 1)
    assert seen == [T0]
    seen.clear()
    core.stop_replica(stop_replica(T0, 1), NOW_MS)

    assert seen == [T0]


def told(*leaders: tuple[TopicPartition, int]) -> UpdateMetadata:
    return UpdateMetadata(
        controller_id=B1,
        controller_epoch=ControllerEpoch(1),
        broker_epoch=BrokerEpoch(BROKER_EPOCH_UNKNOWN),
        partitions=tuple(
            PartitionMetadata(
                name.topic,
                name.partition,
                ControllerEpoch(1),
                BrokerId(leader),
                E1,
                (B1,),
                ZkVersion(0),
                (B1,),
            )
            for name, leader in leaders
        ),
        live_brokers=(),
    )


def test_topics_are_known_until_their_last_partition_goes() -> None:
    core = broker()
    core.update_metadata(told((T0, 1), (T1, 1)))
    assert list(core.metadata.topics["t"]) == [0, 1]
    core.update_metadata(told((T0, LEADER_DURING_DELETE)))
    assert list(core.metadata.topics["t"]) == [1]
    core.update_metadata(told((T1, LEADER_DURING_DELETE), (T2, LEADER_DURING_DELETE)))

    assert core.metadata.topics == {}
