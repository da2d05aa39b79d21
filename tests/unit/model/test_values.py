"""The small values: Kafka's words and numbers, as they are."""

from regent.model.alter_partition import IsrVerdict
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    LEADER_DURING_DELETE,
    LEADER_EPOCH_DURING_DELETE,
    LEADER_EPOCH_UNKNOWN,
    NO_LEADER,
    TopicPartition,
)
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import leadership


def test_states_are_called_what_kafka_calls_them() -> None:
    """A journal and a real state-change.log can be compared line by line."""
    assert [state.value for state in PartitionState] == [
        "NonExistentPartition",
        "NewPartition",
        "OnlinePartition",
        "OfflinePartition",
    ]
    assert [state.value for state in ReplicaState] == [
        "NonExistentReplica",
        "NewReplica",
        "OnlineReplica",
        "OfflineReplica",
        "ReplicaDeletionStarted",
        "ReplicaDeletionSuccessful",
        "ReplicaDeletionIneligible",
    ]


def test_the_special_numbers_are_kafkas() -> None:
    """They go on the wire and into znodes as they are."""
    assert (NO_LEADER, LEADER_DURING_DELETE) == (-1, -2)
    assert (LEADER_EPOCH_UNKNOWN, LEADER_EPOCH_DURING_DELETE) == (-1, -2)


def test_the_error_codes_of_alter_partition_are_kafkas() -> None:
    """Kafka 3.9, Errors.java; a wrong number means something else to every client."""
    assert {code.name: code.value for code in ErrorCode if code.value in ALTER_PARTITION_CODES} == {
        "NONE": 0,
        "UNKNOWN_TOPIC_OR_PARTITION": 3,
        "NOT_CONTROLLER": 41,
        "INVALID_REQUEST": 42,
        "OPERATION_NOT_ATTEMPTED": 55,
        "FENCED_LEADER_EPOCH": 74,
        "STALE_BROKER_EPOCH": 77,
        "INVALID_UPDATE_VERSION": 95,
        "UNKNOWN_TOPIC_ID": 100,
        "INELIGIBLE_REPLICA": 107,
    }


ALTER_PARTITION_CODES = {0, 3, 41, 42, 55, 74, 77, 95, 100, 107}


def test_a_partition_is_named_as_kafka_names_it() -> None:
    """Topic, dash, number."""
    assert str(TopicPartition("orders", 3)) == "orders-3"
    assert IsrVerdict("orders", 3).name == TopicPartition("orders", 3)


def test_leaderships_are_compared_by_all_they_say() -> None:
    """The version included: the same words written twice are two writes."""
    assert leadership(1, (1, 2), zk_version=1) != leadership(1, (1, 2), zk_version=2)
    assert leadership(1, (1, 2)) != leadership(1, (2, 1))
