"""The end of a node when ZooKeeper is away: it comes, and soon."""

import signal
from pathlib import Path

import pytest

from regent.zookeeper.options import ZooKeeperOptions
from tests.support.controllers import Controllers, log_lines, wait_for_log
from tests.support.tcp_proxy import TcpProxy

#: Far less than the session's timeout, for which nobody may wait.
WAIT_S = 40
SESSION = ("--session-timeout-ms", "60000")


@pytest.mark.behaviour("shd-006")
@pytest.mark.parametrize("way_out", ["cut", "silent"])
def test_a_node_ends_although_zookeeper_is_gone(
    zookeeper_options: ZooKeeperOptions, tmp_path: Path, way_out: str
) -> None:
    """It cannot resign; its session, and the role with it, ends by itself a little later."""
    address, _, chroot = zookeeper_options.connect.partition("/")
    host, _, port = address.partition(":")
    with (
        Controllers(zookeeper_options, tmp_path) as controllers,
        TcpProxy((host, int(port))) as way,
    ):
        process = controllers.start(101, *SESSION, connect=f"{way.address}/{chroot}")
        wait_for_log(process, "elected")
        if way_out == "cut":
            way.part()
            wait_for_log(process, "ZooKeeper: suspended")
        else:
            way.hold_replies()

        process.signal(signal.SIGTERM)

        assert process.process.wait(WAIT_S) == 0
        assert log_lines(process, "Traceback") == []
        assert log_lines(process, "resigned")
