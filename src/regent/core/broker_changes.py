"""Brokers that come, die, bounce, or change their address.

A broker's identity is its id and its epoch: the same id with a larger epoch is a broker that died
and came back between two looks, and is handled as exactly that (B3, KAFKA-7235).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from regent.core.asks import Malformed, Procedure, ReadBrokers, WatchBrokers, ask
from regent.core.effects import CloseChannel, Journal, OpenChannel
from regent.core.events import BrokerChanged, BrokersChanged
from regent.core.isolation import isolate
from regent.core.partition_machine import move_partitions, try_electable, try_online
from regent.core.reassignment import resume_reassignments_to
from regent.core.replica_machine import move_replicas
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.core.topic_deletion import fail_deletions, resume_deletions
from regent.model.brokers import RegisteredBroker
from regent.model.facts import BrokerDown, BrokerUp, BrokerUpdated
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from regent.model.states import PartitionState, ReplicaState

Registered = Mapping[BrokerId, RegisteredBroker | Malformed]


def on_brokers_changed(state: ControllerState, event: BrokersChanged) -> Procedure[None]:
    """Compare the registered brokers with the known ones, by id and by epoch."""
    registered = yield from ask(ReadBrokers())
    yield from isolate(state, _malformed(registered), map(_path, registered))
    readable = {b: r for b, r in registered.items() if isinstance(r, RegisteredBroker)}
    new = {b: readable[b] for b in sorted(readable) if b not in state.brokers}
    bounced = {
        b: readable[b]
        for b in sorted(readable)
        if b in state.brokers and readable[b].broker_epoch > state.brokers[b].broker_epoch
    }
    # A known broker whose registration can no longer be read is still there: it is not dead.
    dead = [b for b in sorted(state.brokers) if b not in registered]
    yield from _welcome(state, new)
    yield from _lose(state, list(bounced), bounced=True)
    yield from _welcome(state, bounced)
    yield from _lose(state, dead, bounced=False)
    unknown = [b for b in sorted(registered) if b not in state.brokers]
    if unknown and (yield from watch_brokers(state, unknown)):
        # They are watched to hear of it when they can be read; now they can already.
        yield from on_brokers_changed(state, event)


def _malformed(
    registered: Mapping[BrokerId, RegisteredBroker | Malformed | None],
) -> Iterator[Malformed]:
    return (entry for entry in registered.values() if isinstance(entry, Malformed))


def _path(broker_id: BrokerId) -> str:
    return f"/brokers/ids/{broker_id}"


def on_broker_changed(state: ControllerState, event: BrokerChanged) -> Procedure[None]:
    """New endpoints or features are spread; a change of rack alone is not worth a request."""
    if event.broker_id in state.brokers:
        yield from watch_brokers(state, [event.broker_id])
    elif _path(event.broker_id) in state.isolated:
        # It could not be read before.
        yield from on_brokers_changed(state, BrokersChanged(event.now_ms))


# --- coming -----------------------------------------------------------------------------------


def take_brokers(
    state: ControllerState, registered: Registered, *, loaded: bool = False
) -> Procedure[None]:
    """Take brokers into the live set and open a channel to each."""
    yield from isolate(state, _malformed(registered))
    facts = []
    for broker_id in sorted(registered):
        entry = registered[broker_id]
        if isinstance(entry, Malformed):
            continue
        state.add_broker(entry)
        facts.append(BrokerUp(broker_id, entry.broker_epoch, entry.broker.rack, loaded))
        yield OpenChannel(entry.broker, entry.broker_epoch)
    if facts:
        yield Journal(facts)


def _welcome(
    state: ControllerState, arrived: Mapping[BrokerId, RegisteredBroker]
) -> Procedure[None]:
    """Bring new brokers up to date and use them (B1)."""
    if not arrived:
        return
    yield from take_brokers(state, arrived)
    # The newcomers get everything, the others only the list of brokers (KAFKA-7537).
    yield from tell_live_brokers(state, [b for b in state.brokers if b not in arrived])
    everything, abandoned = RequestBatch(state), state.abandoned_topics()
    everything.add_update_metadata(
        arrived, (p for p in state.all_partitions() if p.topic not in abandoned)
    )
    yield from everything.send()
    hosted = {b: list(_undeleted(state, b)) for b in arrived}
    yield from move_replicas(state, hosted, ReplicaState.ONLINE)
    yield from try_online(state)
    yield from resume_reassignments_to(state, arrived)
    # Of all its topics, as Kafka does, whether or not the broker itself has something to delete.
    on_them = (p for b in arrived for p in state.replicas_on.get(b, ()))
    yield from resume_deletions(state, {p.topic: None for p in on_them})
    yield from watch_brokers(state, arrived)


def _undeleted(state: ControllerState, broker_id: BrokerId) -> Iterator[Partition]:
    """What the broker holds. What it has deleted already it must not be told to make again."""
    deleted = ReplicaState.DELETION_SUCCESSFUL
    for partition, replica_state in state.replicas_on.get(broker_id, {}).items():
        if replica_state is not deleted:
            yield partition


def watch_brokers(state: ControllerState, broker_ids: Iterable[BrokerId]) -> Procedure[bool]:
    """Watch these brokers' data, and take over what has changed since it was last read.

    Says whether one was found that is not known yet.
    """
    current = yield from ask(WatchBrokers(tuple(broker_ids)))
    yield from isolate(state, _malformed(current))
    updated = []
    is_one_new = False
    for broker_id, entry in current.items():
        known = state.brokers.get(broker_id)
        if not isinstance(entry, RegisteredBroker):
            continue
        if known is None:
            is_one_new = True
            continue
        if entry.broker_epoch != known.broker_epoch:
            continue  # Another life of it: the change of the broker list tells, and this waits.
        before, after = known.broker, entry.broker
        if (before.endpoints, before.features) != (after.endpoints, after.features):
            state.update_broker(after)
            updated.append(BrokerUpdated(broker_id, entry.broker_epoch))
    if updated:
        yield Journal(updated)
        yield from tell_live_brokers(state, state.brokers)
    return is_one_new


# --- going ------------------------------------------------------------------------------------


def _lose(state: ControllerState, gone: Sequence[BrokerId], *, bounced: bool) -> Procedure[None]:
    """Take brokers out of the live set and move what they led and held (B2)."""
    if not gone:
        return
    facts = [BrokerDown(b, state.brokers[b].broker_epoch, bounced) for b in gone]
    for broker_id in gone:
        state.remove_broker(broker_id)
        yield CloseChannel(broker_id)
    yield Journal(facts)
    yield from lose_replicas(state, {b: tuple(state.replicas_on.get(b, ())) for b in gone})


def lose_replicas(
    state: ControllerState, lost: Mapping[BrokerId, Sequence[Partition]]
) -> Procedure[None]:
    """These replicas can no longer be used: elect where they led, then take them offline."""
    abandoned = state.abandoned_topics()
    kept = {
        b: [p for p in partitions if p.topic not in abandoned] for b, partitions in lost.items()
    }
    leaderless = dict.fromkeys(
        [
            p
            for partitions in kept.values()
            for p in partitions
            if (known := p.leadership) is not None
            and (
                # One that is shutting down leads until it is gone (KAFKA-4441).
                known.leader not in state.brokers
                or (state.offline_dirs and state.is_in_failed_dir(known.leader, p))
            )
        ]
    )
    yield from move_partitions(state, leaderless, PartitionState.OFFLINE)
    results = yield from try_online(state)
    yield from move_replicas(state, kept, ReplicaState.OFFLINE)
    yield from try_electable(state)
    yield from fail_deletions(state, lost)
    if not any(kept.values()) and not any(isinstance(r, Leadership) for r in results.values()):
        # Nothing changed but the list of brokers; everybody must hear of that too (KAFKA-1867).
        yield from tell_live_brokers(state, state.brokers)


# --- telling ----------------------------------------------------------------------------------


def tell_live_brokers(state: ControllerState, broker_ids: Iterable[BrokerId]) -> Procedure[None]:
    """Send the list of live brokers, and no partition."""
    batch = RequestBatch(state)
    batch.add_update_metadata(broker_ids)
    yield from batch.send()
