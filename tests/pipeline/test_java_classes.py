"""What Java has loaded is kept for the next time, and never in anybody's way (Q9)."""

import shutil
import subprocess
from pathlib import Path

import pytest

from regent.pipeline import java_classes

pytestmark = pytest.mark.requirement("Q9")

MAKES = "-XX:ArchiveClassesAtExit="
USES = "-XX:SharedArchiveFile="


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "regent"


def java(*options: str) -> str:
    """What Java says of itself when it is started like this."""
    command = [shutil.which("java") or "", *options, "-version"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    assert not done.stdout
    return done.stderr


def test_the_first_java_writes_what_the_second_uses(cache: Path) -> None:
    first = java_classes.options_for("light")
    assert first.startswith(MAKES)
    java(*first.split())
    (archive,) = cache.iterdir()

    second = java_classes.options_for("light")

    assert second.split()[0] == f"{USES}{archive}"
    # With this, a Java that cannot use the archive does not start at all.
    assert "sharing" in java(*second.split(), "-Xshare:on")


def test_each_purpose_has_its_own(cache: Path) -> None:
    java(*java_classes.options_for("light").split())

    assert java_classes.options_for("full").startswith(f"{MAKES}{cache}")


def test_one_that_breaks_off_is_made_anew(cache: Path) -> None:
    java(*java_classes.options_for("light").split())
    (archive,) = cache.iterdir()
    archive.chmod(0o600)
    archive.write_bytes(bytes(100_000))

    assert java_classes.options_for("light").startswith(MAKES)


def test_without_a_place_for_it_java_starts_as_always(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert not java_classes.options_for("light")
