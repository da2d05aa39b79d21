"""What an administrator asks of a cluster, one method for each wish.

Every item gets its own result, with Kafka's code. A request that is refused as a whole raises
`RequestRefused`. Nothing here waits for what was accepted to be done.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from regent.client.cluster import Cluster, Replied
from regent.client.refusals import DOUBT, explain
from regent.client.seen import ClusterSeen
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
        results = replied.answer.results
        return [_with_doubt(each) for each in results] if replied.is_repeat else list(results)

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


def _with_doubt(result: Result) -> Result:
    """A failure after a lost attempt may be that attempt's success."""
    if result.error is ErrorCode.NONE:
        return result
    told = "; ".join(part for part in (result.message, DOUBT) if part)
    return replace(result, message=told)
