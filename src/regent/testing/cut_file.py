"""How a launcher tells a node which ports it must not reach, and hears that it is so.

A file, because it is there before the node starts, and after its death. It is replaced as a whole;
the node writes the number of what it has seen into a file beside it.
"""

from pathlib import Path

import msgspec
from msgspec import Struct


class Cuts(Struct, frozen=True):
    """What is forbidden, and the how many-eth order this is."""

    number: int = 0
    ports: frozenset[int] = frozenset()


class CutFile:
    """Both sides of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answer = path.with_name(f"{path.name}.seen")

    def order(self, ports: frozenset[int]) -> Cuts:
        """The launcher's: forbid these ports and no others, from now on."""
        cuts = Cuts(self.read().number + 1, ports)
        _replace(self.path, msgspec.json.encode(cuts))
        return cuts

    def read(self) -> Cuts:
        """The last order; without one, nothing is forbidden."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=Cuts)
        except FileNotFoundError:
            return Cuts()

    def confirm(self, cuts: Cuts) -> None:
        """The node's: this is so now."""
        _replace(self._answer, str(cuts.number).encode())

    def is_confirmed(self, cuts: Cuts) -> bool:
        """Whether the node has seen this order or a later one."""
        try:
            return int(self._answer.read_text()) >= cuts.number
        except (FileNotFoundError, ValueError):
            return False


def _replace(path: Path, content: bytes) -> None:
    """Readers see the old content or the new one."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)
