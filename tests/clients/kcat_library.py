"""kcat: a command, each of whose runs is a client. It administers nothing.

Debian's has an older librdkafka than confluent-kafka brings, and so asks in older versions.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from typing import Final

from typing_extensions import override

from tests.clients.client_library import (
    HEARTBEAT_MS,
    LOOK_S,
    PATIENCE_S,
    SESSION_MS,
    ClientLibrary,
    ClientMember,
)

#: What a group member says of itself; what was revoked is not said to be assigned.
REBALANCED: Final = re.compile(
    r"^% Group .* rebalanced .*: (assigned|revoked): ?(.*)$", re.MULTILINE
)
PARTITION: Final = re.compile(r"\[(\d+)\]")


def found_kcat() -> str | None:
    """Where it is, if it is installed."""
    return shutil.which("kcat")


class KcatMember(ClientMember):
    """A process that prints what it reads; it commits when it ends."""

    def __init__(self, *command: str) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the member
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._position = 0
        self._process = subprocess.Popen(  # noqa: S603 - a test's own command
            command, stdin=subprocess.DEVNULL, stdout=self._printed, stderr=self._said
        )

    @override
    def poll(self) -> list[tuple[int, bytes]]:
        time.sleep(LOOK_S)
        content = os.pread(self._printed.fileno(), 1 << 20, self._position)
        whole, end, _ = content.rpartition(b"\n")
        self._position += len(whole) + len(end)
        assert self._process.poll() is None, self._heard()
        found = (line.partition(b" ") for line in whole.splitlines())
        return [(int(partition), value) for partition, _, value in found]

    @override
    def assigned(self) -> set[int]:
        moves = REBALANCED.findall(self._heard())
        if not moves or moves[-1][0] == "revoked":
            return set()
        return set(map(int, PARTITION.findall(moves[-1][1])))

    def _heard(self) -> str:
        return os.pread(self._said.fileno(), 1 << 20, 0).decode(errors="replace")

    @override
    def commit(self) -> None:
        """It does when it ends."""

    @override
    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._printed.close()
            self._said.close()


class KcatLibrary(ClientLibrary):
    """Every call starts it, except that a member goes on."""

    def _run(self, *options: str, given: bytes = b"") -> bytes:
        ended = subprocess.run(  # noqa: S603 - a test's own command
            self._command(*options),
            input=given,
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert ended.returncode == 0, ended.stderr.decode(errors="replace")
        return ended.stdout

    def _command(self, *options: str) -> list[str]:
        kcat = found_kcat()
        assert kcat is not None, "the fixture has looked"
        # -E: that a broker is down is no reason to end.
        return [kcat, "-b", self._bootstrap, "-E", *options]

    @override
    def topics(self) -> dict[str, int]:
        described = json.loads(self._run("-L", "-J"))
        return {each["topic"]: len(each["partitions"]) for each in described["topics"]}

    @override
    def produce(
        self,
        topic: str,
        values: Iterable[bytes],
        *,
        partition: int = 0,
        compression: str = "none",
        is_idempotent: bool = False,
    ) -> None:
        settings = ("-X", "acks=all", "-X", f"enable.idempotence={str(is_idempotent).lower()}")
        codec = () if compression == "none" else ("-z", compression)
        self._run(
            *("-P", "-t", topic, "-p", str(partition), *codec, *settings),
            given=b"".join(value + b"\n" for value in values),
        )

    @override
    def read(self, topic: str, count: int) -> list[bytes]:
        place = ("-t", topic, "-p", "0", "-o", "beginning")
        return self._run("-C", *place, "-c", str(count), "-X", "check.crcs=true").splitlines()

    @override
    def join(self, group: str, topic: str) -> ClientMember:
        settings = {
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "session.timeout.ms": SESSION_MS,
        }
        given = (part for key, value in settings.items() for part in ("-X", f"{key}={value}"))
        return KcatMember(*self._command("-u", "-f", "%p %s\n", *given, "-G", group, topic))
