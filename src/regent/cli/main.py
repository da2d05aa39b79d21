"""The command line. It turns what a person typed into calls, and what went wrong into sentences.

Each command is a module of this room, and only the one that was asked for is imported: a broker
need not wait for the simulator.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Final

import typer

from regent.cli.printing import VERSION
from regent.errors import RegentError

#: In the order in which `regent --help` shows them. The module of that name has a function of that
#: name, or an `app` with commands of its own.
# fmt: off
COMMANDS: Final = (
    "demo", "up", "down",
    "status", "snapshot", "what-if", "blast-radius",
    "simulate", "zookeeper", "node",
    "brokers", "controller", "topics", "reassign", "elect", "loads", "plan", "pipeline",
)
# fmt: on
#: What sysexits.h calls a command that was used wrongly. Typer's 2 means something else here.
EXIT_USAGE: Final = 64
EXIT_INTERRUPTED: Final = 130

#: What typer raises for a wrong option; it has moved between typer's releases.
_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"regent {VERSION}")
        raise typer.Exit


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


def to_app(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """The front door with these commands and no others."""
    app = typer.Typer(
        name="regent",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(regent)
    for command in commands:
        name = command.replace("-", "_")
        module = import_module(f"regent.cli.{name}")
        group = getattr(module, "app", None)
        if group is None:
            app.command()(getattr(module, name))
        else:
            app.add_typer(group)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    # Whoever asks for help, or for something that is not there, is shown all there is.
    asked = [word for word in words[:1] if word in COMMANDS]
    try:
        code = to_app(asked or COMMANDS)(
            args=words,
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
