"""What a cluster stands on: a folder for all that it writes, and a ZooKeeper.

Both are given, or made and removed again.
"""

import tempfile
from pathlib import Path

from regent.errors import BadInput
from regent.testing.shared_zookeeper import fresh_chroot
from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.options import ZooKeeperOptions


class ClusterHome:
    """From `open` to `close`; what was given a folder keeps it."""

    def __init__(self, data_dir: Path | None, zookeeper: str | None) -> None:
        self._given_dir = data_dir
        self._given_zookeeper = zookeeper
        self._made_dir: tempfile.TemporaryDirectory[str] | None = None
        self._server: EmbeddedZooKeeper | None = None
        #: There is none before `open`.
        self.zookeeper = ZooKeeperOptions(connect="127.0.0.1:1")

    @property
    def is_kept(self) -> bool:
        """Whether what is written there is still there afterwards."""
        return self._given_dir is not None

    @property
    def is_deserted(self) -> bool:
        """Whether nobody can be registered there: the ZooKeeper has just been started for us."""
        return self._server is not None

    @property
    def folder(self) -> Path:
        """Where everything is written."""
        if self._given_dir is not None:
            return self._given_dir
        if self._made_dir is None:
            self._made_dir = tempfile.TemporaryDirectory(prefix="regent-cluster-")
        return Path(self._made_dir.name)

    @property
    def properties(self) -> Path:
        """The settings that all brokers read."""
        return self.folder / "server.properties"

    @property
    def journal_dir(self) -> Path:
        """Where the controllers write down what they decide, each in a folder of its own."""
        return self.folder / "journal"

    def furnish(self, properties: str) -> None:
        """Make the folder, and write the settings down."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.properties.write_text(properties, encoding="utf-8")
        except OSError as error:
            raise BadInput(f"{self.folder} cannot be used as a folder: {error}") from error

    def open(self) -> None:
        """Find a ZooKeeper, or start one."""
        self.zookeeper = ZooKeeperOptions(connect=self._find_zookeeper(), creates_chroot=True)

    def close(self) -> None:
        """End and remove what was made."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._made_dir is not None:
            self._made_dir.cleanup()
            self._made_dir = None

    def _find_zookeeper(self) -> str:
        if self._given_zookeeper is not None:
            return self._given_zookeeper
        if not self.is_kept:
            return fresh_chroot()
        self._server = EmbeddedZooKeeper(self.folder / "zookeeper")
        self._server.start()
        return self._server.address
