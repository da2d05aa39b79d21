"""A controller and the shared memory it believes in, in step with each other."""

from collections.abc import Iterable

import msgspec

from regent.core.asks import Fence, Procedure, TopicRead
from regent.core.config import ControllerConfig
from regent.core.controller import Controller
from regent.core.events import Event, SessionStarted
from regent.core.state import ControllerState, Partition
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, ControllerEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.model.protocol_version import ProtocolVersion
from regent.model.states import PartitionState, ReplicaState
from tests.support.builders import ids, registered
from tests.support.drive import Result, Run, drive
from tests.support.fake_memory import FakeMemory

#: The node under test is no broker, unless a test registers one with this id.
CONTROLLER = BrokerId(100)


class Scene:
    """Where a test takes place. Nobody is in office until `in_office` or `elect` is called."""

    def __init__(self, memory: FakeMemory | None = None, controller_id: int = CONTROLLER) -> None:
        self.memory = memory or FakeMemory()
        self.controller = Controller(BrokerId(controller_id))

    @property
    def state(self) -> ControllerState:
        """What the controller knows."""
        return self.controller.state

    def configure(self, *, unclean: bool = False, protocol: str = "3.9") -> None:
        """Other settings than the usual ones."""
        self.state.config = ControllerConfig(
            unclean_election_default=unclean, protocol=ProtocolVersion.from_text(protocol)
        )

    # --- getting into office ----------------------------------------------------------------------

    def in_office(self, *, controller_epoch: int = 1) -> "Scene":
        """In office without any of the work, for tests of what comes later."""
        fence = Fence(ControllerEpoch(controller_epoch), ZkVersion(controller_epoch))
        self.memory.epoch, self.memory.holder = fence, self.state.controller_id
        self.state.controller_epoch, self.state.epoch_zk_version = (
            fence.controller_epoch,
            fence.zk_version,
        )
        self.state.active_id = self.state.controller_id
        return self

    def elect(self) -> Run[None]:
        """In office by a real election."""
        return self.handle(SessionStarted(0))

    # --- making a cluster -------------------------------------------------------------------------

    def live(self, *broker_ids: int) -> None:
        """These brokers are registered and known."""
        self.memory.register(*broker_ids)
        for broker_id in broker_ids:
            self.state.add_broker(registered(broker_id))

    def partition(  # noqa: PLR0913 - a test names the few it is about
        self,
        topic: str = "t",
        index: int = 0,
        replicas: tuple[int, ...] | Assignment = (1, 2, 3),
        *,
        leadership: Leadership | None = None,
        state: PartitionState | None = None,
        replica_state: ReplicaState | None = None,
    ) -> Partition:
        """A partition that is known as it is stored.

        Without a state it is online if it is led, else it does not exist yet. Its replicas are
        online if it is.
        """
        if not isinstance(replicas, Assignment):
            replicas = Assignment(ids(*replicas))
        known = self.state.topics.get(topic) or self.state.add_topic(topic, f"id-of-{topic}")
        made = self.state.add_partition(known, index, replicas)
        self.memory.topics[topic] = TopicRead(known.topic_id, self.state.assignments_of(topic))
        if leadership is not None:
            self.state.set_leadership(made, leadership)
            self.memory.leaderships[made.name] = leadership
        default = PartitionState.NON_EXISTENT if leadership is None else PartitionState.ONLINE
        self.state.set_partition_state(made, default if state is None else state)
        if replica_state is None and made.state is PartitionState.ONLINE:
            replica_state = ReplicaState.ONLINE
        if replica_state is not None:
            self.set_replicas(made, replicas.replicas, replica_state)
        return made

    def set_replicas(
        self, partition: Partition, broker_ids: Iterable[BrokerId], state: ReplicaState
    ) -> None:
        """These replicas are where the test wants them."""
        for broker_id in broker_ids:
            self.state.set_replica_state(partition, broker_id, state)

    # --- acting -----------------------------------------------------------------------------------

    def run(self, procedure: Procedure[Result]) -> Run[Result]:
        """Run one procedure to its end."""
        return drive(procedure, self.memory)

    def handle(self, event: Event) -> Run[None]:
        """Let the controller handle one event."""
        return self.run(self.controller.handle(event))

    def stored(self, partition: Partition) -> Leadership:
        """What the shared memory has about a partition."""
        found = self.memory.leaderships[partition.name]
        assert isinstance(found, Leadership)
        return found

    def overwrite(self, partition: Partition, **changes: object) -> None:
        """Somebody else writes: other fields, and a version more."""
        found = self.stored(partition)
        version = ZkVersion(found.zk_version + 1)
        self.memory.leaderships[partition.name] = msgspec.structs.replace(
            found, zk_version=version, **changes
        )
