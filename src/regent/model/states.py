"""Where a partition and where a replica is in its life.

The values are Kafka's own words, so that our journal and a real `state-change.log` read alike.
Which moves between them are legal is in `core.partition_machine` and `core.replica_machine`.
"""

from enum import StrEnum


class PartitionState(StrEnum):
    """Where a partition is in its life."""

    #: Never created, or created and then deleted.
    NON_EXISTENT = "NonExistentPartition"
    #: Replicas are assigned; nobody has led it yet.
    NEW = "NewPartition"
    #: It has, or had at the last look, a leader.
    ONLINE = "OnlinePartition"
    #: Its leader died and no other has been elected.
    OFFLINE = "OfflinePartition"


class ReplicaState(StrEnum):
    """Where one replica of a partition is in its life."""

    NON_EXISTENT = "NonExistentReplica"
    #: Just assigned; may only be told to follow.
    NEW = "NewReplica"
    #: Assigned and believed to be served by a live broker.
    ONLINE = "OnlineReplica"
    #: Its broker, or its log directory, is gone.
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    #: Cannot be deleted now: its broker is dead or refused.
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
