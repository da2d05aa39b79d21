"""`regent down` and others beside an owner that does not answer: it starts, stops or is dead."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
import typer
from msgspec.structs import replace

from regent.cli import down as command
from regent.cli.brokers import list_brokers
from regent.errors import BadInput
from regent.testing.remote_control import RemoteControl
from regent.testing.up_lock import UpLock
from regent.testing.up_record import (
    BrokerRecord,
    ControlAddress,
    UpRecord,
    read_record,
    write_record,
)
from regent.zookeeper.embedded import free_port


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that can be taken for a broker of the cluster in this folder.

    It has said something, so it runs: a process that only begins to has no command line yet.
    """
    sleeper = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)"]
    cuts = str(tmp_path / "broker-1" / "cuts.json")
    with subprocess.Popen([*sleeper, cuts], stdout=subprocess.PIPE) as process:  # noqa: S603 - ours
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        yield process
        process.kill()


@pytest.fixture
def record(broker: subprocess.Popen[bytes], tmp_path: Path) -> UpRecord:
    """Of a cluster that is up, but nobody listens at its control."""
    written = UpRecord(
        base_port=1,
        racks=[],
        zookeeper=None,
        brokers=[
            BrokerRecord(
                broker_id=1, address="127.0.0.1:1", rack=None, condition="running", pid=broker.pid
            )
        ],
        control=ControlAddress(free_port(), "token"),
        launcher_pid=os.getpid(),
    )
    write_record(tmp_path, written)
    return written


def when_it_waits(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """One after the other happens while `down` waits, and no time passes."""
    waiting = iter(steps)
    monkeypatch.setattr(command, "sleep", lambda _: next(waiting)())


def test_the_brokers_of_an_owner_that_lives_are_left_alone(
    broker: subprocess.Popen[bytes],
    record: UpRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It stops them itself, in order; after a while that is too long, and said."""
    monkeypatch.setattr(command, "STOPPED_WITHIN_S", 0.0)
    with UpLock(tmp_path) as owner:
        assert owner.take()

        with pytest.raises(typer.Exit) as ended:
            command.down(tmp_path)

    assert ended.value.exit_code == command.EXIT_NOT_DONE
    said = capsys.readouterr().out
    assert f"has not stopped within 0 s; process {os.getpid()} still has it" in said
    assert broker.poll() is None
    assert read_record(tmp_path) == record


def test_it_waits_for_an_owner_that_is_stopping(
    record: UpRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It answers nobody any more, and its record still says that the cluster is up."""
    with ExitStack() as owners_life:
        assert owners_life.enter_context(UpLock(tmp_path)).take()
        stopped = replace(record, control=None, launcher_pid=None, brokers=())
        when_it_waits(monkeypatch, lambda: write_record(tmp_path, stopped), owners_life.close)

        command.down(tmp_path)

    assert f"the cluster in {tmp_path} is down; " in capsys.readouterr().out


def test_it_asks_an_owner_that_is_starting_as_soon_as_that_can_hear(
    record: UpRecord,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Until then there is only the record of an earlier owner, which was killed."""
    with ExitStack() as owners_life:
        assert owners_life.enter_context(UpLock(tmp_path)).take()

        def stop(_: int | None) -> None:
            write_record(tmp_path, replace(record, control=None, brokers=()))
            owners_life.close()

        with RemoteControl({"down": stop}) as control:
            is_up = replace(record, control=control.address, brokers=())
            when_it_waits(monkeypatch, lambda: write_record(tmp_path, is_up), lambda: None)

            command.down(tmp_path)

    assert f"the cluster in {tmp_path} is down; " in capsys.readouterr().out


def test_what_a_dead_owner_left_is_ended(
    broker: subprocess.Popen[bytes],
    record: UpRecord,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nobody has the lock, so nobody else will."""
    command.down(tmp_path)

    assert broker.wait() == -signal.SIGKILL
    left = "is gone; ended what was left: brokers 1\n"
    assert (
        capsys.readouterr().out == f"process {record.launcher_pid}, which ran this cluster, {left}"
    )

    command.down(tmp_path)

    assert capsys.readouterr().out == f"the cluster in {tmp_path} is down already\n"


def test_of_an_owner_that_does_not_answer_the_last_record_is_listed(
    record: UpRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script that wants JSON gets nothing but JSON."""
    list_brokers(tmp_path, as_json=True)

    said = capsys.readouterr()
    assert msgspec.json.decode(said.out, type=list[BrokerRecord]) == record.brokers
    assert f"process {os.getpid()}, which runs this cluster, does not answer" in said.err


def test_a_start_that_failed_leaves_no_cluster(tmp_path: Path) -> None:
    with UpLock(tmp_path) as owner:
        assert owner.take()

    with pytest.raises(BadInput, match="there is no cluster in"):
        command.down(tmp_path)
