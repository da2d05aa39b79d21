"""A real Apache ZooKeeper as a child process, for tests, for trying out, and for benchmarks.

It listens on 127.0.0.1 only and keeps its znodes in a folder of its own. It is ready when it has
completed a session, because a port that is open says little. It dies with its parent, whatever the
parent dies of.
"""

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from regent.errors import BadInput, RegentError
from regent.zookeeper.embedded_java import find_jars, find_java
from regent.zookeeper.handshake import dial, say_goodbye, shake_hands
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.tied_process import TiedProcess, pause_child

HOST: Final = "127.0.0.1"
_MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
#: Somebody else may take a free port between our finding it and the server's binding it.
_PORT_TRIES: Final = 5
_LOOK_EVERY_S: Final = 0.02


class EmbeddedSettings(Struct, frozen=True, kw_only=True):
    """How the server runs. The defaults are for small clusters that start quickly."""

    #: Sessions can be as short as two of these.
    tick_ms: int = 250
    session_timeout_ms_max: int = 60_000
    heap_mb: int = 256
    #: The full compiler needs longer to warm up and is faster then.
    compiles_fully: bool = False
    #: Without it, a crash of the machine loses what was just written.
    syncs_to_disk: bool = True
    ready_within_s: float = 60.0
    #: Further lines for `zoo.cfg`, such as those of TLS.
    extra: Mapping[str, str] = {}
    #: Further system properties, such as `jute.maxbuffer`.
    properties: Mapping[str, str] = {}


class EmbeddedZooKeeper:
    """One server; started by `start` or by entering the context."""

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        port: int = 0,
        settings: EmbeddedSettings | None = None,
    ) -> None:
        """Without a folder, one is made and removed again; port 0 means any that is free."""
        self._given_dir = data_dir
        self._made_dir: tempfile.TemporaryDirectory[str] | None = None
        self._wanted_port = port
        self._settings = settings or EmbeddedSettings()
        self._port = 0
        self._output = Path(os.devnull)
        self._child: TiedProcess | None = None

    @property
    def port(self) -> int:
        """Where it listens; the same after a restart."""
        return self._port

    @property
    def address(self) -> str:
        """For `ZooKeeperOptions.connect`."""
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int:
        """The Java process."""
        return self._running().process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there, paused or not."""
        return self._child is not None and self._child.is_running

    # --- its life -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start and wait until a session can be had; a failure leaves nothing behind."""
        assert self._child is None, "it is started once at a time"
        try:
            self._start()
        except BaseException:
            self.kill()
            self._remove_made_dir()
            raise

    def _start(self) -> None:
        fixed_port = self._wanted_port or self._port
        command = [str(find_java()), *self._java_options(), _MAIN_CLASS]
        for _ in range(1 if fixed_port else _PORT_TRIES):
            port = fixed_port or free_port()
            if not _is_free(port):
                continue
            folder = self._folder()
            config = _write_config(folder, port, self._settings)
            self._output = folder / "zookeeper.out"
            self._output.unlink(missing_ok=True)
            self._child = TiedProcess(
                "ZooKeeper", [*command, str(config)], self._output, environment=_environment()
            )
            self._port = port
            try:
                return self._wait_until_ready()
            except RegentError:
                self.kill()
                if fixed_port or _is_free(port):
                    raise
                self._port = 0
        raise BadInput(f"port {fixed_port} of {HOST} is in use; name another")

    def stop(self) -> None:
        """End it in order and wait for its end; what it keeps stays in its folder."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it again on the same port with the same znodes."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Fall silent, as a server does whose machine hangs; connections stay open."""
        pause_child(self.pid)

    def resume(self) -> None:
        """Go on after `pause`."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> int:
        """Until it ends by itself; its exit code."""
        return self._running().process.wait()

    def close(self) -> None:
        """Stop it, and remove the folder if it was made for it."""
        self.stop()
        self._remove_made_dir()

    def _remove_made_dir(self) -> None:
        if self._made_dir is not None:
            self._made_dir.cleanup()
            self._made_dir = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- inside -------------------------------------------------------------------------------

    def _running(self) -> TiedProcess:
        if self._child is None:
            raise RegentError("the embedded ZooKeeper is not running")
        return self._child

    def _folder(self) -> Path:
        if self._given_dir is None:
            if self._made_dir is None:
                self._made_dir = tempfile.TemporaryDirectory(prefix="regent-zookeeper-")
            return Path(self._made_dir.name)
        try:
            self._given_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{self._given_dir} cannot be used as a folder: {error}") from error
        return self._given_dir

    def _java_options(self) -> list[str]:
        settings = self._settings
        quick = [] if settings.compiles_fully else ["-XX:TieredStopAtLevel=1"]
        sync = "yes" if settings.syncs_to_disk else "no"
        return [
            *quick,
            "-XX:+UseSerialGC",
            f"-Xmx{settings.heap_mb}m",
            f"-Dzookeeper.forceSync={sync}",
            *(f"-D{name}={value}" for name, value in settings.properties.items()),
            "-cp",
            os.pathsep.join(map(str, find_jars())),
        ]

    def _wait_until_ready(self) -> None:
        child = self._running()
        options = ZooKeeperOptions(connect=self.address)
        deadline = monotonic() + self._settings.ready_within_s
        while monotonic() < deadline:
            if child.process.poll() is not None:
                raise RegentError(
                    f"ZooKeeper ended with code {child.process.returncode} before it was ready; "
                    f"it said: {_last_words(self._output) or 'nothing'}"
                )
            try:
                with dial(options, (HOST, self._port), 1.0) as connection:
                    shake_hands(connection)
                    return say_goodbye(connection)
            except OSError:
                sleep(_LOOK_EVERY_S)
        raise RegentError(
            f"ZooKeeper was not ready on {self.address} within {self._settings.ready_within_s:g} s"
        )

    def _end(self, how: signal.Signals) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end(how)


def _last_words(output: Path) -> str:
    """What it had to complain about, on one line."""
    lines = output.read_text(errors="replace").splitlines()
    return " ".join(line.strip() for line in lines if "SLF4J" not in line)[:500]


def _write_config(folder: Path, port: int, settings: EmbeddedSettings) -> Path:
    config = {
        "dataDir": str(folder / "znodes"),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "tickTime": str(settings.tick_ms),
        "maxSessionTimeout": str(settings.session_timeout_ms_max),
        "maxClientCnxns": "0",
        "admin.enableServer": "false",
        "autopurge.purgeInterval": "1",
        **settings.extra,
    }
    path = folder / "zoo.cfg"
    lines = (f"{name}={to_property(value)}\n" for name, value in config.items())
    path.write_text("".join(lines), encoding="ascii")
    return path


def to_property(value: str) -> str:
    """As `java.util.Properties` wants it, which takes every byte for a letter of Latin-1."""
    return "".join(
        "\\\\" if letter == "\\" else letter if " " <= letter <= "~" else _in_utf_16(letter)
        for letter in value
    )


def _in_utf_16(letter: str) -> str:
    r"""One `\uXXXX`, or two outside the basic plane; half a pair is a byte that is no UTF-8."""
    code = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))


def _environment() -> dict[str, str]:
    """Ours; file names are spelt as we spell them, whatever language the terminal is set to."""
    is_utf_8 = sys.getfilesystemencoding() == "utf-8"
    return {**os.environ, **({"LC_ALL": "C.UTF-8"} if is_utf_8 else {})}


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the server does it: ports of connections that have just ended may be taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
