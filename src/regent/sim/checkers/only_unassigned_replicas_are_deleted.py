"""Data that a partition still counts on is not thrown away."""

from regent.errors import CorruptZnode
from regent.model.control_requests import ControlAnswer, ControlRequest, StopReplica
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.settled import leadership_of
from regent.zookeeper import paths
from regent.zookeeper.znodes import decode_topic


class OnlyUnassignedReplicasAreDeleted(Observer):
    """Forbids that a broker deletes a replica that is assigned to it, unless the topic goes."""

    def control_answered(
        self, process: Process, request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """Compare what was deleted with what ZooKeeper assigns at that instant."""
        if not isinstance(request, StopReplica) or answer.error is not ErrorCode.NONE:
            return
        refused = {name for name, code in answer.partition_errors if code is not ErrorCode.NONE}
        for order in request.partitions:
            name = TopicPartition(order.topic, order.partition)
            if order.delete and name not in refused and self._is_kept(process, name):
                self.fail(f"broker {process.broker_id} deleted {name}, which is assigned to it")

    def _is_kept(self, process: Process, name: TopicPartition) -> bool:
        server = process.world.zookeeper.server
        path = paths.topic(name.topic)
        found = server.peek(path)
        if found is None or server.peek(paths.topic_deletion(name.topic)) is not None:
            return False
        try:
            assignment = decode_topic(path, found.data).partitions.get(name.partition)
        except CorruptZnode:
            return False
        if assignment is None or process.broker_id not in assignment.replicas:
            return False
        # One that a reassignment takes away is deleted just before ZooKeeper forgets it, and one
        # that comes back may still have to delete what it had the last time.
        known = leadership_of(process.world, name)
        is_counted_on = known is not None and process.broker_id in known.isr
        return is_counted_on and process.broker_id not in assignment.removing
