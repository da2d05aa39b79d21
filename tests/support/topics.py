"""Topics written into ZooKeeper as an admin tool of old writes them: the assignment alone."""

from collections.abc import Mapping

from regent.model.assignment import Assignment
from regent.zookeeper import paths
from regent.zookeeper.store import Create, Done, Session
from regent.zookeeper.znodes import encode_topic
from tests.support.builders import ids


def write_topic(session: Session, name: str, replicas: Mapping[int, tuple[int, ...]]) -> None:
    """A topic for the controller to find."""
    partitions = {index: Assignment(ids(*each)) for index, each in replicas.items()}
    (reply,) = session.call((Create(paths.topic(name), encode_topic(None, partitions)),))
    assert isinstance(reply, Done)
