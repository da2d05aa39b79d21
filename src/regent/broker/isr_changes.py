"""How a leader gets its ISR changed: by asking the controller, or by writing it itself.

A change is pending from the moment it is wished for until its fate is known, and a leader whose
request may or may not have been carried out keeps counting with both outcomes. By request, all
wishes go out together and one request is under way at a time; what an error means is decided for
each partition, and some errors are final: the leader then waits for the controller's next
LeaderAndIsr (Kafka 3.9, `AlterPartitionManager` and `Partition.handleAlterPartitionError`).
"""

from typing import Final, NamedTuple

from regent.broker.broker_config import NEVER_MS, BrokerConfig, IsrMode
from regent.broker.broker_effects import (
    AnnounceIsrChanges,
    BrokerEffect,
    SendAlterPartition,
    WriteIsr,
)
from regent.broker.hosted_partition import HostedPartition, ReplicaRole
from regent.broker.metadata_cache import MetadataCache
from regent.model.alter_partition import (
    AlterPartition,
    AlterPartitionAnswer,
    IsrProposal,
    IsrVerdict,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import (
    BROKER_EPOCH_UNKNOWN,
    BrokerEpoch,
    BrokerId,
    TopicPartition,
    ZkVersion,
)
from regent.model.leadership import Leadership

#: The change stays pending, unsent, until a newer LeaderAndIsr arrives.
FINAL_ERRORS: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
    }
)
#: The controller will not have these members: back to the committed ISR.
REVERTING_ERRORS: Final = frozenset(
    {ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA}
)
#: From this version on, AlterPartition names topics by id.
TOPIC_ID_VERSION: Final = 3
TOPIC_NAME_VERSION: Final = 1


class SettledChanges(NamedTuple):
    """The partitions whose change is no longer pending, by how it ended."""

    committed: list[HostedPartition]
    reverted: list[HostedPartition]


class IsrChanges:
    """The wishes of one broker, and the one request that carries them."""

    def __init__(
        self,
        broker_id: BrokerId,
        config: BrokerConfig,
        metadata: MetadataCache,
        effects: list[BrokerEffect],
    ) -> None:
        self.broker_epoch: BrokerEpoch = BROKER_EPOCH_UNKNOWN
        #: Filled from LeaderAndIsr; a topic that has no id is asked about by name.
        self.topic_ids: dict[str, str] = {}
        self._broker_id = broker_id
        self._config = config
        self._metadata = metadata
        self._effects = effects
        #: Wished for and not under way.
        self._unsent: dict[TopicPartition, HostedPartition] = {}
        #: Under way, by the topic (name or id) and partition that the answer will use.
        self._in_flight: dict[tuple[str, int], tuple[HostedPartition, IsrProposal]] = {}
        self._request_id = 0
        self._retry_ms = NEVER_MS
        #: Written directly and not announced yet.
        self._unannounced: dict[TopicPartition, None] = {}
        self._announce_ms = NEVER_MS
        self._announced_ms = -NEVER_MS

    def propose(self, hosted: HostedPartition, isr: tuple[BrokerId, ...]) -> None:
        """Make `isr` the pending change; it leaves with the next `send`."""
        assert hosted.pending_isr is None, "one change at a time"
        hosted.pending_isr = isr
        if self._config.isr_mode is IsrMode.DIRECT:
            topic, partition = hosted.name
            self._effects.append(WriteIsr(topic, partition, hosted.proposed_leadership()))
        else:
            self._unsent[hosted.name] = hosted

    def send(self) -> None:
        """Send all wishes, unless a request is under way, a pause runs, or nobody is in office."""
        if not self._unsent or self._in_flight or self._retry_ms != NEVER_MS:
            return
        controller_id = self._metadata.controller_id
        if controller_id is None:
            return
        wishes = [
            hosted
            for hosted in self._unsent.values()
            if hosted.role is ReplicaRole.LEADER and hosted.pending_isr is not None
        ]
        self._unsent.clear()
        if not wishes:
            return
        by_id = all(hosted.name.topic in self.topic_ids for hosted in wishes)
        for hosted in wishes:
            proposal = self._proposal(hosted, by_id=by_id)
            self._in_flight[proposal.topic, proposal.partition] = (hosted, proposal)
        self._request_id += 1
        request = AlterPartition(
            broker_id=self._broker_id,
            broker_epoch=self.broker_epoch,
            proposals=tuple(proposal for _, proposal in self._in_flight.values()),
            version=TOPIC_ID_VERSION if by_id else TOPIC_NAME_VERSION,
        )
        self._effects.append(SendAlterPartition(controller_id, self._request_id, request))

    def answered(
        self, request_id: int, answer: AlterPartitionAnswer | None, now_ms: int
    ) -> SettledChanges:
        """Take in what the controller decided; what is not settled stays pending."""
        settled = SettledChanges([], [])
        if request_id != self._request_id or not self._in_flight:
            return settled
        asked = self._in_flight
        self._in_flight = {}
        if answer is None or answer.error is not ErrorCode.NONE:
            self._unsent = {hosted.name: hosted for hosted, _ in asked.values()} | self._unsent
            self._retry_ms = now_ms + self._config.alter_partition_retry_ms
            return settled
        verdicts = {(verdict.topic, verdict.partition): verdict for verdict in answer.verdicts}
        for key, (hosted, proposal) in asked.items():
            if not _is_current(hosted, proposal):
                continue
            verdict = verdicts.get(key)
            if verdict is None:
                self._unsent[hosted.name] = hosted
            elif verdict.error is not ErrorCode.NONE:
                if self._reverts(hosted, verdict.error, now_ms):
                    settled.reverted.append(hosted)
            elif _commit(hosted, verdict):
                settled.committed.append(hosted)
        return settled

    def _reverts(self, hosted: HostedPartition, error: ErrorCode, now_ms: int) -> bool:
        """Whether the error sends the partition back to its committed ISR."""
        if error in REVERTING_ERRORS:
            hosted.pending_isr = None
            return True
        if error not in FINAL_ERRORS:
            self._unsent[hosted.name] = hosted
        if error is ErrorCode.NOT_CONTROLLER:
            # The next UpdateMetadata tells who is; until then the old one is asked.
            self._retry_ms = now_ms + self._config.alter_partition_retry_ms
        return False

    def written(
        self,
        hosted: HostedPartition,
        leadership: Leadership,
        zk_version: ZkVersion | None,
        now_ms: int,
    ) -> bool:
        """Settle a direct write; a lost race stays pending until a LeaderAndIsr explains it."""
        if hosted.pending_isr is None or leadership != hosted.proposed_leadership():
            return False
        if zk_version is None:
            return False
        hosted.commit_isr(leadership.isr, zk_version)
        self._unannounced[hosted.name] = None
        self._announce_ms = max(now_ms, self._announced_ms + self._config.isr_announce_ms)
        return True

    def due_ms(self) -> int:
        """When `tick` has something to do."""
        return min(self._retry_ms, self._announce_ms)

    def tick(self, now_ms: int) -> None:
        """End a pause, and announce what was written."""
        if now_ms >= self._retry_ms:
            self._retry_ms = NEVER_MS
        if now_ms >= self._announce_ms:
            self._effects.append(AnnounceIsrChanges(tuple(self._unannounced)))
            self._unannounced.clear()
            self._announced_ms = now_ms
            self._announce_ms = NEVER_MS

    def _proposal(self, hosted: HostedPartition, *, by_id: bool) -> IsrProposal:
        wished = hosted.proposed_leadership()
        topic, partition = hosted.name
        return IsrProposal(
            topic=self.topic_ids[topic] if by_id else topic,
            partition=partition,
            leader_epoch=wished.leader_epoch,
            isr=wished.isr,
            zk_version=wished.zk_version,
        )


def _is_current(hosted: HostedPartition, proposal: IsrProposal) -> bool:
    """Whether the partition still waits for just this; a LeaderAndIsr may have come between."""
    return (
        hosted.role is ReplicaRole.LEADER
        and hosted.pending_isr == proposal.isr
        and hosted.leader_epoch == proposal.leader_epoch
        and hosted.zk_version == proposal.zk_version
    )


def _commit(hosted: HostedPartition, verdict: IsrVerdict) -> bool:
    """Take the controller's word, unless it speaks of another leadership or an older state."""
    if verdict.leader_epoch != hosted.leader_epoch or verdict.zk_version < hosted.zk_version:
        return False
    hosted.commit_isr(verdict.isr, verdict.zk_version)
    return True
