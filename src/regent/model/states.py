"""Where a partition and where a replica is in its life.

The values are Kafka's own words, so that our journal and a real `state-change.log` read alike.
Which moves between them are legal is in `core.partition_machine` and `core.replica_machine`; all of
it together is in `docs/state-machines.md`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class PartitionState(StrEnum):
    """Where a partition is in its life."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaState(StrEnum):
    """Where one replica of a partition is in its life."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


#: Each state in a sentence.
MEANINGS: Final[Mapping[PartitionState | ReplicaState, str]] = {
    PartitionState.NON_EXISTENT: "Never created, or created and then deleted.",
    PartitionState.NEW: "Replicas are assigned; nobody has led it yet.",
    PartitionState.ONLINE: "It has, or had at the last look, a leader.",
    PartitionState.OFFLINE: "Its leader died and no other has been elected.",
    ReplicaState.NON_EXISTENT: "Never assigned, or deleted and forgotten.",
    ReplicaState.NEW: "Just assigned; may only be told to follow.",
    ReplicaState.ONLINE: "Assigned and believed to be served by a live broker.",
    ReplicaState.OFFLINE: "Its broker, or its log directory, is gone.",
    ReplicaState.DELETION_STARTED: "Its broker was told to delete it and has not answered yet.",
    ReplicaState.DELETION_SUCCESSFUL: "Its broker has deleted it; the others are waited for.",
    ReplicaState.DELETION_INELIGIBLE: "Cannot be deleted now: its broker is dead or refused.",
}
