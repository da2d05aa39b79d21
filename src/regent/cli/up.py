"""`regent up`: a cluster on this machine, until Ctrl-C or `regent down`."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from msgspec.structs import replace

from regent.cli.printing import stdout
from regent.errors import BadInput
from regent.testing.leftovers import end_leftovers
from regent.testing.remote_control import RemoteControl
from regent.testing.up_lock import UpLock
from regent.testing.up_record import (
    BrokerRecord,
    ControlAddress,
    RecordNotKept,
    UpRecord,
    read_record,
    write_record,
)

if TYPE_CHECKING:
    from regent.testing.cluster import LocalCluster

DEFAULT_FOLDER: Final = Path("regent-data")
DEFAULT_PORT: Final = 9092
DEFAULT_BROKERS: Final = 3

# fmt: off
DataOption: TypeAlias = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="The cluster's folder."),
]
# fmt: on


def up(  # noqa: PLR0913, PLR0917 - a list of options
    brokers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many; as last time, or 3.")
    ] = None,
    racks: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Racks, given to the brokers in turn.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Of the first broker, the next one has the next; or 9092."
        ),
    ] = None,
    data: DataOption = DEFAULT_FOLDER,
    zookeeper: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT[/CHROOT]", help="One that runs already, instead of ours."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting under Kafka's name; may be repeated."),
    ] = None,
) -> None:
    """Run a Kafka cluster on this machine until Ctrl-C or `regent down`.

    What it stores stays in its folder and is there again at the next start; brokers keep their ids,
    ports and racks. `regent brokers` kills, stops and starts single ones from another terminal.
    Exit codes: 0 stopped, 64 the command makes no sense or the cluster cannot start.
    """
    from regent.testing.cluster import LocalCluster  # noqa: PLC0415

    folder = data.absolute()

    def draw_up(before: UpRecord | None) -> tuple[UpRecord, LocalCluster]:
        plan = plan_cluster(before, count=brokers, racks=racks, port=port, zookeeper=zookeeper)
        return plan, LocalCluster(
            brokers or (len(before.brokers) if before else DEFAULT_BROKERS),
            plan.racks,
            to_settings(config or ()),
            zookeeper=plan.zookeeper,
            data_dir=folder,
            base_port=plan.base_port,
        )

    # Once for its complaints: what makes no sense shall not leave a folder behind.
    draw_up(read_record(folder))
    with UpLock(folder) as lock:
        if not lock.take():
            raise BadInput(
                f"a cluster is up in {data} already, or on its way up or down"
                f" (process {lock.last_holder()}); `regent down --data {data}` stops it"
            )
        before = read_record(folder)
        if before is not None:
            end_leftovers(folder, before)
        _run(*draw_up(before), data, lock)


def _run(plan: UpRecord, cluster: "LocalCluster", data: Path, lock: UpLock) -> None:
    signal.signal(signal.SIGTERM, _interrupt)
    console = stdout()
    console.print(f"starting {len(cluster.broker_ids)} brokers in {data} ...")
    with cluster:
        _Upkeep(cluster, plan, data, lock).run()
        console.print("stopping all brokers, the controller last; Ctrl-C kills them ...")
        ended = record_of(cluster, plan)
    brokers = [_as_down(each) for each in ended.brokers]
    try:
        _keep(replace(ended, brokers=brokers), data, lock)
    except RecordNotKept as error:
        console.print(f"stopped, but {error}")
        return
    console.print(f"stopped. What was stored is in {data}; `regent up` starts it again.")


# --- before the start -----------------------------------------------------------------------------


def plan_cluster(
    before: UpRecord | None,
    *,
    count: int | None,
    racks: str | None,
    port: int | None,
    zookeeper: str | None,
) -> UpRecord:
    """What was typed, and for the rest what it was last time."""
    if before is not None and count is not None and count < len(before.brokers):
        raise BadInput(
            f"this cluster has {len(before.brokers)} brokers, and their replicas would be lost to"
            f" one of {count}; name another --data, or start all and move the replicas first"
        )
    names = [name.strip() for name in racks.split(",")] if racks else []
    if not all(names):
        raise BadInput(f"--racks {racks}: a rack has no name; write them like a,b,c")
    last = before or UpRecord(base_port=DEFAULT_PORT, racks=(), zookeeper=None, brokers=())
    return UpRecord(
        base_port=port or last.base_port,
        racks=names or last.racks,
        zookeeper=zookeeper or last.zookeeper,
        brokers=last.brokers,
    )


def to_settings(written: Iterable[str]) -> dict[str, str]:
    """Each `name=value`."""
    settings = {}
    for each in written:
        name, equals, value = each.partition("=")
        if not equals:
            raise BadInput(f"--config {each}: write it like num.partitions=3")
        settings[name.strip()] = value.strip()
    return settings


# --- while it is up -------------------------------------------------------------------------------


class _Upkeep:
    """Grants wishes, keeps the record, shows how it is."""

    def __init__(self, cluster: "LocalCluster", plan: UpRecord, data: Path, lock: UpLock) -> None:
        self._cluster = cluster
        self._plan = plan
        self._data = data
        self._folder_lock = lock
        self._enough = threading.Event()
        self._lock = threading.Lock()
        self._control = RemoteControl(self._verbs())
        self._saved: UpRecord | None = None

    def run(self) -> None:
        """Until somebody has had enough of it."""
        from regent.cli.up_view import show_until  # noqa: PLC0415 - it needs the client

        with self._control:
            self._save()
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, self._on_signal)
            console = stdout()
            console.print(f"bootstrap  {self._cluster.bootstrap}")
            console.print(f"zookeeper  {self._cluster.zookeeper}")
            console.print(f"stop it with Ctrl-C or: regent down --data {self._data}")
            show_until(self._enough, self._cluster, self._try_to_save, console)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """The first one stops the cluster; the next one interrupts that."""
        self._enough.set()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, _interrupt)

    def _verbs(self) -> dict[str, Callable[[int | None], None]]:
        cluster = self._cluster
        # fmt: off
        changes: dict[str, Callable[[int], None]] = {
            "kill":   cluster.kill,
            "stop":   cluster.stop,
            "start":  cluster.start,
            "pause":  cluster.pause,
            "resume": cluster.resume,
        }
        # fmt: on

        def granting(change: Callable[[int], None]) -> Callable[[int | None], None]:
            def grant(broker_id: int | None) -> None:
                if broker_id is None:
                    raise BadInput("say which broker")
                change(broker_id)
                self._try_to_save()

            return grant

        return {
            **{verb: granting(change) for verb, change in changes.items()},
            "look": lambda _: self._save(),
            "down": lambda _: self._enough.set(),
        }

    def _try_to_save(self) -> None:
        """A cluster does not end with its record, and what was done is done; who looks is told."""
        with suppress(RecordNotKept):
            self._save()

    def _save(self) -> None:
        """Both the control's thread and the one that shows keep the record."""
        with self._lock:
            record = record_of(self._cluster, self._plan, self._control.address)
            if record != self._saved:
                _keep(record, self._data, self._folder_lock)
                self._saved = record


def _keep(record: UpRecord, data: Path, lock: UpLock) -> None:
    """In a folder that was made anew under this name, somebody else may have a cluster by now."""
    if lock.is_deleted:
        raise RecordNotKept(f"{data} has been deleted, and what was stored there is gone")
    write_record(data.absolute(), record)


def record_of(
    cluster: "LocalCluster", plan: UpRecord, control: ControlAddress | None = None
) -> UpRecord:
    """The cluster as it is now."""
    brokers: Sequence[BrokerRecord] = [
        BrokerRecord(
            broker_id=broker.broker_id,
            address=broker.address,
            rack=broker.rack,
            condition=broker.condition.value,
            pid=broker.pid,
        )
        for broker in map(cluster.broker, cluster.broker_ids)
    ]
    pid = None if control is None else os.getpid()
    return replace(plan, brokers=brokers, control=control, launcher_pid=pid)


def _as_down(broker: BrokerRecord) -> BrokerRecord:
    return replace(broker, condition="down", pid=None)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
