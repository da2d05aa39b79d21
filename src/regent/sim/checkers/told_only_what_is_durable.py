"""A broker that hears of a leadership before it is written may act on one that never is."""

from regent.model.control_requests import ControlRequest, LeaderAndIsr
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.observer import Observer
from regent.sim.process import Process
from regent.sim.settled import leadership_of
from regent.zookeeper import paths


class ToldOnlyWhatIsDurable(Observer):
    """Forbids that a broker is told a leadership that ZooKeeper does not have, or never had."""

    def request_sent(
        self, process: Process, broker_id: BrokerId, _number: int, request: ControlRequest
    ) -> None:
        """ZooKeeper has this very leadership, or one after it."""
        if not isinstance(request, LeaderAndIsr):
            return
        for told in request.partitions:
            name = TopicPartition(told.topic, told.partition)
            if process.world.zookeeper.server.peek(paths.topic(told.topic)) is None:
                continue  # It was durable when it was queued; the topic has been deleted since.
            durable = leadership_of(process.world, name)
            if durable is None or told.leadership.zk_version > durable.zk_version:
                self.fail(f"{broker_id} was told {told.leadership} of {name}, durable: {durable}")
            elif told.leadership.zk_version == durable.zk_version and told.leadership != durable:
                self.fail(f"{broker_id} was told {told.leadership} of {name}, which is {durable}")
