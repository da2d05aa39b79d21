"""CreateTopics: check each topic, place its replicas, write it. Serving it is the watch's business.

A topic takes hold with its znode; the controller hears of it like of any other, so that one made
here and one made by a tool are served by the same steps. Topics are refused one by one.
"""

from collections.abc import Sequence

import msgspec

from regent.core.asks import (
    CreateTopicZnodes,
    DrawNumbers,
    ListTopicDeletions,
    ListTopics,
    MintTopicIds,
    Procedure,
    TopicCreation,
    ask,
    fence_of,
)
from regent.core.config import ControllerConfig
from regent.core.events import TopicCreationRequested
from regent.core.mutation_quotas import UNLIMITED, MutationQuota
from regent.core.placement import PlacementStart, Racks, place, racks_of
from regent.core.quota_changes import grant_quota
from regent.core.state import ControllerState
from regent.core.topic_configs import misconfigured
from regent.core.topic_results import (
    Complaints,
    charge,
    refused,
    refused_repetitions,
    report,
    unwritten,
)
from regent.core.topic_rules import (
    metric_name,
    misassigned,
    miscounted,
    misnamed,
    misnumbered,
    misreplicated,
    partly_racked,
    to_assignments,
    unequally_replicated,
)
from regent.model.admin_requests import CreateTopicsAnswer, NewTopic, TopicResult
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.protocol_version import TOPIC_IDS_SINCE

#: In a request: not given.
UNSET = -1


def on_topic_creation_requested(
    state: ControllerState, event: TopicCreationRequested
) -> Procedure[None]:
    """One result for each topic, in the order asked; only to be validated, none is written (K2)."""
    request = event.request
    taken = yield from _read_taken(state)
    quota: MutationQuota = UNLIMITED
    if not request.validate_only:
        quota = yield from grant_quota(state, event.caller, event.now_ms)
    racks = racks_of(state.brokers)
    results = dict.fromkeys((topic.name for topic in request.topics), TopicResult(""))
    results.update(refused_repetitions(topic.name for topic in request.topics))
    accepted: list[NewTopic] = []
    for topic in request.topics:
        if results[topic.name].error is not ErrorCode.NONE:
            continue
        resolved = _with_defaults(topic, state.config)
        refusal = refused(topic.name, _complaints(topic, resolved, racks, taken))
        if refusal is None:
            refusal = charge(topic.name, quota, resolved.partition_count)
        results[topic.name] = refusal or _created(resolved)
        if refusal is None:
            accepted.append(resolved)
            taken.add(topic.name)
    if accepted and not request.validate_only:
        results.update((yield from _create(state, accepted, racks)))
    answer = CreateTopicsAnswer(tuple(results.values()), quota.throttle_ms)
    yield from report("CreateTopics", event.request_id, answer)


def _with_defaults(topic: NewTopic, config: ControllerConfig) -> NewTopic:
    """The topic with both counts, wherever they come from."""
    count, factor = topic.partition_count, topic.replication_factor
    if topic.assignments:
        count, factor = len(topic.assignments), len(topic.assignments[0][1])
    else:
        count = config.partition_count_default if count == UNSET else count
        factor = config.replication_factor_default if factor == UNSET else factor
    return msgspec.structs.replace(topic, partition_count=count, replication_factor=factor)


def _created(topic: NewTopic, topic_id: str | None = None) -> TopicResult:
    return TopicResult(
        topic.name,
        topic_id=topic_id,
        partition_count=topic.partition_count,
        replication_factor=topic.replication_factor,
    )


# --- what could be wrong ------------------------------------------------------------------------


class TakenNames:
    """The names that a new topic cannot have: those there are, and those still being deleted."""

    def __init__(self, listed: Sequence[str], marked: Sequence[str]) -> None:
        self._names = dict.fromkeys(listed)
        self._marked = dict.fromkeys(marked)
        self._by_metric = {metric_name(name): name for name in listed}

    def add(self, name: str) -> None:
        """A topic of the same request gets this name."""
        self._names[name] = None
        self._by_metric[metric_name(name)] = name

    def is_taken(self, name: str) -> str | None:
        """Why the name is not free, if so."""
        if name in self._marked:
            return f"{name} is marked for deletion"
        return f"{name} already exists" if name in self._names else None

    def collision(self, name: str) -> str | None:
        """Which topic's metrics could not be told from this one's, if any."""
        other = self._by_metric.get(metric_name(name))
        if other is None:
            return None
        return f"{name} would collide with {other} in metrics, where '.' and '_' are the same"


def _read_taken(state: ControllerState) -> Procedure[TakenNames]:
    """As ZooKeeper has them: a topic may be there, or be marked, before the watch has told."""
    listed = yield from ask(ListTopics())
    marked = yield from ask(ListTopicDeletions())
    return TakenNames((*listed, *state.topics), marked)


def _complaints(topic: NewTopic, resolved: NewTopic, racks: Racks, taken: TakenNames) -> Complaints:
    """In the order in which Kafka looks."""
    yield ErrorCode.TOPIC_ALREADY_EXISTS, taken.is_taken(topic.name)
    yield ErrorCode.INVALID_CONFIG, _null_configs(topic)
    yield ErrorCode.INVALID_REQUEST, _contradiction(topic)
    if not topic.assignments:
        count, factor = resolved.partition_count, resolved.replication_factor
        yield ErrorCode.INVALID_PARTITIONS, miscounted(count)
        yield ErrorCode.INVALID_REPLICATION_FACTOR, misreplicated(factor, racks)
        yield ErrorCode.UNKNOWN_SERVER_ERROR, partly_racked(racks)
    yield ErrorCode.INVALID_TOPIC_EXCEPTION, misnamed(topic.name)
    yield ErrorCode.INVALID_TOPIC_EXCEPTION, taken.collision(topic.name)
    if topic.assignments:
        lists = [replicas for _, replicas in topic.assignments]
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, misassigned(topic.assignments, racks)
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, unequally_replicated(lists, len(lists[0]))
        yield ErrorCode.INVALID_REPLICA_ASSIGNMENT, misnumbered([i for i, _ in topic.assignments])
    yield ErrorCode.INVALID_CONFIG, misconfigured(_configs_of(topic))


def _null_configs(topic: NewTopic) -> str | None:
    nulls = [name for name, value in topic.configs if value is None]
    return f"these configs have no value: {', '.join(nulls)}" if nulls else None


def _contradiction(topic: NewTopic) -> str | None:
    if topic.assignments and (topic.partition_count, topic.replication_factor) != (UNSET, UNSET):
        return "give either the counts or the assignment of replicas, not both"
    return None


def _configs_of(topic: NewTopic) -> dict[str, str]:
    return {name: value for name, value in topic.configs if value is not None}


# --- creating -----------------------------------------------------------------------------------


def _create(
    state: ControllerState, topics: Sequence[NewTopic], racks: Racks
) -> Procedure[dict[str, TopicResult]]:
    assignments = yield from _assign(topics, racks)
    topic_ids: tuple[str | None, ...] = (None,) * len(topics)
    if state.config.protocol >= TOPIC_IDS_SINCE:
        topic_ids = yield from ask(MintTopicIds(len(topics)))
    creations = tuple(
        TopicCreation(topic.name, topic_id, assigned, _configs_of(topic))
        for topic, topic_id, assigned in zip(topics, topic_ids, assignments, strict=True)
    )
    failures = yield from ask(CreateTopicZnodes(fence_of(state), creations))
    return {
        topic.name: _created(topic, topic_id) if failure is None else unwritten(topic.name, failure)
        for topic, topic_id, failure in zip(topics, topic_ids, failures, strict=True)
    }


def _assign(topics: Sequence[NewTopic], racks: Racks) -> Procedure[list[dict[int, Assignment]]]:
    """As the caller says, or placed from a start that is drawn for each topic."""
    unplaced = [topic for topic in topics if not topic.assignments]
    drawn: tuple[int, ...] = ()
    if unplaced:
        drawn = yield from ask(DrawNumbers(below=len(racks), count=2 * len(unplaced)))
    starts = map(PlacementStart, drawn[::2], drawn[1::2])
    assigned = []
    for topic in topics:
        replicas = dict(topic.assignments) or place(
            racks, range(topic.partition_count), topic.replication_factor, next(starts)
        )
        assigned.append(to_assignments(replicas))
    return assigned
