"""What every command that asks a live cluster has in common.

The client is imported when a cluster is asked, and not before: `regent --help` need not wait for
it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from regent.client.addresses import parse_bootstrap
from regent.client.patience import Patience
from regent.errors import ClusterUnreachable, NotSupported, RequestRefused

if TYPE_CHECKING:
    from regent.client.admin import Admin
    from regent.client.cluster import Cluster

#: Something was refused, or only a part was done; the output says what.
EXIT_REFUSED: Final = 1
#: What was asked about is still under way.
EXIT_UNDER_WAY: Final = 3
#: What sysexits.h calls a service that is not there.
EXIT_UNREACHABLE: Final = 69

_CODES: Final = (
    "0 done, 1 refused or done in part",
    "64 the command or a file makes no sense, 69 nobody there could be asked",
)
EXIT_CODES: Final = f"Exit codes: {', '.join(_CODES)}."
EXIT_CODES_UNDER_WAY: Final = f"Exit codes: {', 3 something is still moving, '.join(_CODES)}."

# fmt: off
BootstrapOption: TypeAlias = Annotated[
    str, typer.Option(metavar="HOST:PORT,...", help="Brokers to begin with; one live one will do."),
]
OptionalBootstrapOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT,...", help="Brokers to begin with; one live one will do."),
]
TimeoutOption: TypeAlias = Annotated[
    float,
    typer.Option(min=0.05, max=3600, metavar="S", help="How long a broker may take to answer."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# fmt: on


@contextmanager
def connected(bootstrap: str, timeout_s: float) -> Iterator["Admin"]:
    """What can be wished of a cluster, for the length of a command."""
    from regent.client.admin import Admin  # noqa: PLC0415

    with asking(bootstrap, timeout_s) as cluster:
        yield Admin(cluster)


@contextmanager
def asking(bootstrap: str, timeout_s: float) -> Iterator["Cluster"]:
    """A cluster for the length of a command; what it cannot do ends the command with a sentence."""
    from regent.client.cluster import Cluster  # noqa: PLC0415

    addresses = parse_bootstrap(bootstrap)
    try:
        with Cluster(addresses, Patience(answer_s=timeout_s)) as cluster:
            yield cluster
    except ClusterUnreachable as error:
        complain(str(error))
        raise typer.Exit(EXIT_UNREACHABLE) from error
    except (NotSupported, RequestRefused) as error:
        complain(str(error))
        raise typer.Exit(EXIT_REFUSED) from error


def complain(message: str) -> None:
    """One sentence, where all complaints go."""
    print(f"regent: {message}", file=sys.stderr)
