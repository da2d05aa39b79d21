"""What a node finds or makes when it is the first: the paths, the cluster's name."""

from regent.zookeeper import paths
from regent.zookeeper.cluster_id import read_cluster_id, take_cluster_id
from regent.zookeeper.exchange import run
from regent.zookeeper.store import Create, Data, GetData, SetData
from regent.zookeeper.writes import ensure_paths
from tests.support.real_zookeeper import fresh_options, open_sessions

FRESH = "uVZ3kq0pTPyq8m1yKk3x0A"


def test_in_an_empty_zookeeper_everything_is_made_once() -> None:
    """Who comes second finds it as it is."""
    with open_sessions(fresh_options()) as open_one:
        first, second = open_one(), open_one()
        for session in (first, second):
            run(session, ensure_paths())

        for path in paths.PERSISTENT_PATHS:
            (found,) = second.call((GetData(path),))
            assert isinstance(found, Data)
            assert (found.data, found.stat.ephemeral_owner, found.stat.version) == (None, 0, 0)
        assert run(first, read_cluster_id()) is None
        assert run(first, take_cluster_id(FRESH)) == FRESH
        assert run(second, take_cluster_id("AAAAAAAAAAAAAAAAAAAAAA")) == FRESH
        assert run(second, read_cluster_id()) == FRESH
        (found,) = second.call((GetData(paths.CLUSTER_ID),))
        assert isinstance(found, Data)
        assert found.data == b'{"version":"1","id":"uVZ3kq0pTPyq8m1yKk3x0A"}'


def test_a_name_that_cannot_be_read_is_left_as_it_is() -> None:
    """Nothing depends on it, and somebody may want to look at it."""
    with open_sessions(fresh_options()) as open_one:
        session = open_one()
        session.call((Create("/cluster"), Create(paths.CLUSTER_ID, b"nonsense")))

        assert run(session, take_cluster_id(FRESH)) is None

        (found,) = session.call((GetData(paths.CLUSTER_ID),))
        assert isinstance(found, Data)
        assert found.data == b"nonsense"
        session.call((SetData(paths.CLUSTER_ID, b'{"version":"1","id":"mine"}'),))
        assert run(session, take_cluster_id(FRESH)) == "mine"
