"""In the end every broker can tell any client where everything is."""

from regent.model.control_requests import PartitionMetadata
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.checkers.cold_load import ColdLoad, difference, load
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.world import World
from regent.zookeeper import paths
from regent.zookeeper.znodes import decode_controller


class MetadataConverges(Observer):
    """Forbids that a broker's metadata differs from ZooKeeper when everything is at rest."""

    def at_rest(self, world: World) -> None:
        """Compare each broker's cache with what should be in it."""
        cold = load(world)
        holder = world.zookeeper.server.peek(paths.CONTROLLER)
        controller_id = None if holder is None else decode_controller(holder.data).broker_id
        for process in world.processes.values():
            self._judge(process, cold, controller_id)

    def _judge(self, process: Process, cold: ColdLoad, controller_id: BrokerId | None) -> None:
        cache, world = process.broker.metadata, process.world
        if cache.controller_id != controller_id:
            self.fail(
                f"broker {process.broker_id} takes {cache.controller_id} for the controller, "
                f"which is {controller_id}"
            )
        live = {b: world.registration_of(b) for b in world.broker_ids}
        wrong = difference(cache.live_brokers, live) or difference(
            {name: _shown(metadata) for name, metadata in cache.partitions.items()},
            {name: _expected(cold, name) for name in cold.leaderships},
        )
        if wrong is not None:
            self.fail(f"the metadata of broker {process.broker_id}: {wrong}")


def _shown(metadata: PartitionMetadata) -> tuple[object, ...]:
    return (
        metadata.leader,
        metadata.leader_epoch,
        metadata.isr,
        metadata.replicas,
        metadata.offline_replicas,
    )


def _expected(cold: ColdLoad, name: TopicPartition) -> tuple[object, ...] | None:
    leadership = cold.leaderships[name]
    if leadership is None:
        return None
    replicas = cold.topics[name.topic].partitions[name.partition].replicas
    offline = tuple(r for r in replicas if r not in cold.brokers)
    return (leadership.leader, leadership.leader_epoch, leadership.isr, replicas, offline)
