"""A simulated broker's surroundings: carries out what the broker logic wants done."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from regent.broker.broker_config import BrokerConfig
from regent.broker.broker_core import BrokerCore
from regent.broker.broker_effects import (
    AnnounceIsrChanges,
    AnswerAppend,
    AnswerFetch,
    BrokerEffect,
    SendAlterPartition,
    SendEpochQuery,
    SendFetch,
    WriteIsr,
)
from regent.broker.hosted_partition import ReplicaRole
from regent.broker.replication_requests import Fetch
from regent.core.events import AlterPartitionRequested
from regent.errors import RegentError
from regent.model.control_requests import (
    ControlAnswer,
    ControlRequest,
    LeaderAndIsr,
    StopReplica,
    UpdateMetadata,
)
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper.registration import announce_isr_changes, write_isr_directly

if TYPE_CHECKING:
    from regent.sim.process import Process

#: How long a broker waits for another's answer; a parked fetch is answered within half a second.
PEER_TIMEOUT_MS: Final = 2_000
#: Before an ISR write whose session ended is tried again in the next one.
WRITE_AGAIN_MS: Final = 250


class BrokerShell:
    """Feeds the broker logic and empties its outbox."""

    def __init__(self, process: "Process") -> None:
        character = process.world.plan.character
        self._process = process
        self.core = BrokerCore(
            process.broker_id,
            BrokerConfig(
                replica_lag_ms=character.replica_lag_ms,
                min_isr=character.min_isr,
                isr_mode=character.isr_mode,
            ),
            process.world.disks[process.broker_id],
        )
        self._parked: dict[tuple[BrokerId, int], Callable[[Any], None]] = {}
        self._appends: dict[int, Callable[[AnswerAppend], None]] = {}
        self._append_count = 0
        self._tick_at_ms: int | None = None
        # Any: each method takes just its own kind of effect.
        self._performers: Mapping[type, Callable[[Any], None]] = {
            SendFetch: self._fetch_when_able,
            AnswerFetch: self._answer_fetch,
            AnswerAppend: self._answer_append,
            SendEpochQuery: self._send_epoch_query,
            SendAlterPartition: self._send_alter_partition,
            WriteIsr: self._write_isr,
            AnnounceIsrChanges: self._announce,
        }
        #: Until then this broker's fetchers stand still.
        self.replicates_again_ms = 0

    # --- what reaches the broker --------------------------------------------------------------

    def control(self, request: ControlRequest) -> ControlAnswer:
        """A controller's request."""
        now_ms = self._process.monotonic_ms
        match request:
            case LeaderAndIsr():
                answer = self._leader_and_isr(request, now_ms)
            case UpdateMetadata():
                answer = self.core.update_metadata(request)
            case StopReplica():
                answer = self.core.stop_replica(request, now_ms)
        self._process.world.control_answered(self._process, request, answer)
        self.settle()
        return answer

    def _leader_and_isr(self, request: LeaderAndIsr, now_ms: int) -> ControlAnswer:
        named = [TopicPartition(p.topic, p.partition) for p in request.partitions]
        before = {name: self._leads_in(name) for name in named}
        answer = self.core.leader_and_isr(request, now_ms)
        for name in named:
            leader_epoch = self._leads_in(name)
            if leader_epoch is not None and leader_epoch != before[name]:
                self._process.world.leader_began(self._process, name, leader_epoch)
        return answer

    def _leads_in(self, name: TopicPartition) -> int | None:
        """The leader epoch in which this broker leads a partition, if it does."""
        hosted = self.core.hosted.get(name)
        if hosted is None or hosted.role is not ReplicaRole.LEADER:
            return None
        return hosted.leader_epoch

    def append(
        self, name: TopicPartition, value: int, reply: Callable[[AnswerAppend], None]
    ) -> None:
        """A client's record, acks=all."""
        self._append_count += 1
        self._appends[self._append_count] = reply
        self.core.append(name, value, self._append_count)
        self.settle()

    def fetch(self, request: Fetch, reply: Callable[[Any], None]) -> None:
        """A follower's fetch; one that finds nothing new is parked."""
        answer = self.core.fetch(request, self._process.monotonic_ms)
        if answer is None:
            self._parked[request.replica_id, request.fetch_id] = reply
        else:
            reply(answer)
        self.settle()

    # --- what the broker wants ----------------------------------------------------------------

    def settle(self) -> None:
        """Carry out what came out, and see when time is next of interest."""
        for effect in self.core.take_effects():
            self._perform(effect)
        self._set_timer()

    def _perform(self, effect: BrokerEffect) -> None:
        self._performers[type(effect)](effect)

    def _answer_fetch(self, effect: AnswerFetch) -> None:
        reply = self._parked.pop((effect.replica_id, effect.fetch_id), None)
        if reply is not None:
            reply(effect.answer)

    def _answer_append(self, effect: AnswerAppend) -> None:
        caller = self._appends.pop(effect.request_id, None)
        if caller is not None:
            caller(effect)

    def _fetch_when_able(self, effect: SendFetch) -> None:
        stall_ms = self.replicates_again_ms - self._process.monotonic_ms
        if stall_ms > 0:
            self._process.after_ms(stall_ms, lambda: self._send_fetch(effect))
        else:
            self._send_fetch(effect)

    def _send_fetch(self, effect: SendFetch) -> None:
        def outcome(answer: Any) -> None:
            self.core.fetch_answered(
                effect.leader_id, effect.request, answer, self._process.monotonic_ms
            )
            self.settle()

        self._process.world.wire.call(
            self._process.as_caller,
            effect.leader_id,
            lambda target, reply: target.shell.fetch(effect.request, reply),
            outcome,
            timeout_ms=PEER_TIMEOUT_MS,
        )

    def _send_epoch_query(self, effect: SendEpochQuery) -> None:
        def outcome(answer: Any) -> None:
            self.core.epoch_query_answered(
                effect.leader_id, effect.query, answer, self._process.monotonic_ms
            )
            self.settle()

        self._process.world.wire.call(
            self._process.as_caller,
            effect.leader_id,
            lambda target, reply: reply(target.broker.epoch_query(effect.query)),
            outcome,
            timeout_ms=PEER_TIMEOUT_MS,
        )

    def _send_alter_partition(self, effect: SendAlterPartition) -> None:
        def handle(target: "Process", reply: Callable[[Any], None]) -> None:
            request_id = target.world.next_request_id()
            target.callers[request_id] = reply
            target.put(AlterPartitionRequested(target.now_ms, request_id, effect.request))

        def outcome(answer: Any) -> None:
            self.core.alter_partition_answered(
                effect.request_id, answer, self._process.monotonic_ms
            )
            self.settle()

        self._process.world.wire.call(
            self._process.as_caller,
            effect.controller_id,
            handle,
            outcome,
            timeout_ms=PEER_TIMEOUT_MS,
        )

    def _write_isr(self, effect: WriteIsr) -> None:
        name = TopicPartition(effect.topic, effect.partition)

        def written(zk_version: Any) -> None:
            self.core.isr_written(name, effect.leadership, zk_version, self._process.monotonic_ms)
            self.settle()

        def failed(_failure: RegentError) -> None:
            self._process.after_ms(WRITE_AGAIN_MS, lambda: self._write_isr(effect))

        self._process.link.run(write_isr_directly(name, effect.leadership), written, failed)

    def _announce(self, effect: AnnounceIsrChanges) -> None:
        def failed(_failure: RegentError) -> None:
            self._process.after_ms(WRITE_AGAIN_MS, lambda: self._announce(effect))

        self._process.link.run(announce_isr_changes(effect.partitions), lambda _name: None, failed)

    # --- time ---------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        due_ms = self.core.next_tick_ms()
        if self._tick_at_ms is not None and self._tick_at_ms <= due_ms:
            return
        self._tick_at_ms = due_ms
        delay_ms = max(due_ms - self._process.monotonic_ms, 1)

        def ring() -> None:
            if self._tick_at_ms == due_ms:
                self._tick_at_ms = None
                self.core.tick(self._process.monotonic_ms)
                self.settle()

        if delay_ms < 10**9:
            self._process.after_ms(delay_ms, ring)
