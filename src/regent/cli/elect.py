"""`regent elect`: have leaders elected now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from regent.cli.bootstrap import (
    EXIT_CODES,
    BootstrapOption,
    JsonOption,
    TimeoutOption,
    connected,
)
from regent.cli.election_file import read_partitions
from regent.cli.outcomes import report, to_outcomes
from regent.cli.printing import stdout
from regent.errors import BadInput
from regent.model.admin_requests import ElectionType
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

if TYPE_CHECKING:
    from regent.client.admin import Admin

app = typer.Typer(
    name="elect",
    help="Have leaders elected: the preferred ones, or any for partitions that nobody leads.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# fmt: off
TopicOption: TypeAlias = Annotated[
    str | None, typer.Option(metavar="T", help="All partitions of a topic.")
]
PartitionOption: TypeAlias = Annotated[
    list[int] | None,
    typer.Option(min=0, metavar="P", help="Only this partition of the topic. May be repeated."),
]
AllOption: TypeAlias = Annotated[
    bool, typer.Option("--all", help="All partitions of the cluster that can use it.")
]
FileOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Partitions as JSON, as kafka-leader-election takes it."),
]
# fmt: on


@app.command(epilog=EXIT_CODES)
def preferred(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    bootstrap: BootstrapOption,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    all_partitions: AllOption = False,
    file: FileOption = None,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Make the first replica of each partition its leader, if it is in sync."""
    chosen = _choose(topic, partition, file, all_partitions=all_partitions)
    with connected(bootstrap, timeout_s) as admin:
        _elect(admin, ElectionType.PREFERRED, chosen, as_json=as_json)


@app.command(epilog=EXIT_CODES)
def unclean(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    bootstrap: BootstrapOption,
    topic: TopicOption = None,
    partition: PartitionOption = None,
    all_partitions: AllOption = False,
    file: FileOption = None,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Let a live replica lead partitions that nobody leads, even one that was not in sync.

    Records that only the others had are lost. Partitions that are led are left alone.
    """
    chosen = _choose(topic, partition, file, all_partitions=all_partitions)
    with connected(bootstrap, timeout_s) as admin:
        _elect(admin, ElectionType.UNCLEAN, chosen, as_json=as_json)


#: The topic whose partitions are all meant, the partitions themselves, or None for all there are.
Chosen: TypeAlias = str | tuple[TopicPartition, ...] | None


def _choose(
    topic: str | None, partitions: list[int] | None, file: Path | None, *, all_partitions: bool
) -> Chosen:
    ways = sum((topic is not None, file is not None, all_partitions))
    if ways != 1 or (partitions and topic is None):
        raise BadInput(
            "say for which partitions, in one way: --topic T, --topic T --partition P, --file FILE"
            " or --all"
        )
    if file is not None:
        return read_partitions(file)
    if topic is not None and partitions:
        return tuple(TopicPartition(topic, number) for number in dict.fromkeys(partitions))
    return topic


def _elect(admin: "Admin", election: ElectionType, chosen: Chosen, *, as_json: bool) -> None:
    if isinstance(chosen, str):
        chosen = _partitions_of(admin, chosen)
    results = admin.elect(election, chosen)
    if not results and not as_json:
        stdout().print("no partition needs an election")
        return
    outcomes = to_outcomes(
        results, done="elected", content_with={ErrorCode.ELECTION_NOT_NEEDED: "not needed"}
    )
    report("Elections", outcomes, as_json=as_json)


def _partitions_of(admin: "Admin", topic: str) -> tuple[TopicPartition, ...]:
    """All of them; of a topic that is not there the first, so that the refusal is Kafka's."""
    names = tuple(partition.name for partition in admin.describe([topic]).partitions())
    return names or (TopicPartition(topic, 0),)
