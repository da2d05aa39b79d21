"""Whoever has the journal needs nothing else."""

from regent.core.state import ControllerState
from regent.journal.replay import ReplayedState, replay
from regent.model.ids import BrokerId, TopicPartition
from regent.model.states import ReplicaState
from regent.sim.checkers.cold_load import difference
from regent.sim.observer import Observer
from regent.sim.world import World


class JournalSuffices(Observer):
    """Forbids that the journal, replayed, gives anything but what the controller knows."""

    def at_rest(self, world: World) -> None:
        """Replay in the journal's own order, which is not the order in which it was written."""
        records = sorted(world.records, key=lambda r: (r.controller_epoch, r.seq))
        replayed = replay(records)
        for process in world.active_controllers():
            wrong = _difference(replayed, process.controller.state)
            if wrong is not None:
                self.fail(f"replayed for controller {process.broker_id}: {wrong}")


def _difference(replayed: ReplayedState, state: ControllerState) -> str | None:
    return (
        difference(
            {
                "controller": replayed.controller_id,
                "epoch": replayed.controller_epoch,
                "missing records": replayed.missing_count,
            },
            {
                "controller": state.controller_id,
                "epoch": state.controller_epoch,
                "missing records": 0,
            },
        )
        or difference(
            replayed.brokers, {b: known.broker_epoch for b, known in state.brokers.items()}
        )
        or difference(
            {name: topic.topic_id for name, topic in replayed.topics.items()},
            {name: topic.topic_id for name, topic in state.topics.items()},
        )
        or difference(
            {name: (p.assignment, p.state, p.leadership) for name, p in replayed.partitions()},
            {p.name: (p.assignment, p.state, p.leadership) for p in state.all_partitions()},
        )
        or difference(_replayed_replicas(replayed), _known_replicas(state))
    )


def _replayed_replicas(
    replayed: ReplayedState,
) -> dict[tuple[TopicPartition, BrokerId], ReplicaState]:
    return {
        (name, broker_id): replica_state
        for name, partition in replayed.partitions()
        for broker_id, replica_state in partition.replicas.items()
    }


def _known_replicas(state: ControllerState) -> dict[tuple[TopicPartition, BrokerId], ReplicaState]:
    return {
        (partition.name, broker_id): replica_state
        for broker_id, held in state.replicas_on.items()
        for partition, replica_state in held.items()
    }
