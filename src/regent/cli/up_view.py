"""How a cluster of `regent up` is, again and again: a table on a terminal, lines elsewhere."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from regent.client.seen import ClusterSeen, PartitionSeen
from regent.client.status import BrokerStatus, ClusterStatus, to_status
from regent.testing.broker_process import BrokerProcess
from regent.testing.cluster import LocalCluster

LOOK_EVERY_S: Final = 0.5
#: More rows than these push the brokers off a screen.
PARTITIONS_SHOWN: Final = 16
STYLES: Final[Mapping[str, str]] = {"running": "green", "paused": "yellow", "down": "red"}


def show_until(
    enough: threading.Event, cluster: LocalCluster, keep: Callable[[], None], console: Console
) -> None:
    """Look, keep what is to be kept, show; until it is enough."""
    if not console.is_terminal:
        return _print_changes(enough, cluster, keep, console)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        while not enough.wait(LOOK_EVERY_S):
            keep()
            live.update(picture(_brokers_of(cluster), cluster.seen()), refresh=True)
    return None


def _print_changes(
    enough: threading.Event, cluster: LocalCluster, keep: Callable[[], None], console: Console
) -> None:
    told: dict[str, str] = {}
    while True:
        keep()
        for about, line in sentences(_brokers_of(cluster), cluster.seen()):
            if told.get(about) != line:
                told[about] = line
                console.print(line)
        if enough.wait(LOOK_EVERY_S):
            return


def sentences(
    brokers: Sequence[BrokerProcess], seen: ClusterSeen | None
) -> Iterator[tuple[str, str]]:
    """What there is to say, each with what it is about."""
    for broker in brokers:
        where = f"broker {broker.broker_id} at {broker.address}"
        yield where, f"{where}: {broker.condition.value}"
    if seen is None:
        yield "partitions", "no broker answers"
        return
    status = _to_status(seen)
    controller = "nobody" if status.controller_id is None else f"broker {status.controller_id}"
    yield "controller", f"controller: {controller}"
    yield "partitions", _summary(status)


def picture(brokers: Sequence[BrokerProcess], seen: ClusterSeen | None) -> RenderableType:
    """The brokers, what is wrong, and the partitions, as far as there is room."""
    if seen is None:
        return Group(_brokers_table(brokers, None), Text("no broker answers", style="red"))
    status = _to_status(seen)
    is_well = not status.offline and not status.under_replicated
    partitions = list(seen.partitions())
    more = len(partitions) - PARTITIONS_SHOWN
    return Group(
        _brokers_table(brokers, status),
        Text(_summary(status), style="green" if is_well else "yellow"),
        *([_partitions_table(partitions[:PARTITIONS_SHOWN])] if partitions else []),
        *([Text(f"and {more} more", style="dim")] if more > 0 else []),
    )


def _brokers_table(brokers: Sequence[BrokerProcess], status: ClusterStatus | None) -> Table:
    known: dict[int, BrokerStatus] = {}
    if status is not None:
        known.update((each.broker_id, each) for each in status.brokers)
    table = Table("broker", "address", "rack", "process", "state", "leads", "replicas", "")
    for broker in brokers:
        condition = broker.condition.value
        told = known.get(broker.broker_id)
        table.add_row(
            str(broker.broker_id),
            broker.address,
            broker.rack or "",
            str(broker.pid or ""),
            Text(condition, style=STYLES[condition]),
            "" if told is None else str(told.leader_count),
            "" if told is None else str(told.replica_count),
            "controller" if told is not None and told.is_controller else "",
        )
    return table


def _partitions_table(partitions: Sequence[PartitionSeen]) -> Table:
    table = Table("partition", "leader", "replicas", "in sync")
    for each in partitions:
        is_short = len(each.isr) < len(each.replicas)
        table.add_row(
            str(each.name),
            str(each.leader) if each.has_leader else Text("none", style="red"),
            ",".join(map(str, each.replicas)),
            Text(",".join(map(str, each.isr)), style="yellow" if is_short else ""),
        )
    return table


def _summary(status: ClusterStatus) -> str:
    return (
        f"{status.topic_count} topics, {status.partition_count} partitions:"
        f" {len(status.offline)} offline, {len(status.under_replicated)} under-replicated"
    )


def _brokers_of(cluster: LocalCluster) -> list[BrokerProcess]:
    return [cluster.broker(broker_id) for broker_id in cluster.broker_ids]


def _to_status(seen: ClusterSeen) -> ClusterStatus:
    return to_status(seen, moving=None, min_isr=None)
