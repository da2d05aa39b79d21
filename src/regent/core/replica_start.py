"""How all replicas are put on their footing when a controller takes office (R1).

The moves are those of the replica machine; made for every replica of a cluster at once, they are
what a failover spends most of its time on, so this goes from partition to partition and from list
of replicas to list of replicas.
"""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from regent.core.asks import Procedure
from regent.core.effects import Journal
from regent.core.replica_machine import INELIGIBLE, OFFLINE, ONLINE, move_replicas, still_new
from regent.core.request_batch import RequestBatch, Told
from regent.core.state import ControllerState, Partition
from regent.model.facts import Fact, ReplicasStarted
from regent.model.ids import BrokerId


def start_replicas(state: ControllerState) -> Procedure[None]:
    """Put every loaded replica on its footing, then move it on: online ones first (R1)."""
    hosted: dict[BrokerId, list[Partition]] = {}
    lists: dict[tuple[BrokerId, ...], _ReplicaList] = {}
    news: dict[Partition, Told] = {}
    facts: list[Fact] = []
    for topic in state.topics.values():
        offline: dict[BrokerId, None] = {}
        for partition in topic.partitions.values():
            replicas = partition.assignment.replicas
            known = lists.get(replicas)
            if known is None:
                known = lists[replicas] = _list_replicas(replicas, state.brokers, hosted)
            hosts, told, away = known
            for host in hosts:
                host(partition)
            if away:
                offline.update(away)
            if told is not None and partition.leadership is not None:
                news[partition] = told
        facts.append(ReplicasStarted(topic.name, tuple(sorted(offline))))
    here = {b: partitions for b, partitions in hosted.items() if b in state.brokers}
    gone = {b: partitions for b, partitions in hosted.items() if b not in state.brokers}
    for side, footing in ((here, ONLINE), (gone, INELIGIBLE)):
        for broker_id, partitions in side.items():
            state.replicas_on[broker_id] = dict.fromkeys(partitions, footing)
    yield Journal(facts)
    yield from _tell_all(state, here, news)
    yield from move_replicas(state, gone, OFFLINE)


class _ReplicaList(NamedTuple):
    """What all partitions with the same list of replicas have in common at a start."""

    #: What notes a partition as hosted, for each of the replicas.
    hosts: tuple[Callable[[Partition], None], ...]
    #: None when none of them lives.
    told: Told | None
    away: dict[BrokerId, None]


def _list_replicas(
    replicas: Iterable[BrokerId],
    live: Collection[BrokerId],
    hosted: dict[BrokerId, list[Partition]],
) -> _ReplicaList:
    different = dict.fromkeys(replicas)
    online = tuple(b for b in different if b in live)
    return _ReplicaList(
        tuple(hosted.setdefault(b, []).append for b in different),
        (online, ()) if online else None,
        {b: None for b in different if b not in live},
    )


def _tell_all(
    state: ControllerState, here: Iterable[BrokerId], news: dict[Partition, Told]
) -> Procedure[None]:
    """What `come_online` does, for all replicas of all live brokers at once.

    It goes from partition to partition and not from broker to broker: all replicas of one are told
    the same, and requests that have a topic in one piece are made and written much faster.
    """
    batch = RequestBatch(state)
    batch.add_first(news)
    for broker_id in here:
        for partition in still_new(broker_id, state.reassigning):
            batch.add_leader_and_isr((broker_id,), partition, is_new=True)
    yield from batch.send()
