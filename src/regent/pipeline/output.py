"""The folder that a run writes its tables to: whole, or not at all.

Tables are written beside the finished ones and moved into place when all of them are there. While
that goes on `_regent.json` says that the folder is unfinished; whoever reads it looks there first,
so a run that was killed leaves either the old tables or a folder that says that it has none.

Files get plain names in the order that Spark wrote them, so that equal results are equal bytes.
"""

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from regent.errors import BadInput
from regent.pipeline.inputs import InputFile

MANIFEST: Final = "_regent.json"
MANIFEST_VERSION: Final = 1
LOCK: Final = ".lock"
STAGING: Final = ".staging"
#: What `regent pipeline watch` keeps here is not a run's to touch.
LIVE: Final = "live"


class Counts(Struct, frozen=True):
    """What became of the lines; nothing is ever lost between them."""

    lines_in: int = 0
    parsed: int = 0
    quarantined: int = 0


class Manifest(Struct, frozen=True):
    """What a folder holds, and what it was made from."""

    version: int = MANIFEST_VERSION
    finished: bool = False
    #: Whatever changes the result beside the input: limits, names, zones, and Regent's version.
    options: dict[str, Any] = {}
    inputs: tuple[InputFile, ...] = ()
    counts: Counts = Counts()
    #: Rows by table.
    tables: dict[str, int] = {}


class OutputFolder:
    """One folder of tables."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder against other runs, and make sure that it is ours to write in."""
        self._refuse_strangers()
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            lock = (self.directory / LOCK).open("w")
        except OSError as error:
            raise BadInput(
                f"cannot write tables to {self.directory}: {error.strerror}; choose another --out"
            ) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise BadInput(
                    f"another run is writing to {self.directory}; wait for it, or choose another"
                    " --out"
                ) from error
            shutil.rmtree(self.directory / STAGING, ignore_errors=True)
            try:
                yield
            finally:
                shutil.rmtree(self.directory / STAGING, ignore_errors=True)

    def _refuse_strangers(self) -> None:
        if self.directory.exists() and not self.directory.is_dir():
            raise BadInput(f"{self.directory} is a file; give --out a directory")
        if not self.directory.is_dir() or (self.directory / MANIFEST).exists():
            return
        strangers = sorted(
            path.name for path in self.directory.iterdir() if path.name not in {LOCK, STAGING, LIVE}
        )
        if strangers:
            raise BadInput(
                f"{self.directory} holds something else ({strangers[0]}, for one) and nothing that"
                " Regent wrote; choose an empty or new directory for --out"
            )

    def manifest(self) -> Manifest | None:
        """What the folder says of itself; None for a new one."""
        path = self.directory / MANIFEST
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Manifest)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise BadInput(
                f"{path} cannot be read ({error}); remove {self.directory} and run again"
            ) from error
        if found.version != MANIFEST_VERSION:
            raise BadInput(
                f"{path} has version {found.version} and this Regent writes {MANIFEST_VERSION};"
                f" remove {self.directory}, or choose another --out"
            )
        return found

    def write_manifest(self, manifest: Manifest) -> None:
        """Say what the folder holds, in one step."""
        draft = self.directory / f"{MANIFEST}.new"
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        draft.replace(self.directory / MANIFEST)

    # --- tables beside the finished ones ------------------------------------------------------

    def begin(self, name: str) -> None:
        """An empty table, to be added to."""
        self._staged(name).mkdir(parents=True, exist_ok=True)

    def stage(self, name: str, table: DataFrame, *, partition_by: str | None = None) -> None:
        """Write a whole table."""
        _write(table, self._staged(name), partition_by)
        tidy(self._staged(name))

    def add(self, name: str, table: DataFrame, *, partition_by: str) -> None:
        """Write parts of a table that has none of these parts yet."""
        addition = self._staged(f"{name}.addition")
        _write(table, addition, partition_by)
        tidy(addition)
        for part in addition.glob(f"{partition_by}=*"):
            part.rename(self._staged(name) / part.name)

    def drop(self, name: str, parts: Iterable[str]) -> None:
        """Take parts out again."""
        for part in parts:
            shutil.rmtree(self._staged(name) / part, ignore_errors=True)

    def take_over(self, name: str, parts: Iterable[str]) -> None:
        """Use parts of the finished table once more, without copying them."""
        for part in parts:
            if (self.directory / name / part).is_dir():
                shutil.copytree(
                    self.directory / name / part, self._staged(name) / part, copy_function=os.link
                )

    def stage_links(self, name: str, of: str) -> None:
        """Another name for a staged table, at no cost."""
        shutil.copytree(self._staged(of), self._staged(name), copy_function=os.link)

    def read_staged(self, spark: SparkSession, name: str, schema: T.StructType) -> DataFrame:
        """A table that this run has written and not yet put in its place."""
        return read_parquet(spark, self._staged(name), schema)

    def staged_rows(self, name: str, part: str = "") -> int:
        """How many rows a staged table has, or a part of it; files know that without being read."""
        files = (self._staged(name) / part).rglob("*.parquet")
        return sum(parquet.read_metadata(file).num_rows for file in files)

    def _staged(self, name: str) -> Path:
        return self.directory / STAGING / name

    # --- finished tables ----------------------------------------------------------------------

    def publish(self, manifest: Manifest, beside: Iterable[str] = ()) -> None:
        """Put all staged tables in the place of those before, and say what there is now.

        `beside` are those that are kept for the next run and nobody is told about.
        """
        self.write_manifest(replace(manifest, finished=False))
        for gone in sorted(self._names() - set(manifest.tables)):
            shutil.rmtree(self.directory / gone)
        for name in [*manifest.tables, *beside]:
            shutil.rmtree(self.directory / name, ignore_errors=True)
            self._staged(name).rename(self.directory / name)
        self.write_manifest(manifest)

    def _names(self) -> set[str]:
        """The tables that are there now."""
        folders = (path.name for path in self.directory.iterdir() if path.is_dir())
        return {name for name in folders if not name.startswith(".") and name != LIVE}

    def finished(self) -> Manifest:
        """What there is to read, or a clear word on why there is nothing."""
        manifest = self.manifest()
        if manifest is None:
            raise BadInput(
                f"{self.directory} holds no tables; `regent pipeline run --out {self.directory}`"
                " makes them"
            )
        if not manifest.finished:
            raise BadInput(
                f"the tables in {self.directory} are not whole: the run that wrote them was"
                " interrupted; run it again"
            )
        return manifest

    def read(self, spark: SparkSession, name: str, schema: T.StructType) -> DataFrame:
        """A finished table."""
        return read_parquet(spark, self.directory / name, schema)


def read_parquet(spark: SparkSession, path: Path, schema: T.StructType) -> DataFrame:
    """A table on disk; an empty one has no file that could tell its schema."""
    return spark.read.schema(schema).parquet(str(path)).select(*schema.fieldNames())


def _write(table: DataFrame, path: Path, partition_by: str | None) -> None:
    writer = table.write.mode("overwrite")
    if partition_by is not None:
        writer = writer.partitionBy(partition_by)
    writer.parquet(str(path))


def tidy(path: Path) -> None:
    """Plain names, and nothing that only Spark's own file system would look at."""
    for folder in [path, *(each for each in path.rglob("*") if each.is_dir())]:
        for extra in [*folder.glob(".*.crc"), folder / "_SUCCESS"]:
            with suppress(FileNotFoundError):
                extra.unlink()
        for number, part in enumerate(sorted(folder.glob("part-*.parquet"))):
            part.rename(folder / f"part-{number:05d}.parquet")
