"""What a controller has kept up to date by watching is what a new one would read."""

from msgspec.structs import replace

from regent.broker.broker_config import IsrMode
from regent.core.state import ControllerState
from regent.model.ids import BrokerId, TopicPartition, ZkVersion
from regent.model.leadership import Leadership
from regent.model.states import PartitionState, ReplicaState
from regent.sim.checkers.cold_load import ColdLoad, difference, load
from regent.sim.observer import Observer
from regent.sim.world import World


class StateEqualsColdLoad(Observer):
    """Forbids that the controller's memory differs from ZooKeeper when everything is at rest."""

    def at_rest(self, world: World) -> None:
        """Compare what was loaded, then what follows from it."""
        cold = load(world)
        is_direct = world.plan.character.isr_mode is IsrMode.DIRECT
        for process in world.active_controllers():
            state = process.controller.state
            wrong = (
                _loaded(state, cold)
                or _led(state, cold, is_direct=is_direct)
                or _derived(state, cold)
            )
            if wrong is not None:
                self.fail(f"the memory of controller {process.broker_id}: {wrong}")


def _loaded(state: ControllerState, cold: ColdLoad) -> str | None:
    """Brokers and topics are read as they are."""
    return (
        difference(state.brokers, cold.brokers)
        or difference(
            {name: topic.topic_id for name, topic in state.topics.items()},
            {name: read.topic_id for name, read in cold.topics.items()},
        )
        or difference(
            {p.name: p.assignment for p in state.all_partitions()},
            {
                TopicPartition(name, index): assignment
                for name, read in cold.topics.items()
                for index, assignment in read.partitions.items()
            },
        )
    )


def _led(state: ControllerState, cold: ColdLoad, *, is_direct: bool) -> str | None:
    """The same leaderships, of the same version.

    Where leaders write the ISR themselves, one that shrinks it and grows it back tells of it only
    later: until then the version known to the controller is behind, and nothing else is.
    """
    known = {p.name: p.leadership for p in state.all_partitions()}
    if not is_direct:
        return difference(known, cold.leaderships)
    return difference(
        {name: _unversioned(leadership) for name, leadership in known.items()},
        {name: _unversioned(leadership) for name, leadership in cold.leaderships.items()},
    )


def _unversioned(leadership: Leadership | None) -> Leadership | None:
    return None if leadership is None else replace(leadership, zk_version=ZkVersion(-1))


def _derived(state: ControllerState, cold: ColdLoad) -> str | None:
    """With everybody alive and led, everything is online, and the counters say so."""
    replicas = {
        (name, broker_id): replica_state
        for broker_id, held in state.replicas_on.items()
        for name, replica_state in ((p.name, s) for p, s in held.items())
    }
    return (
        difference(
            {p.name: p.state for p in state.all_partitions()},
            dict.fromkeys(cold.leaderships, PartitionState.ONLINE),
        )
        or difference(
            replicas,
            {
                (name, broker_id): ReplicaState.ONLINE
                for name in cold.leaderships
                for broker_id in _replicas(cold, name)
            },
        )
        or difference(
            {
                "offline partitions": state.offline_partition_count,
                "imbalanced partitions": state.preferred_imbalance_count,
            },
            {"offline partitions": 0, "imbalanced partitions": _imbalanced_count(cold)},
        )
    )


def _replicas(cold: ColdLoad, name: TopicPartition) -> tuple[BrokerId, ...]:
    return cold.topics[name.topic].partitions[name.partition].replicas


def _imbalanced_count(cold: ColdLoad) -> int:
    return sum(
        leadership is not None and leadership.leader != _replicas(cold, name)[0]
        for name, leadership in cold.leaderships.items()
    )
