"""`regent what-if`: ask a copy of a cluster what would happen, and change nothing."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from msgspec import Struct
from rich.console import Console

from regent.cli.live_cluster import take_snapshot
from regent.cli.printing import print_table, stderr, stdout
from regent.cli.shared_options import taking
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    onlooking,
    to_zookeeper_options,
)
from regent.dryrun.difference import PartitionChange
from regent.dryrun.loading import to_ids
from regent.dryrun.questions import (
    BrokersDie,
    BrokersReturn,
    BrokersShutDown,
    PartitionsMove,
    Question,
    TopicsAreDeleted,
)
from regent.dryrun.reassignment_file import read_reassignment
from regent.dryrun.run import DryRunAnswer, ask_what_if
from regent.dryrun.snapshot import Snapshot, read_snapshot
from regent.errors import BadInput
from regent.zookeeper.options import ZooKeeperOptions

#: Longer lists are cut on a screen; `--json` has everything.
ROWS_MAX: Final = 20
APIS: Final = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")


class WhatIf(Struct, frozen=True, kw_only=True):
    """The cluster, and what is to happen to its copy: all of it, in the order of `questions`."""

    snapshot: Annotated[
        Path | None,
        typer.Argument(metavar="SNAPSHOT", help="The cluster: a file from `regent snapshot`."),
    ] = None
    zookeeper: ZooKeeperOption = None
    shut_down: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="A broker asks to go, and goes. May be repeated."),
    ] = None
    broker_dies: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="A broker dies. May be repeated.")
    ] = None
    rack_dies: Annotated[
        list[str] | None,
        typer.Option(metavar="RACK", help="All brokers in a rack die. May be repeated."),
    ] = None
    broker_returns: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="A broker that is not alive comes back. May be repeated."),
    ] = None
    reassign: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Partitions move, as JSON of kafka-reassign-partitions says."
        ),
    ] = None
    delete_topic: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC", help="A topic goes. May be repeated.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False
    ca_file: CaOption = None
    certificate_file: CertificateOption = None
    key_file: KeyOption = None

    def questions(self) -> Iterator[Question]:
        """As the dry run wants them."""
        if self.shut_down:
            yield BrokersShutDown(to_ids(self.shut_down))
        if self.broker_dies or self.rack_dies:
            yield BrokersDie(to_ids(self.broker_dies or ()), tuple(self.rack_dies or ()))
        if self.broker_returns:
            yield BrokersReturn(to_ids(self.broker_returns))
        if self.reassign is not None:
            yield PartitionsMove(read_reassignment(self.reassign))
        if self.delete_topic:
            yield TopicsAreDeleted(tuple(self.delete_topic))

    def cluster(self) -> Snapshot:
        """Read from the file, or taken from what is alive."""
        if self.snapshot is not None and self.zookeeper is None:
            return read_snapshot(self.snapshot)
        if self.zookeeper is not None and self.snapshot is None:
            return _copy_of(
                to_zookeeper_options(
                    self.zookeeper,
                    ca_file=self.ca_file,
                    certificate_file=self.certificate_file,
                    key_file=self.key_file,
                )
            )
        raise BadInput("say which cluster: a file from `regent snapshot`, or --zookeeper HOST:PORT")


@taking(WhatIf)
def what_if(options: WhatIf) -> None:
    """Ask a copy of a cluster what would happen; nothing real is touched.

    The copy is a file, or with --zookeeper taken from a live cluster now. The controller's own
    procedures run on it. All that is asked happens in this order: brokers shut down, one by one;
    brokers and racks die, all at once; brokers come back; partitions move; topics are deleted.
    Brokers that are alive do as they are told, at once.

    Exit codes: 0 answered, 64 the command or a file makes no sense.
    """
    questions = list(options.questions())
    if not questions:
        raise BadInput(
            "nothing was asked; try --broker-dies 3, and --help shows what else there is"
        )
    answer = ask_what_if(options.cluster(), questions)
    if options.as_json:
        print(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
    else:
        _print_answer(answer, stdout())


def _copy_of(options: ZooKeeperOptions) -> Snapshot:
    with onlooking(options) as session:
        taken, left_out = take_snapshot(session)
    for each in left_out:
        stderr().print(f"left out: {each}", style="yellow")
    return taken


# --- for people -------------------------------------------------------------------------------


def _print_answer(answer: DryRunAnswer, console: Console) -> None:
    console.print(
        f"{answer.broker_count:,} brokers, {answer.topic_count:,} topics,"
        f" {answer.partition_count:,} partitions"
    )
    for question in answer.asked:
        console.print(f"what if {question}?", style="bold")
    for note in answer.notes:
        console.print(f"note: {note}", style="yellow")
    console.print()
    print_table(console, "In short", ("", "before", "after", "new", "over"), _figures(answer))
    offline = frozenset(answer.offline.new)
    lost = [change for change in answer.changes if str(change.name) in offline]
    _print_changes("Without a leader", lost, console)
    moved = [change for change in answer.changes if change.has_leader_moved]
    _print_changes("Leaders moved", moved, console)
    others = [
        change
        for change in answer.changes
        if str(change.name) not in offline and not change.has_leader_moved
    ]
    _print_changes("Other changes", others, console)
    if answer.requests:
        header = ("broker", *APIS)
        print_table(console, "Requests (partitions in them)", header, list(_requests(answer)))


def _figures(answer: DryRunAnswer) -> list[tuple[str, ...]]:
    shifts = (
        ("without a leader", answer.offline),
        ("under-replicated", answer.under_replicated),
        ("below min ISR", answer.below_min_isr),
    )
    rows: list[tuple[str, ...]] = [
        (name, f"{s.before:,}", f"{s.after:,}", f"{len(s.new):,}", f"{len(s.over):,}")
        for name, s in shifts
    ]
    counts = (
        ("leaders moved", answer.leaders_moved),
        ("ISRs changed", answer.isrs_changed),
        ("unclean elections", len(answer.unclean_elections)),
        ("still being moved", len(answer.still_moving)),
        ("topics still to be deleted", len(answer.still_deleting)),
    )
    return [*rows, *((name, "", f"{count:,}", "", "") for name, count in counts)]


def _print_changes(title: str, changes: Sequence[PartitionChange], console: Console) -> None:
    if not changes:
        return
    header = ("partition", "leader", "ISR", "replicas")
    rows = [_row(change) for change in changes[:ROWS_MAX]]
    print_table(console, f"{title} ({len(changes):,})", header, rows)
    if len(changes) > ROWS_MAX:
        console.print(f"  and {len(changes) - ROWS_MAX:,} more; --json has them all")
        console.print()


def _row(change: PartitionChange) -> tuple[str, ...]:
    if change.state_after is None:
        return (str(change.name), "the partition is deleted", "", "")
    return (
        str(change.name),
        _arrow(_leader(change.leader_before), _leader(change.leader_after)),
        _arrow(_members(change.isr_before), _members(change.isr_after)),
        _arrow(_members(change.replicas_before), _members(change.replicas_after)),
    )


def _leader(leader: int | None) -> str:
    return "none" if leader is None else str(leader)


def _members(members: Sequence[int]) -> str:
    return ",".join(map(str, members)) or "none"


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def _requests(answer: DryRunAnswer) -> Iterator[tuple[str, ...]]:
    tallies = {(each.broker_id, each.api): each for each in answer.requests}
    for broker_id in dict.fromkeys(each.broker_id for each in answer.requests):
        found = [tallies.get((broker_id, api)) for api in APIS]
        yield (
            str(broker_id),
            *("" if each is None else f"{each.requests:,} ({each.partitions:,})" for each in found),
        )
