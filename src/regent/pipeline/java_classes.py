"""What Java has loaded once, kept for the next time.

Half of a small run is Java reading and checking the classes of Spark. Java can keep them, as it has
them in memory, in an archive that it writes when it ends and maps when it starts. The first run
writes one into the cache of the user; all others are faster for it, and nothing else changes: an
archive that does not fit is passed over by Java itself.
"""

import os
import shutil
from contextlib import suppress
from hashlib import md5
from pathlib import Path
from typing import Final

import pyspark

#: Java writes the beginning of an archive last, so one that breaks off begins with nothing.
MAGIC_BYTES: Final = 4
#: What cannot be kept is no concern of whoever reads the terminal.
QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"


def options_for(purpose: str) -> str:
    """The options with which Java uses the archive for this purpose, or else makes it."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser(), "regent")
    archive = folder / f"java-{purpose}-{_fingerprint()}.jsa"
    if _is_whole(archive):
        return f"-XX:SharedArchiveFile={archive} {QUIET}"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        return f"-XX:ArchiveClassesAtExit={archive} {QUIET}"
    return ""


def _is_whole(archive: Path) -> bool:
    with suppress(OSError), archive.open("rb") as file:
        return any(file.read(MAGIC_BYTES))
    return False


def _fingerprint() -> str:
    """An archive fits one Java and one Spark, in one place."""
    home = os.environ.get("JAVA_HOME")
    java = Path(shutil.which("java", path=f"{home}/bin" if home else None) or "java").resolve()
    jars = Path(pyspark.__file__).parent / "jars"
    marks = [str(mark) for path in (java, jars) for mark in (path, _modified_ns(path))]
    return md5(" ".join(marks).encode(), usedforsecurity=False).hexdigest()[:12]


def _modified_ns(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0
