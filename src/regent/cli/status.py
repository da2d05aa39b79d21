"""`regent status`: how a cluster is, once or again and again."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Final, TypeAlias

import msgspec
import typer
from msgspec import Struct

from regent.cli.bootstrap import (
    JsonOption,
    OptionalBootstrapOption,
    TimeoutOption,
    complain,
    connected,
)
from regent.cli.live_cluster import read_live_status
from regent.cli.outcomes import print_as_json
from regent.cli.printing import print_table, stdout
from regent.cli.zookeeper_options import (
    CaOption,
    CertificateOption,
    KeyOption,
    ZooKeeperOption,
    onlooking,
    to_zookeeper_options,
)
from regent.client.status import ClusterStatus
from regent.errors import BadInput, ClusterUnreachable

#: So many partitions are named behind a count; `--json` has them all.
NAMES_MAX: Final = 5

#: Gives the status as it is now.
StatusSource: TypeAlias = Callable[[], ClusterStatus]


class WatchOptions(Struct, frozen=True):
    """How often to look, and how many times; None is without end."""

    interval_s: float
    count: int | None


def status(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    bootstrap: OptionalBootstrapOption = None,
    zookeeper: ZooKeeperOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again.")] = False,
    interval_s: Annotated[
        float, typer.Option(min=0.01, metavar="S", help="With --watch: how often to look.")
    ] = 2,
    count: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="With --watch: stop after so many looks.")
    ] = None,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
    ca_file: CaOption = None,
    certificate_file: CertificateOption = None,
    key_file: KeyOption = None,
) -> None:
    """Show the controller, the brokers, and the partitions that are not as they should be.

    What a broker does not tell is shown as not known, with a note. With --json and --watch each
    look is one line.

    Exit codes: 0 shown, 64 the command makes no sense, 69 nobody there could be asked.
    """
    options = WatchOptions(interval_s, count) if watch else None
    if bootstrap is not None and zookeeper is None:
        with connected(bootstrap, timeout_s) as admin:
            from regent.client.live_status import read_status  # noqa: PLC0415

            show_status(lambda: read_status(admin), options, as_json=as_json)
    elif zookeeper is not None and bootstrap is None:
        place = to_zookeeper_options(
            zookeeper, ca_file=ca_file, certificate_file=certificate_file, key_file=key_file
        )
        with onlooking(place) as session:
            show_status(lambda: read_live_status(session), options, as_json=as_json)
    else:
        raise BadInput("say whom to ask: --bootstrap HOST:PORT, or --zookeeper HOST:PORT")


def show_status(source: StatusSource, watch: WatchOptions | None, *, as_json: bool) -> None:
    """Print what a source says, once or as often as wanted; whoever watches waits out trouble."""
    if watch is None:
        _print(source(), as_json=as_json, is_one_of_many=False)
        return
    console = stdout()
    _print(source(), as_json=as_json, is_one_of_many=True)
    looks = 1
    while watch.count is None or looks < watch.count:
        time.sleep(watch.interval_s)
        looks += 1
        try:
            now = source()
        except ClusterUnreachable as error:
            complain(str(error))
            continue
        if console.is_terminal and not as_json:
            console.clear()
        _print(now, as_json=as_json, is_one_of_many=True)


def _print(now: ClusterStatus, *, as_json: bool, is_one_of_many: bool) -> None:
    if not as_json:
        print_status(now)
    elif is_one_of_many:
        print(msgspec.json.encode(now).decode(), flush=True)
    else:
        print_as_json(now)


def print_status(now: ClusterStatus) -> None:
    """For people."""
    console = stdout()
    epoch = "" if now.controller_epoch is None else f" in controller epoch {now.controller_epoch}"
    controller = "no controller" if now.controller_id is None else f"controller {now.controller_id}"
    console.print(f"cluster {now.cluster_id or 'without an id'}: {controller}{epoch}", style="bold")
    for note in now.notes:
        console.print(f"note: {note}", style="yellow")
    console.print()
    header = ("broker", "address", "rack", "replicas", "leaders", "preferred", "")
    print_table(console, f"Brokers ({len(now.brokers):,})", header, list(_broker_rows(now)))
    print_table(console, "Partitions", ("", "", ""), list(_figures(now)))


def _broker_rows(now: ClusterStatus) -> Iterator[tuple[str, ...]]:
    for broker in now.brokers:
        yield (
            str(broker.broker_id),
            f"{broker.host}:{broker.port}",
            broker.rack or "",
            f"{broker.replica_count:,}",
            f"{broker.leader_count:,}",
            f"{broker.preferred_count:,}",
            "controller" if broker.is_controller else "",
        )
    for broker_id in now.missing_brokers:
        yield (str(broker_id), "not alive", "", "", "", "", "")


def _figures(now: ClusterStatus) -> Iterator[tuple[str, str, str]]:
    yield "topics", f"{now.topic_count:,}", ""
    yield "partitions", f"{now.partition_count:,}", ""
    named = (
        ("without a leader", now.offline),
        ("under-replicated", now.under_replicated),
        ("under min ISR", now.under_min_isr),
        ("at min ISR", now.at_min_isr),
        ("not led by the first replica", now.not_preferred),
        ("being moved", now.reassigning),
        ("topics being deleted", now.deleting),
    )
    for label, names in named:
        if names is None:
            yield label, "not known", ""
            continue
        more = len(names) - NAMES_MAX
        shown = ", ".join(names[:NAMES_MAX])
        yield label, f"{len(names):,}", f"{shown} and {more:,} more" if more > 0 else shown
