"""The command line. It turns what a person typed into calls, and what went wrong into sentences."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Final

import typer

from regent.cli.blast_radius import blast_radius
from regent.cli.brokers import app as brokers
from regent.cli.controller import app as controller
from regent.cli.demo import demo
from regent.cli.down import down
from regent.cli.elect import app as elect
from regent.cli.node import node
from regent.cli.pipeline import app as pipeline
from regent.cli.pipeline_report import report
from regent.cli.pipeline_watch import watch
from regent.cli.plan import app as plan
from regent.cli.printing import VERSION
from regent.cli.reassign import app as reassign
from regent.cli.simulate import simulate
from regent.cli.snapshot import snapshot
from regent.cli.status import status
from regent.cli.topics import app as topics
from regent.cli.up import up
from regent.cli.what_if import what_if
from regent.cli.zookeeper import zookeeper
from regent.errors import RegentError

#: What sysexits.h calls a command that was used wrongly. Typer's 2 means something else here.
EXIT_USAGE: Final = 64
EXIT_INTERRUPTED: Final = 130

#: What typer raises for a wrong option; it has moved between typer's releases.
_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="regent",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"regent {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def regent(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Regent: a Kafka controller whose every decision is pure code.

    `regent demo` shows what it does; `regent up` starts a cluster, and `regent controller` leads
    one of others; `regent simulate` tries to break it; `regent what-if` asks a copy of a cluster
    what would happen.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


pipeline.command()(report)
pipeline.command()(watch)
# In the order in which `regent --help` shows them.
COMMANDS: Final = (
    *(demo, up, down),
    *(status, snapshot, what_if, blast_radius),
    *(simulate, zookeeper, node),
)
GROUPS: Final = (brokers, controller, topics, reassign, elect, plan, pipeline)
for command in COMMANDS:
    app.command()(command)
for group in GROUPS:
    app.add_typer(group)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    try:
        code = app(
            args=None if arguments is None else list(arguments),
            prog_name="regent",
            standalone_mode=False,
        )
    except _UsageError as error:
        message = _message_of(error)
        if message.startswith("Usage:"):  # Of a group without a command its help is all to say.
            print(message, file=sys.stderr)
        else:
            _complain(f"{message.rstrip('.')}; `regent --help` shows what there is")
        return EXIT_USAGE
    except RegentError as error:
        _complain(str(error))
        return EXIT_USAGE
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return EXIT_INTERRUPTED
    return code if isinstance(code, int) else 0


def _message_of(error: Exception) -> str:
    format_message: Callable[[], str] | None = getattr(error, "format_message", None)
    return str(error) if format_message is None else format_message()


def _complain(message: str) -> None:
    print(f"regent: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
