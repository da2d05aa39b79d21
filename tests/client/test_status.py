"""The status of a cluster: what counts as what, and what is not known."""

from collections.abc import Mapping

import pytest
from msgspec import structs

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.client.live_status import read_status
from regent.client.patience import Patience
from regent.client.seen import ClusterSeen, seen_from
from regent.client.status import BrokerStatus, ClusterStatus, to_status
from regent.model.admin_requests import ListReassignments, ListReassignmentsAnswer
from regent.model.assignment import Assignment
from regent.model.cluster_requests import (
    NO_CONTROLLER,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.config_requests import (
    ConfigDescription,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    DescribeConfigs,
    DescribeConfigsAnswer,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.wire.apis import ApiKey
from tests.support.builders import assignment
from tests.support.scripted_broker import ScriptedCluster, partition, topic


def seen(*partitions: PartitionDescription) -> ClusterSeen:
    """Brokers 2 and 1, of which 2 is the controller, and one topic."""
    nodes = (NodeAddress(BrokerId(2), "two", 2, "a"), NodeAddress(BrokerId(1), "one", 1))
    return seen_from(MetadataAnswer(nodes, "c", BrokerId(2), (topic("t", *partitions),)))


def test_a_whole_cluster_in_one_value() -> None:
    """In order, whatever order it was told in."""
    found = to_status(
        seen(partition(1, 1, 2), partition(0, 2, 9, isr=(2,), offline=(9,))),
        moving={},
        min_isr={"t": 1},
        controller_epoch=7,
        deleting=["gone"],
        notes=["a note"],
    )

    assert found == ClusterStatus(
        cluster_id="c",
        controller_id=BrokerId(2),
        controller_epoch=7,
        brokers=(
            BrokerStatus(BrokerId(1), "one", 1, None, False, 1, 1, 1),
            BrokerStatus(BrokerId(2), "two", 2, "a", True, 2, 1, 1),
        ),
        missing_brokers=(BrokerId(9),),
        topic_count=1,
        partition_count=2,
        offline=(),
        under_replicated=("t-0",),
        at_min_isr=("t-0",),
        under_min_isr=(),
        not_preferred=(),
        reassigning=(),
        deleting=("gone",),
        notes=("a note",),
    )


# fmt: off
CASES: Mapping[str, tuple[PartitionDescription, Assignment | None, set[str]]] = {
    "healthy":          (partition(0, 1, 2), None, set()),
    "nobody leads":     (partition(0, 9, 2, leader=-1, isr=(9,)), None,
                         {"offline", "under_replicated", "under_min_isr", "not_preferred"}),
    # A broker may not have heard yet that the leader died.
    "a dead one leads": (partition(0, 9, 2), None, {"offline"}),
    "one not in sync":  (partition(0, 1, 2, isr=(1,)), None, {"under_replicated", "under_min_isr"}),
    "another leads":    (partition(0, 1, 2, leader=2), None, {"not_preferred"}),
    # Those that are being added need not be in sync yet, nor can they lead.
    "being moved":      (partition(0, 3, 1, 2, leader=1, isr=(1, 2)),
                         assignment(3, 1, 2, adding=(3,), removing=(2,)), {"reassigning"}),
    "nearly moved":     (partition(0, 3, 1, 2, leader=1),
                         assignment(3, 1, 2, adding=(3,), removing=(2,)),
                         {"reassigning", "not_preferred"}),
    "moved and short":  (partition(0, 3, 1, 2, leader=1, isr=(1,)),
                         assignment(3, 1, 2, adding=(3,), removing=(2,)),
                         {"reassigning", "under_replicated", "under_min_isr"}),
    # The list of moves may have what is done already.
    "already moved":    (partition(0, 1, 2), assignment(1, 2), set()),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_what_a_partition_counts_as(case: str) -> None:
    """Each worry by Kafka's own meaning."""
    described, move, expected = CASES[case]
    moving = {} if move is None else {TopicPartition("t", 0): move}

    found = structs.asdict(to_status(seen(described), moving=moving, min_isr={"t": 2}))

    worries = ("offline", "under_replicated", "under_min_isr", "not_preferred", "reassigning")
    assert {name for name in worries if found[name]} == expected


def test_what_is_not_known_is_no_zero() -> None:
    """Good news must not come from silence."""
    answer = MetadataAnswer(
        controller_id=NO_CONTROLLER,
        topics=(TopicDescription("t", ErrorCode.TOPIC_AUTHORIZATION_FAILED),),
    )

    found = to_status(seen_from(answer), moving=None, min_isr=None)

    assert found.controller_id is None
    assert found.controller_epoch is None
    assert (found.at_min_isr, found.under_min_isr) == (None, None)
    assert (found.reassigning, found.deleting) == (None, None)
    assert found.notes == ("topic t: TOPIC_AUTHORIZATION_FAILED",)


# --- from a live cluster ----------------------------------------------------------------------

SHORT = Patience(connect_s=2, answer_s=10, attempts=3, pause_s=0.001, pause_s_max=0.001)


def min_isr_of(name: str, value: str | None) -> ConfigDescription:
    entry = ConfigEntry("min.insync.replicas", value, ConfigSource.DEFAULT)
    return ConfigDescription(ConfigResource(ResourceType.TOPIC, name), entries=(entry,))


def status_of(cluster: ScriptedCluster) -> ClusterStatus:
    with Cluster(parse_bootstrap(cluster.bootstrap), SHORT) as found:
        return read_status(Admin(found))


def test_a_live_cluster_is_asked_for_everything(cluster: ScriptedCluster) -> None:
    """Metadata of any broker, moves of the controller, configs of any broker."""
    cluster.topics = [topic("t", partition(0, 1, 2, isr=(1,)))]
    cluster.answer(ListReassignmentsAnswer(), to=ListReassignments)
    cluster.answer(DescribeConfigsAnswer((min_isr_of("t", "2"),)), to=DescribeConfigs)

    found = status_of(cluster)

    assert (found.under_min_isr, found.reassigning, found.notes) == (("t-0",), (), ())


def test_what_a_cluster_refuses_is_left_out_with_a_note(cluster: ScriptedCluster) -> None:
    """The rest is told all the same."""
    cluster.topics = [topic("t", partition(0, 1, 2, isr=(1,)))]
    cluster.serve(ApiKey.LIST_PARTITION_REASSIGNMENTS, last_version=None)
    cluster.serve(ApiKey.DESCRIBE_CONFIGS, last_version=None)

    found = status_of(cluster)

    assert found.under_replicated == ("t-0",)
    assert (found.reassigning, found.at_min_isr) == (None, None)
    moves, configs = found.notes
    assert moves.startswith("what is being moved is not known: 127.0.0.1:")
    assert configs.startswith("min.insync.replicas is not known: 127.0.0.1:")


def test_without_a_controller_the_rest_is_told_at_once(cluster: ScriptedCluster) -> None:
    """That is when somebody wants to see it."""
    cluster.controllers[0] = 0
    cluster.topics = [topic("t", partition(0, 1))]
    cluster.answer(DescribeConfigsAnswer((min_isr_of("t", "1"),)), to=DescribeConfigs)

    found = status_of(cluster)

    assert found.controller_id is None
    # One look at all topics, and one for a controller: no search, which would take its time.
    assert len(cluster.heard_of(Metadata)) == 2
    (note,) = found.notes
    assert note == (
        "what is being moved is not known: no controller answers: the cluster: it has no"
        " controller at the moment; see to the brokers, and try again"
    )


@pytest.mark.parametrize(
    ("told", "note", "at_min_isr"),
    [
        ((), "no topic's configuration may be seen", None),
        ((min_isr_of("t", None),), "no topic's configuration may be seen", None),
        ((min_isr_of("t", "1"),), "min.insync.replicas of 1 topics is not known", ("t-0",)),
    ],
)
def test_configs_that_may_not_be_seen_are_no_zeros(
    cluster: ScriptedCluster,
    told: tuple[ConfigDescription, ...],
    note: str,
    at_min_isr: tuple[str, ...] | None,
) -> None:
    """ACLs may hide some topics, or all."""
    cluster.topics = [topic("t", partition(0, 1)), topic("u", partition(0, 1))]
    cluster.answer(ListReassignmentsAnswer(), to=ListReassignments)
    cluster.answer(DescribeConfigsAnswer(told), to=DescribeConfigs)

    found = status_of(cluster)

    assert found.at_min_isr == at_min_isr
    assert note in found.notes[0]
