"""`regent up`, `down` and `brokers`, typed as a person types them, in several terminals."""

import json
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from regent.errors import BadInput
from regent.testing.held_port import HeldPort
from regent.testing.patient import wait_until
from regent.testing.up_record import RecordNotKept, UpRecord, write_record
from tests.testing.processes import is_gone

FRONT_DOOR = "regent.cli.main"
ENDED_WITHIN_S = 300

_ups = count()


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """One command, until it ends."""
    command = [sys.executable, "-m", FRONT_DOOR, *arguments]
    return subprocess.run(  # noqa: S603 - ours
        command, capture_output=True, text=True, check=False, timeout=ENDED_WITHIN_S
    )


def free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody has.

    They are not among those that the kernel gives to whoever connects: it takes `regent up` a while
    to be there.
    """
    while True:
        first = random.SystemRandom().randrange(10_000, 30_000)
        held: list[HeldPort] = []
        try:
            held.extend(HeldPort(first + index) for index in range(count))
        except BadInput:
            continue
        finally:
            for each in held:
                each.release()
        return first


class Up:
    """A `regent up` in a terminal of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.output = folder.with_name(f"up-{next(_ups)}.out")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", FRONT_DOOR, "up", "--data", str(folder), *options],
                stdout=output,
                stderr=output,
            )

    def said(self) -> str:
        """All that it printed."""
        return self.output.read_text()

    def wait_until_up(self) -> None:
        """Until it says so."""

        def look() -> bool:
            assert self.process.poll() is None, self.said()
            return "stop it with" in self.said()

        wait_until(look, "the cluster")

    def brokers(self) -> list[dict[str, Any]]:
        """What `brokers list` says."""
        listed = typed("brokers", "list", "--data", str(self.folder), "--json")
        told: list[dict[str, Any]] = json.loads(listed.stdout)
        return told

    def states(self) -> dict[int, str]:
        """How each broker is."""
        return {each["broker_id"]: each["condition"] for each in self.brokers()}

    def do(self, verb: str, broker_id: int) -> subprocess.CompletedProcess[str]:
        """Type `brokers VERB ID` in another terminal."""
        return typed("brokers", verb, str(broker_id), "--data", str(self.folder))


@contextmanager
def upped(folder: Path, *options: str) -> Iterator[Up]:
    """Whatever happens, nothing of it is left."""
    up = Up(folder, *options)
    try:
        up.wait_until_up()
        yield up
    finally:
        up.process.kill()
        up.process.wait(ENDED_WITHIN_S)


def create_topic(address: str) -> None:
    created = typed("topics", "create", "kept", "--partitions", "2", "--bootstrap", address)
    assert created.returncode == 0, created.stderr


def test_a_cluster_goes_up_and_down_and_up_again(tmp_path: Path) -> None:
    """Ids, ports, racks and topics are the same; each time it stops in order."""
    folder = tmp_path / "cluster"
    port = free_ports(2)
    options = ("--brokers", "2", "--racks", "a,b", "--port", str(port))
    with upped(folder, *options) as up:
        addresses = [f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"]
        assert f"bootstrap  {','.join(addresses)}\n" in up.said()
        first = up.brokers()
        assert [each["address"] for each in first] == addresses
        create_topic(addresses[0])

        down = typed("down", "--data", str(folder))
        assert (down.returncode, down.stderr) == (0, "")
        assert up.process.wait(ENDED_WITHIN_S) == 0
        assert "stopping all brokers, the controller last" in up.said()
    assert up.states() == {1: "down", 2: "down"}

    with upped(folder) as up:
        again = up.brokers()
        for name in ("broker_id", "address", "rack", "condition"):
            assert [each[name] for each in again] == [each[name] for each in first]
        listed = typed("topics", "list", "--bootstrap", addresses[1], "--json")
        assert [each["name"] for each in json.loads(listed.stdout)] == ["kept"]

        up.process.send_signal(signal.SIGINT)
        assert up.process.wait(ENDED_WITHIN_S) == 0


def test_brokers_are_killed_stopped_and_started_from_another_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    with upped(folder, "--brokers", "3", "--port", str(free_ports(3))) as up:
        assert up.states() == {1: "running", 2: "running", 3: "running"}

        assert up.do("kill", 1).stdout == "broker 1 is dead\n"
        assert up.do("pause", 2).stdout == "broker 2 is paused\n"
        assert up.states() == {1: "down", 2: "paused", 3: "running"}

        assert up.do("resume", 2).stdout == "broker 2 goes on\n"
        assert up.do("start", 1).stdout == "broker 1 is up again\n"
        assert up.do("stop", 3).stdout == "broker 3 has stopped\n"
        assert up.states() == {1: "running", 2: "running", 3: "down"}

        refused = up.do("kill", 3)
        assert refused.returncode == 64
        assert refused.stderr == "regent: broker 3 is down; start it first\n"
        refused = up.do("kill", 9)
        assert refused.stderr.startswith("regent: there is no broker 9 in this cluster")

        second = typed("up", "--data", str(folder))
        assert second.returncode == 64
        assert f"a cluster is up in {folder} already" in second.stderr
        wait_until(lambda: "broker 3 at" in up.said() and ": down" in up.said(), "its lines")


def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path) -> None:
    """Not even a broker that is paused, once somebody looks after it; then it goes up again."""
    folder = tmp_path / "cluster"
    with upped(folder, "--brokers", "2", "--port", str(free_ports(2))) as up:
        up.do("pause", 1)
        pids = [each["pid"] for each in up.brokers()]
        up.process.kill()
        up.process.wait(ENDED_WITHIN_S)
    wait_until(lambda: is_gone(pids[1]), "the end of the one that runs")

    down = typed("down", "--data", str(folder))

    assert "is gone; ended what was left: brokers 1\n" in down.stdout
    wait_until(lambda: is_gone(pids[0]), "the end of the one that is paused")
    with upped(folder) as up:
        assert up.states() == {1: "running", 2: "running"}


def test_of_two_that_start_together_one_is_refused(tmp_path: Path) -> None:
    """The record is written after the start, which is too late to keep the other one away."""
    folder = tmp_path / "cluster"
    port = free_ports(2)
    ups = [Up(folder, "--brokers", "1", "--port", str(port + index)) for index in (0, 1)]
    try:
        wait_until(lambda: any(up.process.poll() is not None for up in ups), "the end of one")
        ups.sort(key=lambda up: up.process.poll() is None)
        refused, other = ups
        assert refused.process.wait(ENDED_WITHIN_S) == 64
        assert f"a cluster is up in {folder} already, or on its way up or down" in refused.said()
        # The winner is known a moment after it has won.
        named = re.search(r"\(process (\w+)\)", refused.said())
        assert named is not None
        assert named[1] in {str(other.process.pid), "unknown"}

        down = typed("down", "--data", str(folder))

        assert (down.returncode, other.process.wait(ENDED_WITHIN_S)) == (0, 0)
        assert f"the cluster in {folder} is down; " in down.stdout
    finally:
        for up in ups:
            up.process.kill()
            up.process.wait(ENDED_WITHIN_S)


def test_a_cluster_whose_folder_is_deleted_still_stops(tmp_path: Path) -> None:
    """It says that nothing is left, and leaves alone what has that name then."""
    folder = tmp_path / "cluster"
    with upped(folder, "--brokers", "1", "--port", str(free_ports(1))) as up:
        folder.rename(tmp_path / "unwanted")  # at once, for brokers write while we delete
        shutil.rmtree(tmp_path / "unwanted")

        up.process.send_signal(signal.SIGINT)

        assert up.process.wait(ENDED_WITHIN_S) == 0
        assert up.said().endswith(
            f"stopped, but {folder} has been deleted, and what was stored there is gone\n"
        )
    assert not (folder / "up.json").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["up", "--config", "nothing"], "--config nothing: write it like num.partitions=3"),
        (["up", "--racks", "a,,b"], "--racks a,,b: a rack has no name; write them like a,b,c"),
        (["down"], "there is no cluster in"),
        (["brokers", "list"], "there is no cluster in"),
        (["brokers", "kill", "1"], "there is no cluster in"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], complaint: str, tmp_path: Path
) -> None:
    refused = typed(*arguments, "--data", str(tmp_path / "none"))

    assert refused.returncode == 64
    assert complaint in refused.stderr
    assert not (tmp_path / "none").exists()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        port = somebody.getsockname()[1]
        refused = typed("up", "--port", str(port), "--data", str(tmp_path / "none"))

    assert refused.returncode == 64
    assert f"port {port} of 127.0.0.1 cannot be used: it is in use" in refused.stderr


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    record = UpRecord(base_port=1, racks=(), zookeeper=None, brokers=())

    with pytest.raises(RecordNotKept, match=r"none/up.json cannot be written: No such file"):
        write_record(tmp_path / "none", record)


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "up.json").write_text("{")

    refused = typed("up", "--data", str(tmp_path))

    assert refused.returncode == 64
    assert f"{tmp_path / 'up.json'} cannot be read" in refused.stderr
