"""Asking a cluster for what scenarios want, many of a kind in one request, and looking at it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.client.config_changes import alter_configs, topic_resource
from regent.client.patience import Patience
from regent.model.admin_requests import ElectionType, MorePartitions, NewTopic, ReassignmentTarget
from regent.model.config_requests import ConfigChange, ConfigChanges, ConfigOperation
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.zookeeper.exchange import run, send, unexpected
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.store import Failed
from tests.conformance.left_znodes import LEFT, Named
from tests.conformance.lockstep import Part
from tests.conformance.steps import (
    AddPartitions,
    CancelMove,
    Configure,
    CreateTopic,
    DeleteTopic,
    Elect,
    Reassign,
    TopicStep,
)
from tests.conformance.trees import TopicTree, read_trees
from tests.interop.apache_cluster import ApacheCluster

#: Kafka lets whoever creates or deletes something wait until that is done, which may be never.
PATIENCE: Final = Patience(answer_s=8.0)


class _Result(Protocol):
    @property
    def topic(self) -> str: ...

    @property
    def error(self) -> ErrorCode: ...


class Requests:
    """One cluster, as its clients and its operators' old tools reach it."""

    def __init__(self, apache: ApacheCluster) -> None:
        self._session = KazooSession.open(apache.zookeeper_options)
        self._bootstrap = parse_bootstrap(apache.bootstrap)

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def look(self, topics: Sequence[str]) -> dict[str, TopicTree]:
        """What ZooKeeper has of these topics now."""
        return run(self._session, read_trees(topics))

    def hear_from_controller(self) -> None:
        """It answers this when it has handled all that it knew of before."""
        with Cluster(self._bootstrap, PATIENCE) as asked:
            Admin(asked).moving()

    def delete(self, topics: Sequence[str]) -> None:
        """Delete whatever is there of these."""
        with Cluster(self._bootstrap, PATIENCE) as asked:
            Admin(asked).delete(topics)

    def send(self, parts: Sequence[Part]) -> dict[str, ErrorCode]:
        """All steps of a round, one request for each kind; what each scenario hears."""
        kinds: dict[type[TopicStep], list[tuple[str, TopicStep]]] = {}
        owners: dict[str, str] = {}
        for part in parts:
            name = part.scenario.full_name(part.step.topic)
            owners[name] = part.scenario.name
            kinds.setdefault(type(part.step), []).append((name, part.step))
        heard: dict[str, ErrorCode] = {}
        with Cluster(self._bootstrap, PATIENCE) as asked:
            for kind, steps in kinds.items():
                if kind in LEFT:
                    self._leave(kind, steps)
                else:
                    heard |= _ASKED[kind](asked, steps)
        return {owners[name]: error for name, error in heard.items()}

    def _leave(self, kind: type[TopicStep], steps: Named) -> None:
        """Nobody answers a znode."""
        for reply in run(self._session, send(LEFT[kind](steps))):
            if isinstance(reply, Failed):
                raise unexpected(reply)


# --- one request for each kind ------------------------------------------------------------------


def _create(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    wishes = [
        NewTopic(name, assignments=tuple(enumerate(map(_ids, step.replicas))), configs=step.configs)
        for name, step in steps
    ]
    return _errors(Admin(asked).create(wishes))


def _grow(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    wishes = [
        MorePartitions(name, step.total_count, tuple(map(_ids, step.replicas)))
        for name, step in steps
    ]
    return _errors(Admin(asked).grow(wishes))


def _delete(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    return _errors(Admin(asked).delete([name for name, _ in steps]))


def _reassign(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    targets = [
        ReassignmentTarget(name, step.partition, _ids(step.replicas)) for name, step in steps
    ]
    return _errors(Admin(asked).reassign(targets))


def _cancel(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    targets = [ReassignmentTarget(name, step.partition, None) for name, step in steps]
    return _errors(Admin(asked).reassign(targets))


def _elect(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    """One request for each kind of election."""
    heard: dict[str, ErrorCode] = {}
    for kind in ElectionType:
        wanted = [TopicPartition(name, each.partition) for name, each in steps if each.kind is kind]
        if wanted:
            heard |= _errors(Admin(asked).elect(kind, wanted))
    return heard


def _configure(asked: Cluster, steps: Named) -> Mapping[str, ErrorCode]:
    changes = [
        ConfigChanges(
            topic_resource(name), (ConfigChange(step.name, ConfigOperation.SET, step.value),)
        )
        for name, step in steps
    ]
    results = alter_configs(asked, asked.look(()).brokers, changes)
    return {result.resource.name: result.error for result in results}


_ASKED: Final[Mapping[type[TopicStep], Callable[[Cluster, Named], Mapping[str, ErrorCode]]]] = {
    CreateTopic: _create,
    AddPartitions: _grow,
    DeleteTopic: _delete,
    Reassign: _reassign,
    CancelMove: _cancel,
    Elect: _elect,
    Configure: _configure,
}


def _errors(results: Iterable[_Result]) -> dict[str, ErrorCode]:
    return {result.topic: result.error for result in results}


def _ids(replicas: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, replicas))
