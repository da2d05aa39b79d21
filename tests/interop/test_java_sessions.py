"""Whoever knows the id of a session can end it."""

from contextlib import closing

from regent.zookeeper.kazoo_session import KazooSession
from tests.interop.java_sessions import session_password
from tests.support.real_zookeeper import fresh_options


def test_the_password_of_a_session_follows_from_its_id() -> None:
    """As long as ZooKeeper keeps to that; otherwise tests would wait for a minute at each kill."""
    with closing(KazooSession.open(fresh_options())) as session:
        assert session_password(session.session_id) == session.password
