"""A cluster for a test: it is there, it can be broken and mended, and it leaves nothing behind."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from regent.client.seen import ClusterSeen
from regent.errors import BadInput, RegentError, RequestRefused
from regent.model.error_codes import ErrorCode
from regent.testing import Cluster
from regent.testing.broker_process import Condition
from regent.testing.patient import PATIENCE_S, WaitedInVain, wait_for, wait_until
from tests.testing.processes import is_gone


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests that mend what they break."""
    with Cluster(brokers=3, racks=["a", "b"]) as started:
        yield started


def produce(cluster: Cluster, topic: str) -> None:
    """One record, on its leader's word alone."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1})
    producer.produce(topic, b"record")
    assert producer.flush(PATIENCE_S) == 0


def seen_by(cluster: Cluster, broker_id: int, *topics: str) -> ClusterSeen:
    """What a broker tells; one that has no time for it is asked again."""
    return wait_for(lambda: cluster.seen_by(broker_id, *topics), f"word of broker {broker_id}")


def journal_files(cluster: Cluster) -> list[Path]:
    return [path for path in cluster.journal_dir.rglob("*.jsonl") if path.stat().st_size]


def test_every_broker_knows_every_other_one(cluster: Cluster) -> None:
    """A client may begin with any of them."""
    seen = [seen_by(cluster, broker_id) for broker_id in cluster.broker_ids]

    assert [[each.broker_id for each in one.brokers] for one in seen] == [[1, 2, 3]] * 3


def test_brokers_get_racks_in_turn(cluster: Cluster) -> None:
    assert [cluster.broker(broker_id).rack for broker_id in (1, 2, 3)] == ["a", "b", "a"]


def test_a_topic_is_known_everywhere_when_it_is_created(cluster: Cluster) -> None:
    cluster.create_topic("everywhere", partitions=4, replication_factor=2)

    for broker_id in cluster.broker_ids:
        seen = seen_by(cluster, broker_id, "everywhere")
        assert [each.has_leader for each in seen.partitions()] == [True] * 4
    assert len(cluster.partition("everywhere", 3).assignment.replicas) == 2


def test_a_topic_that_is_refused_says_why(cluster: Cluster) -> None:
    with pytest.raises(RequestRefused, match="INVALID_REPLICATION_FACTOR") as refused:
        cluster.create_topic("impossible", replication_factor=9)

    assert refused.value.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_leader_that_is_killed_is_replaced_and_comes_back(cluster: Cluster) -> None:
    cluster.create_topic("orders")
    before = cluster.leader("orders")
    pid, port = cluster.broker(before).pid, cluster.broker(before).port

    cluster.kill(before)

    assert pid is not None
    assert is_gone(pid)
    assert cluster.broker(before).condition is Condition.DOWN
    assert cluster.leader("orders") != before

    cluster.start(before)
    cluster.wait_until(lambda: set(cluster.isr("orders")) == {1, 2, 3}, "all in sync")
    assert cluster.broker(before).port == port


def test_a_broker_that_is_stopped_hands_over_first(cluster: Cluster) -> None:
    cluster.create_topic("bills")
    before = cluster.leader("bills")

    cluster.stop(before)

    assert cluster.broker(before).exit_code == 0
    assert cluster.leader("bills") != before
    cluster.start(before)


def test_a_broker_that_is_paused_is_silent_until_it_is_resumed(cluster: Cluster) -> None:
    cluster.pause(2)
    assert cluster.broker(2).condition is Condition.PAUSED
    assert cluster.seen_by(2) is None

    cluster.resume(2)
    assert cluster.broker(2).condition is Condition.RUNNING
    wait_until(lambda: cluster.seen_by(2) is not None, "an answer")
    wait_until(lambda: 2 in cluster._looking().cluster().brokers, "its registration")


def test_a_follower_that_is_cut_off_from_its_leader_falls_out_of_sync(cluster: Cluster) -> None:
    """Both live on, are registered, and answer their clients; until it is healed."""
    cluster.create_topic("apart")
    leader = cluster.leader("apart")
    # A leader that does not reach the controller cannot ask for a smaller ISR.
    needed = {leader, cluster.controller_id()}
    follower = next(each for each in cluster.broker_ids if each not in needed)

    cluster.cut(leader, follower)
    produce(cluster, "apart")  # who has all there is, is in sync
    cluster.wait_until(lambda: follower not in cluster.isr("apart"), "a smaller ISR")
    for each in (leader, follower):
        seen_by(cluster, each)

    cluster.heal()
    cluster.wait_until(lambda: set(cluster.isr("apart")) == {1, 2, 3}, "all in sync")


def test_a_broker_whose_session_is_ended_comes_back_by_itself(cluster: Cluster) -> None:
    """The controller too, which loses its office; the process is the same one."""
    broker = cluster.broker(cluster.controller_id())
    pid, registered = broker.pid, "registered as broker, epoch"
    before = cluster.logs(broker.broker_id).count(registered)

    cluster.expire_session(broker.broker_id)

    cluster.wait_until_ready(broker.broker_id)
    cluster.wait_until(
        lambda: cluster.logs(broker.broker_id).count(registered) > before, "a registration"
    )
    assert broker.pid == pid


def test_all_journals_are_in_one_folder(cluster: Cluster) -> None:
    """So that `regent pipeline run` can be given just that."""

    def writers() -> set[str]:
        return {file.relative_to(cluster.journal_dir).parts[0] for file in journal_files(cluster)}

    cluster.wait_until(lambda: f"broker-{cluster.controller_id()}" in writers(), "its journal")


def test_what_makes_no_sense_is_refused(cluster: Cluster) -> None:
    with pytest.raises(BadInput, match="there is no broker 9 in this cluster; there are 1, 2, 3"):
        cluster.kill(9)
    with pytest.raises(BadInput, match="broker 1 is running already"):
        cluster.start(1)
    with pytest.raises(BadInput, match="broker 1 cannot be cut off from itself"):
        cluster.cut(1, 1)
    with pytest.raises(BadInput, match="there is no partition nothing-0"):
        cluster.isr("nothing")
    with pytest.raises(WaitedInVain, match=r"waited 0 s in vain for the impossible"):
        cluster.wait_until(lambda: False, "the impossible", within_s=0)


def test_a_cluster_of_none_is_refused() -> None:
    with pytest.raises(BadInput, match="a cluster of 0 brokers is none"):
        Cluster(brokers=0)


def test_two_clusters_do_not_see_each_other(cluster: Cluster) -> None:
    """They share Java, and nothing else."""
    with Cluster(brokers=1) as other:
        assert other.zookeeper != cluster.zookeeper
        seen = wait_for(other.seen, "an answer")
        assert [each.broker_id for each in seen.brokers] == [1]


def test_brokers_of_somebody_else_are_not_driven_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ZooKeeper that was given may have others in it, and they are named."""
    monkeypatch.setattr("regent.testing.cluster.LEFTOVER_S", 0.1)

    with pytest.raises(BadInput, match=r"brokers \[1\] are registered in ZooKeeper at .* else"):
        Cluster(brokers=1, zookeeper=cluster.zookeeper).start()

    seen_by(cluster, 1)


def test_nothing_is_left_in_the_end() -> None:
    """Neither processes, nor ports, nor files; whatever state the brokers were in."""
    cluster = Cluster(brokers=2)
    cluster.start()
    brokers = [cluster.broker(broker_id) for broker_id in cluster.broker_ids]
    pids = [broker.pid for broker in brokers]
    folder = cluster.journal_dir.parent

    cluster.pause(1)
    cluster.kill(2)
    cluster.close()

    assert all(is_gone(pid) for pid in pids if pid)
    assert not folder.exists()
    with socket.create_server(("127.0.0.1", brokers[0].port)):
        pass


def test_a_broker_that_cannot_start_says_why_and_leaves_nothing() -> None:
    cluster = Cluster(brokers=2, config={"zookeeper.session.timeout.ms": "soon"})

    with pytest.raises(RegentError, match=r"broker \d ended with code 64 .*expected a whole num"):
        cluster.start()

    assert cluster.bootstrap == ""


def test_a_given_folder_keeps_what_is_in_it(tmp_path: Path) -> None:
    """The same cluster again: topics, ids and ports."""
    with Cluster(brokers=1, data_dir=tmp_path) as first:
        first.create_topic("kept", partitions=2)
        code_of = first.broker(1)
    assert code_of.exit_code == 0, "it was stopped in order"

    with Cluster(brokers=1, data_dir=tmp_path) as second:
        assert second.leader("kept", 1) == 1
