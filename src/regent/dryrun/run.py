"""A dry run: the real procedures, on a copy, and what would have come of it.

A controller takes office over a copied cluster, is asked the questions one after the other, and the
cluster before is compared with the cluster after. Nothing is simulated: there is no time and no
network, every broker that is alive does at once what it is told, and nothing else happens
meanwhile. The controller is nobody in the cluster, so every broker can be asked about.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from regent.core.asks import Ask
from regent.core.controller import Controller
from regent.core.effects import Journal, Reply, Send
from regent.core.events import Event, SessionStarted, StopReplicaAnswered
from regent.dryrun.difference import (
    PartitionChange,
    Shift,
    Standings,
    find_changes,
    find_worries,
    min_isr_from,
    names_of,
    shift,
    take_standings,
)
from regent.dryrun.loading import load_snapshot
from regent.dryrun.memory import NOW_MS, CopiedMemory
from regent.dryrun.questions import Question, describe, pose
from regent.dryrun.snapshot import Snapshot
from regent.model.admin_requests import AdminAnswer, ControlledShutdownAnswer
from regent.model.alter_partition import AlterPartitionAnswer
from regent.model.control_requests import ControlAnswer, ControlRequest, StopReplica
from regent.model.error_codes import ErrorCode
from regent.model.facts import DeletionAdvanced, Fact, LeaderElected, TopicIdGiven, ZnodeIsolated
from regent.model.ids import BrokerId, TopicPartition
from regent.model.leadership import Leadership


class RequestTally(Struct, frozen=True):
    """How often a broker is sent a kind of request, and with how many partitions in all."""

    broker_id: BrokerId
    api: str
    requests: int
    partitions: int


class DryRunAnswer(Struct, frozen=True):
    """What would change. Names of partitions are as in `orders-3`."""

    asked: tuple[str, ...]
    broker_count: int
    topic_count: int
    partition_count: int
    #: What one should know before believing the rest.
    notes: tuple[str, ...]
    offline: Shift
    under_replicated: Shift
    below_min_isr: Shift
    leaders_moved: int
    isrs_changed: int
    unclean_elections: tuple[str, ...]
    #: Reassignments that are not at their end.
    still_moving: tuple[str, ...]
    #: Topics that shall be deleted and are still there.
    still_deleting: tuple[str, ...]
    changes: tuple[PartitionChange, ...]
    requests: tuple[RequestTally, ...]


class CopiedCluster:
    """A controller in office over a copied memory."""

    def __init__(self, memory: CopiedMemory) -> None:
        self.memory = memory
        assigned = (
            broker_id
            for topic in memory.topics.values()
            for assignment in topic.partitions.values()
            for broker_id in assignment.replicas
        )
        self.controller = Controller(BrokerId(max([0, *memory.brokers, *assigned]) + 1))
        self.facts: list[Fact] = []
        self.sent: list[tuple[BrokerId, ControlRequest]] = []
        self.replies: list[AlterPartitionAnswer | AdminAnswer] = []
        self.handle(SessionStarted(NOW_MS))

    def handle(self, event: Event) -> None:
        """Handle an event and all that the watches and the brokers' answers make of it."""
        waiting = {event: None}
        while waiting:
            following = next(iter(waiting))
            del waiting[following]
            waiting.update(dict.fromkeys(self._handle_one(following)))
            waiting.update(self.memory.news)
            self.memory.news.clear()

    def _handle_one(self, event: Event) -> list[Event]:
        """Run one procedure to its end; the events are the brokers' answers."""
        procedure = self.controller.handle(event)
        answers: list[Event] = []
        told: Any = None
        while True:
            try:
                output = procedure.send(told)
            except StopIteration:
                assert self.controller.state.is_active, "nobody here could have deposed it"
                return answers
            told = None
            match output:
                case Ask():
                    told = self.memory.answer(output)
                case Journal(facts=facts):
                    self.facts += facts
                case Reply(answer=answer):
                    self.replies.append(answer)
                case Send(broker_id=broker_id, request=request):
                    self.sent.append((broker_id, request))
                    if isinstance(request, StopReplica):
                        answers.append(_obey(broker_id, request))
                case _:
                    pass  # Channels, timers and watches: there is nothing of the kind here.

    def forget_what_was_done(self) -> None:
        """What comes from now on is the answer to a question."""
        self.facts, self.sent, self.replies = [], [], []


def _obey(broker_id: BrokerId, request: StopReplica) -> StopReplicaAnswered:
    """A live broker stops and deletes what it is told to."""
    names = [(TopicPartition(p.topic, p.partition), p.delete) for p in request.partitions]
    return StopReplicaAnswered(
        NOW_MS,
        broker_id,
        request.broker_epoch,
        request.controller_epoch,
        ControlAnswer(partition_errors=tuple((name, ErrorCode.NONE) for name, _ in names)),
        tuple(name for name, is_deleted in names if is_deleted),
    )


# --- asking -----------------------------------------------------------------------------------


def ask_what_if(snapshot: Snapshot, questions: Sequence[Question]) -> DryRunAnswer:
    """Pose all the questions, in their order, to a copy of the cluster."""
    memory = load_snapshot(snapshot)
    found = {topic: dict(of_topic) for topic, of_topic in memory.leaderships.items()}
    min_isr = min_isr_from(dict(memory.configs), memory.broker_defaults)
    cluster = CopiedCluster(memory)
    state = cluster.controller.state
    before = take_standings(state)
    notes = _notes_on_start(cluster, before, found)
    cluster.forget_what_was_done()
    for question in questions:
        for event in pose(question, memory, state):
            cluster.handle(event)
    after = take_standings(state)
    worries = find_worries(before, min_isr), find_worries(after, min_isr)
    changes = find_changes(before, after)
    return DryRunAnswer(
        asked=tuple(map(describe, questions)),
        broker_count=len(snapshot.brokers),
        topic_count=len(snapshot.topics),
        partition_count=snapshot.partition_count(),
        notes=(*notes, *_notes_on_answers(cluster)),
        offline=shift(worries[0].offline, worries[1].offline),
        under_replicated=shift(worries[0].under_replicated, worries[1].under_replicated),
        below_min_isr=shift(worries[0].below_min_isr, worries[1].below_min_isr),
        leaders_moved=sum(change.has_leader_moved for change in changes),
        isrs_changed=sum(change.has_isr_changed for change in changes),
        unclean_elections=_unclean(cluster.facts),
        still_moving=names_of(after.reassigning),
        still_deleting=tuple(sorted(after.deleting)),
        changes=changes,
        requests=_tally(cluster.sent),
    )


def _unclean(facts: Sequence[Fact]) -> tuple[str, ...]:
    return tuple(
        f"{fact.topic}-{fact.partition}"
        for fact in facts
        if isinstance(fact, LeaderElected) and fact.unclean
    )


def _tally(sent: Sequence[tuple[BrokerId, ControlRequest]]) -> tuple[RequestTally, ...]:
    requests: Counter[tuple[BrokerId, str]] = Counter()
    partitions: Counter[tuple[BrokerId, str]] = Counter()
    for broker_id, request in sent:
        key = (broker_id, type(request).__name__)
        requests[key] += 1
        partitions[key] += len(request.partitions)
    return tuple(RequestTally(*key, requests[key], partitions[key]) for key in sorted(requests))


# --- what one should know ---------------------------------------------------------------------


def _notes_on_start(
    cluster: CopiedCluster, started: Standings, found: Mapping[str, Mapping[int, Leadership]]
) -> list[str]:
    """A snapshot taken at rest is left alone by whoever takes office; this says where it was not.

    The answer counts from after these changes: they would come with the next failover anyway.
    """
    notes = []
    changed = [
        name
        for name, standing in started.partitions.items()
        if _seen(standing.leadership) != _seen(found[name.topic].get(name.partition))
    ]
    if changed:
        notes.append(
            f"the snapshot was not at rest: taking office alone changes {len(changed)} partitions"
            f" ({_some(names_of(changed))}), and the answer counts from there"
        )
    given = [fact.topic for fact in cluster.facts if isinstance(fact, TopicIdGiven)]
    if given:
        notes.append(f"topics without an id would be given one: {_some(given)}")
    finished = [
        fact.topic
        for fact in cluster.facts
        if isinstance(fact, DeletionAdvanced) and fact.phase == "finished"
    ]
    if finished:
        notes.append(f"deletions under way would end first: {_some(finished)}")
    isolated = [fact for fact in cluster.facts if isinstance(fact, ZnodeIsolated)]
    notes += [f"{fact.path}: {fact.reason}" for fact in isolated[:5]]
    return notes


def _seen(known: Leadership | None) -> tuple[BrokerId, tuple[BrokerId, ...]] | None:
    """Epochs may go up without anybody's noticing."""
    return None if known is None else (known.leader, known.isr)


def _notes_on_answers(cluster: CopiedCluster) -> list[str]:
    """What a broker that shuts down in order would hear, and what keeps a deletion back."""
    left = [
        each.remaining for each in cluster.replies if isinstance(each, ControlledShutdownAnswer)
    ]
    notes = [
        f"{len(remaining)} leaderships cannot be moved before the broker goes:"
        f" {_some(names_of(remaining))}"
        for remaining in left
        if remaining
    ]
    reasons = {
        fact.topic: fact.reason
        for fact in cluster.facts
        if isinstance(fact, DeletionAdvanced)
        and fact.phase == "ineligible"
        and fact.topic in cluster.controller.state.topics_to_delete
    }
    return notes + [f"the deletion of {topic} waits: {why}" for topic, why in reasons.items()]


def _some(names: Sequence[str], shown: int = 3) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
