"""What an administrator asks of a cluster, one method for each wish.

Every item gets its own result, with Kafka's code. A request that is refused as a whole raises
`RequestRefused`. Nothing here waits for what was accepted to be done.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from regent.client.cluster import Cluster, Replied
from regent.client.config_changes import alter_configs, describe_configs
from regent.client.refusals import DOUBT, explain
from regent.client.seen import ClusterSeen
from regent.client.throttles import plan_copying, throttle_questions, to_lift, to_throttle
from regent.errors import ClusterUnreachable, NotSupported, RequestRefused
from regent.model.admin_requests import (
    AlterReassignments,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    ElectionType,
    ElectLeaders,
    ListReassignments,
    MorePartitions,
    NewTopic,
    PartitionResult,
    ReassignmentTarget,
    TopicResult,
)
from regent.model.assignment import Assignment
from regent.model.config_requests import ConfigResult
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

Result = TypeVar("Result", TopicResult, PartitionResult)


class Admin:
    """A cluster, and what can be wished of it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    # --- topics -------------------------------------------------------------------------------

    def create(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicResult]:
        """Create topics, or only say whether they could be."""
        return self._results(CreateTopics(tuple(topics), validate_only))

    def delete(self, topics: Sequence[str]) -> list[TopicResult]:
        """Delete topics by name."""
        return self._results(DeleteTopics(tuple(topics)))

    def grow(
        self, topics: Sequence[MorePartitions], *, validate_only: bool = False
    ) -> list[TopicResult]:
        """Give topics more partitions, or only say whether they could get them."""
        return self._results(CreatePartitions(tuple(topics), validate_only))

    def describe(self, topics: Sequence[str] | None = None) -> ClusterSeen:
        """These topics, or with None all; a topic that is not there has its error."""
        return self._cluster.look(topics)

    def min_isr(self, topics: Sequence[str]) -> Mapping[str, int]:
        """How many replicas each topic needs in sync, of those whose configuration may be seen."""
        return self._cluster.min_isr(topics)

    # --- replicas and leaders -----------------------------------------------------------------

    def reassign(self, targets: Sequence[ReassignmentTarget]) -> list[PartitionResult]:
        """Start, replace or, without replicas, cancel moves."""
        return self._results(AlterReassignments(tuple(targets)))

    def moving(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Assignment]:
        """Which of these partitions, or with None of all, are being moved now."""
        asked = None if partitions is None else tuple(partitions)
        replied = self._ask(ListReassignments(asked))
        return dict(replied.answer.moving)

    def moving_if_told(self) -> tuple[dict[TopicPartition, Assignment] | None, str]:
        """All that is being moved; or None and why, where that alone cannot be found out.

        The rest of what is known of a cluster is worth showing without it, all the more while
        there is no controller.
        """
        try:
            replied = self._ask(ListReassignments(), attempts=1)
        except (NotSupported, RequestRefused, ClusterUnreachable) as error:
            return None, str(error)
        return dict(replied.answer.moving), ""

    def throttle(
        self, targets: Sequence[ReassignmentTarget], bytes_per_s: int
    ) -> list[ConfigResult]:
        """Let what these moves copy, and what is being moved already, go no faster than this.

        Dead brokers are passed over: they copy nothing, and only they could be told.
        """
        moving = self.moving()
        topics = [each.topic for each in targets] + [name.topic for name in moving]
        seen = self.describe(tuple(dict.fromkeys(topics)))
        copying = plan_copying(targets, seen, moving)
        live = frozenset(broker.broker_id for broker in seen.brokers)
        changes = to_throttle(copying, bytes_per_s, live)
        return alter_configs(self._cluster, seen.brokers, changes)

    def lift_throttles(self, topics: Sequence[str], *, with_brokers: bool) -> list[ConfigResult]:
        """Remove the throttles of these topics, and the rates of all brokers, where there are any.

        One result for each that had some, or that cannot be looked at.
        """
        brokers = self.describe(()).brokers
        rated = [broker.broker_id for broker in brokers] if with_brokers else []
        questions = throttle_questions(topics, rated)
        try:
            described = describe_configs(self._cluster, brokers, questions)
        except NotSupported:
            return []  # it is too old to tell, and to be told
        unknown = [
            ConfigResult(each.resource, each.error, each.message)
            for each in described
            if each.error is ErrorCode.BROKER_NOT_AVAILABLE
        ]
        return alter_configs(self._cluster, brokers, list(to_lift(described))) + unknown

    def elect(
        self, election: ElectionType, partitions: Sequence[TopicPartition] | None = None
    ) -> list[PartitionResult]:
        """Elect leaders; with None for all partitions that can use it."""
        return self._results(
            ElectLeaders(election, None if partitions is None else tuple(partitions))
        )

    # --- asking -------------------------------------------------------------------------------

    def _results(self, request: Any) -> list[Any]:
        replied = self._ask(request)
        throttle_ms: int = getattr(replied.answer, "throttle_ms", 0)
        results = [_with_wait(each, throttle_ms) for each in replied.answer.results]
        return [_with_doubt(each) for each in results] if replied.is_repeat else results

    def _ask(self, request: Any, *, attempts: int | None = None) -> Replied:
        replied = self._cluster.ask_controller(request, attempts=attempts)
        error = getattr(replied.answer, "error", ErrorCode.NONE)
        if error is not ErrorCode.NONE:
            message = explain(error, getattr(replied.answer, "message", None))
            raise RequestRefused(
                f"the controller refuses {type(request).__name__}: {error.name}: {message}",
                error.value,
            )
        return replied


def _with_wait(result: Result, throttle_ms: int) -> Result:
    """Whoever has used up its quota is told for the whole answer when to try again."""
    if result.error is not ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return result
    told = (result.message or "").strip().rstrip(".")
    wait = f"try again in {throttle_ms / 1000:.1f} s"
    return replace(result, message="; ".join(part for part in (told, wait) if part))


def _with_doubt(result: Result) -> Result:
    """A failure after a lost attempt may be that attempt's success."""
    if result.error is ErrorCode.NONE:
        return result
    told = "; ".join(part for part in (result.message, DOUBT) if part)
    return replace(result, message=told)
