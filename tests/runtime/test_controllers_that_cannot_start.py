"""`regent controller` with something wrong from the start: a sentence, and what follows from it.

What only a person can put right ends the process at once. What may pass is waited for, each time
a little longer, and SIGTERM ends the waiting.
"""

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from regent.cli.main import EXIT_USAGE, main
from regent.model.facts import EventFailed
from regent.runtime.driver import BACKOFF_S
from regent.zookeeper.controller_znodes import read_controllers
from regent.zookeeper.exchange import run
from regent.zookeeper.kazoo_session import KazooSession
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Create
from tests.support.acls import closed
from tests.support.controllers import (
    ControllerProcess,
    Controllers,
    log_lines,
    wait_for_log,
)
from tests.support.leading import Leading, address_of
from tests.support.waiting import eventually
from tests.support.whole_tree import whole_tree

#: Longer than any test waits for a process to end.
NEVER_MS = 600_000
WAIT_S = 60


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which a connection is refused, for as long as the test lasts."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*bound.getsockname())


def settings(folder: Path, content: str) -> str:
    file = folder / "controller.properties"
    file.write_text(content)
    return str(file)


def said_at(line: str) -> datetime:
    return datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007 - the log's own


def check_back_off(lines: list[str]) -> None:
    """Each wait was as long as the table says, or longer: nobody asked in between."""
    for wait_s, (before, after) in zip(BACKOFF_S, pairwise(lines), strict=False):
        # The log's clock is read to a millisecond, and not at the very end of the wait.
        assert (said_at(after) - said_at(before)).total_seconds() > wait_s * 0.9


# --- ZooKeeper ----------------------------------------------------------------------------------


def test_a_zookeeper_that_is_not_there_is_looked_for_again_and_again(
    tmp_path: Path, nobody: str
) -> None:
    """With its address and the reason, and each time after a longer wait."""
    config = settings(tmp_path, "zookeeper.connection.timeout.ms=500\n")
    process = ControllerProcess(101, nobody, tmp_path, "--config", config)
    try:
        lines = wait_for_log(
            process, f"no session with ZooKeeper at {nobody}", "trying again", count=4
        )
        process.signal(signal.SIGTERM)

        assert process.process.wait(WAIT_S) == 0
    finally:
        process.close()
    assert "Connection refused" in lines[0]
    check_back_off(lines)
    assert log_lines(process, "Traceback") == []


def test_who_looks_for_zookeeper_ends_when_told_to(tmp_path: Path, nobody: str) -> None:
    """In the midst of the first attempt, which would take ten minutes."""
    config = settings(tmp_path, f"zookeeper.connection.timeout.ms={NEVER_MS}\n")
    process = ControllerProcess(101, nobody, tmp_path, "--config", config)
    try:
        wait_for_log(process, "looking for", nobody, count=1)
        process.signal(signal.SIGTERM)

        assert process.process.wait(WAIT_S) == 0
    finally:
        process.close()
    assert log_lines(process, "trying again") == []


@pytest.mark.behaviour("shd-007")
def test_a_name_that_nobody_knows_can_be_waited_for_and_left(tmp_path: Path) -> None:
    """Its start fails half-way: the port is open, the journal too; two signals, one clean end."""
    config = settings(tmp_path, "zookeeper.connection.timeout.ms=500\n")
    process = ControllerProcess(101, "no-such-host.invalid:2181", tmp_path, "--config", config)
    try:
        wait_for_log(process, "no session with ZooKeeper at no-such-host.invalid:2181", count=1)
        process.signal(signal.SIGTERM)
        process.signal(signal.SIGTERM)

        assert process.process.wait(WAIT_S) == 0
    finally:
        process.close()
    assert log_lines(process, "Traceback") == []


def ends_refused(process: ControllerProcess) -> str:
    """It ends by itself, with one sentence."""
    assert process.process.wait(WAIT_S) == EXIT_USAGE
    assert log_lines(process, "Traceback") == []
    (line,) = log_lines(process, "regent: ")
    return line


@pytest.fixture
def abandoned(controllers: Controllers) -> Controllers:
    """Somebody has led this cluster before; it has a topic."""
    first = controllers.start(101)
    controllers.elected()
    first.signal(signal.SIGTERM)
    assert first.process.wait(WAIT_S) == 0
    with closing(KazooSession.open(controllers.zookeeper)) as session:
        session.call(
            (
                Create("/brokers/topics/old", b'{"version":2,"partitions":{"0":[1]}}'),
                Create("/brokers/topics/old/partitions"),
                Create("/brokers/topics/old/partitions/0"),
                Create("/brokers/topics/old/partitions/0/state"),
            )
        )
    return controllers


@pytest.mark.parametrize(
    ("path", "is_readable"),
    [
        # As Kafka leaves them with `zookeeper.set.acl`.
        ("/", True),
        ("/controller_epoch", True),
        ("/brokers/topics", True),
        ("/brokers/topics/old", True),
        ("/brokers/topics/old/partitions/0/state", True),
        ("/admin/delete_topics", True),
        ("/controller_epoch", False),
        ("/brokers/topics", False),
    ],
)
def test_a_zookeeper_that_may_not_be_written_is_refused_untouched(
    abandoned: Controllers, monkeypatch: pytest.MonkeyPatch, *, path: str, is_readable: bool
) -> None:
    """ZooKeeper takes any password; it is what one may do with it that tells."""
    monkeypatch.setenv("REGENT_ZOOKEEPER_DIGEST", "me:wrong")
    before = whole_tree(abandoned.zookeeper)
    with closed(abandoned.zookeeper, path, "me:secret", is_readable=is_readable):
        line = ends_refused(abandoned.start(102))

    assert f"ZooKeeper refuses access to {path} (NO_AUTH)" in line
    assert "REGENT_ZOOKEEPER_DIGEST" in line
    assert whole_tree(abandoned.zookeeper) == before


@pytest.mark.parametrize(
    ("controller", "complaint"),
    [
        (
            b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":7}',
            "moving to KRaft: /controller names KRaft controller 3000 at its epoch 7",
        ),
        (
            b'{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}',
            "/controller names 3 and belongs to no session",
        ),
    ],
)
@pytest.mark.parametrize("options", [(), ("--take-over",)])
def test_a_cluster_that_moves_to_kraft_is_refused_untouched(
    abandoned: Controllers, controller: bytes, complaint: str, options: tuple[str, ...]
) -> None:
    with closing(KazooSession.open(abandoned.zookeeper)) as session:
        session.call((Create("/controller", controller),))
    before = whole_tree(abandoned.zookeeper)

    line = ends_refused(abandoned.start(102, *options))

    assert complaint in line
    assert "nothing was changed" in line
    assert whole_tree(abandoned.zookeeper) == before


@pytest.mark.parametrize("path", ["/controller_epoch", "/brokers/topics"])
def test_a_refused_znode_costs_the_role_and_not_the_process(
    controllers: Controllers, path: str
) -> None:
    """Two of them, so that each also sees the other come and go; then the ACL is put right."""
    first = controllers.start(101)
    epoch = controllers.elected().controller_epoch
    standing_by = [controllers.start(node_id) for node_id in (102, 103)]
    eventually(lambda: {102, 103} <= listed(controllers), "both to stand by")

    with closed(controllers.zookeeper, path, "me:secret"):
        first.signal(signal.SIGTERM)
        assert first.process.wait(WAIT_S) == 0
        for process in standing_by:
            lines = wait_for_log(
                process, "giving the role up", f"refuses access to {path}", count=4
            )
            check_back_off(lines)
            assert log_lines(process, "Traceback") == []
            # What it says of one failure: that it was elected, failed, resigned, and why.
            told = [line for line in process.log.read_text().splitlines() if "epoch" in line]
            assert len(told) <= 4 * (len(lines) + 1)
            assert process.process.poll() is None

    assert controllers.elected(after=epoch).node_id in {102, 103}
    eventually(lambda: _is_settled(controllers), "a controller that stays")


def listed(controllers: Controllers) -> set[int]:
    """Who says where it listens, as a controller does that has looked around."""
    with closing(KazooSession.open(controllers.zookeeper)) as session:
        return set(run(session, read_controllers()))


def _is_settled(controllers: Controllers) -> bool:
    """Whether somebody is in office who has told of no failure since."""
    holder = controllers.holder()
    if holder is None:
        return False
    process = controllers.by_id[holder.node_id]
    return not any(
        record.controller_epoch == holder.controller_epoch and isinstance(record.fact, EventFailed)
        for record in process.records()
    )


# --- what was typed -------------------------------------------------------------------------------


def start_in_vain(folder: Path, options: ZooKeeperOptions, *more: str) -> int:
    """Type the command here; it ends by itself."""
    return main(
        [
            *("controller", "--id", "101", "--zookeeper", options.connect),
            *("--listen", "127.0.0.1:0", "--journal", str(folder / "journal"), *more),
        ]
    )


@pytest.mark.parametrize("option", ["--listen", "--metrics"])
def test_a_port_in_use_is_said_with_what_to_do(
    zookeeper_options: ZooKeeperOptions,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
) -> None:
    """Before ZooKeeper hears of this node."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "{}:{}".format(*other.getsockname())

        assert start_in_vain(tmp_path, zookeeper_options, option, address) == EXIT_USAGE

    complaint = capsys.readouterr().err.splitlines()[-1]
    assert address in complaint
    assert "choose another" in complaint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--config", "no/such.properties"), "cannot read the settings in no/such.properties"),
        (("--listen", "9093"), "--listen 9093: write it like 127.0.0.1:9093"),
        (("--listen", "0.0.0.0:0"), "say with --advertise HOST"),
        (("--listen", "[::]:0"), "say with --advertise HOST"),
        (("--zookeeper", "zk:no"), "'zk:no' is not an address of ZooKeeper"),
        (("--journal", "/dev/null/journal"), "cannot keep a journal in /dev/null/journal"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    zookeeper_options: ZooKeeperOptions,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    complaint: str,
) -> None:
    assert start_in_vain(tmp_path, zookeeper_options, *options) == EXIT_USAGE
    assert complaint in capsys.readouterr().err


def test_a_setting_that_cannot_be_is_named_with_its_line(
    zookeeper_options: ZooKeeperOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = settings(tmp_path, "num.partitions=3\ndefault.replication.factor=none\n")

    assert start_in_vain(tmp_path, zookeeper_options, "--config", config) == EXIT_USAGE
    assert f"{config}, line 2: default.replication.factor=none" in capsys.readouterr().err


# --- ids ------------------------------------------------------------------------------------------


def test_the_id_of_a_broker_is_refused(leading: Leading, tmp_path: Path) -> None:
    """The broker would take itself for the controller, and clients would ask it."""
    process = ControllerProcess(2, leading.connect, tmp_path)
    try:
        assert process.process.wait(WAIT_S) == EXIT_USAGE
    finally:
        process.close()

    (line,) = log_lines(process, "regent: ")
    assert "broker 2 is registered in this cluster" in line
    assert "choose another with --id" in line
    assert leading.controllers.elected().node_id == 100


def test_the_id_of_another_controller_is_waited_for(leading: Leading, tmp_path: Path) -> None:
    """It may be this one's past life, which a crash left behind; nobody acts for two meanwhile."""
    folder = tmp_path / "second"
    folder.mkdir()
    second = ControllerProcess(100, leading.connect, folder)
    try:
        lines = wait_for_log(second, "a controller with id 100 is there already", count=3)
        check_back_off(lines)
        assert f"at {leading.bootstrap}, in ZooKeeper session 0x" in lines[0]
        holder = leading.controllers.elected()

        leading.process.kill()

        assert leading.controllers.elected(after=holder.controller_epoch).node_id == 100
        assert second.process.poll() is None
        assert address_of(second) != leading.bootstrap
    finally:
        second.close()


def test_a_chroot_that_is_not_there_is_made(zookeeper_options: ZooKeeperOptions) -> None:
    """As Kafka's brokers make it, however deep."""
    deep = ZooKeeperOptions(
        connect=f"{zookeeper_options.connect}/a/b/c", creates_chroot=True, connect_timeout_ms=60_000
    )

    KazooSession.open(deep).close()
    KazooSession.open(ZooKeeperOptions(connect=deep.connect, connect_timeout_ms=60_000)).close()
