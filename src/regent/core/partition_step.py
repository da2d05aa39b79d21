"""One call of the partition machine: what has taken hold, what is to be told, and how it went."""

from collections.abc import Iterable
from typing import TypeAlias

from regent.core.effects import Journal
from regent.core.election import Strategy
from regent.core.request_batch import RequestBatch
from regent.core.state import ControllerState, Partition
from regent.model.facts import Fact, MoveRefused, PartitionMoved
from regent.model.leadership import Leadership
from regent.model.states import PartitionState

#: What became of each partition that was asked to go online: its leadership, or why not (P7).
Results: TypeAlias = dict[Partition, Leadership | str]


class PartitionStep:
    """Carries one call through its moves. Facts are handed over as soon as they have taken hold."""

    def __init__(self, state: ControllerState, strategy: Strategy) -> None:
        self.state = state
        self.strategy = strategy
        self.batch = RequestBatch(state)
        self.facts: list[Fact] = []
        self.results: Results = {}

    def refuse(self, partition: Partition, target: PartitionState, reason: str) -> None:
        """The partition stays as it is."""
        self.facts.append(
            MoveRefused(partition.topic, partition.index, reason, partition.state, target)
        )
        if target is PartitionState.ONLINE:
            self.results[partition] = reason

    def settle(self, partitions: Iterable[Partition], target: PartitionState) -> None:
        """Moves that need nothing but memory take hold."""
        set_state, add_fact = self.state.set_partition_state, self.facts.append
        for partition in partitions:
            before = partition.state
            if before is not target:
                set_state(partition, target)
                add_fact(PartitionMoved(partition.topic, partition.index, before, target))

    def journal(self) -> Iterable[Journal]:
        """Hand over the facts so far."""
        if self.facts:
            yield Journal(self.facts)
            self.facts = []
