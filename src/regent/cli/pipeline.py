"""`regent pipeline`: what happened, from journals or from the logs of real brokers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec import Struct
from msgspec.structs import astuple
from rich.console import Console

from regent.cli.pipeline_report import report
from regent.cli.pipeline_watch import watch
from regent.cli.printing import stdout
from regent.cli.shared_options import taking
from regent.cli.spark import MasterOption, need_spark
from regent.cli.wave_files import read_waves
from regent.errors import BadInput

if TYPE_CHECKING:
    from regent.pipeline.output import Manifest
    from regent.pipeline.run import Job

app = typer.Typer(
    name="pipeline",
    help="Turn journals and Kafka's own logs into tables that say what happened.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Paths = list[str] | None


class RunOptions(Struct, frozen=True, kw_only=True):
    """What `run` reads, what it looks for, and where it puts it."""

    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the tables go.")]
    more: Annotated[
        Paths,
        typer.Argument(metavar="[PATH]...", help="More of the one kind of source that is given."),
    ] = None
    journal: Annotated[
        Paths,
        typer.Option(metavar="PATH", help="Journals of Regent: files or directories."),
    ] = None
    state_change_log: Annotated[
        Paths,
        typer.Option(
            metavar="PATH",
            help="state-change.log and controller.log of Kafka 0.8 to 3.9, from any number of"
            " brokers: files, directories or patterns; rotated and gzipped ones too.",
        ),
    ] = None
    snapshots: Annotated[
        Paths,
        typer.Option(metavar="PATH", help="Snapshots of `regent snapshot`; several are a history."),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(help="The name of the cluster. Without it, the directory of each journal."),
    ] = None
    timezone: Annotated[
        str, typer.Option(help="The zone that brokers wrote their logs in, such as Europe/Berlin.")
    ] = "UTC"
    min_isr: Annotated[
        int, typer.Option(min=1, help="min.insync.replicas, where nothing else says it.")
    ] = 1
    offline_longer_than_s: Annotated[
        float, typer.Option(min=0, help="Nobody leading for longer is a finding.")
    ] = 30
    stuck_after_s: Annotated[
        float, typer.Option(min=0, help="A move or deletion without progress for longer is stuck.")
    ] = 600
    plan: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A reassignment, or a folder of `regent plan`: makes plan_vs_actual, which says"
            " what became of it. May be repeated.",
        ),
    ] = None
    master: MasterOption = "local[*]"
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False


@app.command()
@taking(RunOptions)
def run(options: RunOptions) -> None:
    """Make all tables from these sources; only files that have changed are read again.

    regent pipeline run --state-change-log logs/*/state-change.log* --out tables
    """
    sources = _sources(options)
    need_spark()
    from regent.pipeline.run import is_done  # noqa: PLC0415
    from regent.pipeline.run import run as make_tables  # noqa: PLC0415
    from regent.pipeline.session import session_for  # noqa: PLC0415

    job = _job(options, sources)
    with job.folder.held():
        before = job.folder.manifest()
        if before is not None and is_done(job):
            _tell(before, options.out, as_json=options.as_json, was_done=True)
            return
        with _progress(is_quiet=options.as_json) as advance:
            advance("starting Spark")
            with session_for(sum(file.bytes for file in job.inputs), options.master) as spark:
                manifest = make_tables(spark, job, advance)
    _tell(manifest, options.out, as_json=options.as_json, was_done=False)


app.command()(report)
app.command()(watch)


def _sources(options: RunOptions) -> dict[str, list[str]]:
    """The paths by the option they were given with.

    A shell that expands a pattern gives one path to the option and the rest to nobody.
    """
    given = {
        "--journal": list(options.journal or ()),
        "--state-change-log": list(options.state_change_log or ()),
        "--snapshots": list(options.snapshots or ()),
    }
    used = [option for option, paths in given.items() if paths]
    if not used:
        raise BadInput(
            "nothing to read: give --journal, --state-change-log or --snapshots, each with a path"
        )
    more = options.more or []
    if more and len(used) > 1:
        raise BadInput(
            f"it is not clear whether {more[0]} goes with {used[0]} or {used[1]}; repeat the option"
            " for each path, or put quotes around a pattern"
        )
    given[used[0]].extend(more)
    return given


def _job(options: RunOptions, sources: Mapping[str, Sequence[str]]) -> "Job":
    from regent.pipeline.ingest import ReadingOptions  # noqa: PLC0415
    from regent.pipeline.inputs import SourceKind, find_inputs  # noqa: PLC0415
    from regent.pipeline.output import OutputFolder  # noqa: PLC0415
    from regent.pipeline.run import Job  # noqa: PLC0415
    from regent.pipeline.settings import Settings  # noqa: PLC0415
    from regent.pipeline.sources.planned import PlannedReplicas  # noqa: PLC0415

    return Job(
        inputs=(
            *find_inputs(SourceKind.JOURNAL, sources["--journal"]),
            *find_inputs(SourceKind.LOG, sources["--state-change-log"]),
            *find_inputs(SourceKind.SNAPSHOT, sources["--snapshots"]),
        ),
        folder=OutputFolder(options.out),
        reading=ReadingOptions(options.cluster, options.timezone),
        limits=Settings(
            min_isr=options.min_isr,
            offline_longer_than_ms=round(options.offline_longer_than_s * 1000),
            stuck_after_ms=round(options.stuck_after_s * 1000),
        ),
        planned=tuple(
            PlannedReplicas(wave.path, *astuple(move.target))
            for wave in read_waves(options.plan or ())
            for move in wave.moves
        ),
    )


@contextmanager
def _progress(*, is_quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is being done, on a terminal; nothing for programs."""
    console = Console(stderr=True, quiet=is_quiet)
    began_s = time.monotonic()
    with console.status("") as status:

        def advance(what: str) -> None:
            status.update(f"{what} ({time.monotonic() - began_s:.0f} s)")

        yield advance


def _tell(manifest: "Manifest", out: Path, *, as_json: bool, was_done: bool) -> None:
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode())
        return
    console = stdout()
    counts = manifest.counts
    if was_done:
        console.print(f"nothing has changed since the tables in {out} were made", style="green")
    console.print(
        f"{counts.lines_in:,} lines in {len(manifest.inputs)} files: {counts.parsed:,} understood,"
        f" {counts.quarantined:,} in quarantine"
    )
    for name, rows in manifest.tables.items():
        console.print(f"  {name:<20}{rows:>12,}")
    console.print(f"see them with: regent pipeline report --tables {out}")
