"""`regent brokers`: what can be done to single brokers of a cluster that `regent up` runs."""

from typing import Annotated, Final, TypeAlias

import msgspec
import typer

from regent.cli.bootstrap import JsonOption
from regent.cli.printing import print_table, stderr, stdout
from regent.cli.up import DEFAULT_FOLDER, DataOption
from regent.errors import BadInput
from regent.testing.remote_control import NobodyThere, wish_for
from regent.testing.up_record import ControlAddress, UpRecord, read_record

HEADER: Final = ("broker", "address", "rack", "process", "state")

app = typer.Typer(name="brokers", help="List, kill, stop, start, pause and resume brokers.")

BrokerArgument: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="Which broker.")]


@app.command("list")
def list_brokers(data: DataOption = DEFAULT_FOLDER, as_json: JsonOption = False) -> None:
    """Say how the brokers are, whether the cluster is up or down."""
    record = _read(data)
    if record.control is not None:
        try:
            wish_for(record.control, "look")
        except NobodyThere:
            stderr().print(
                f"process {record.launcher_pid}, which runs this cluster, does not answer: it is"
                f" on its way down, or dead, and `regent down --data {data}` sees to the rest; as"
                " it was last:"
            )
        record = _read(data)
    if as_json:
        print(msgspec.json.format(msgspec.json.encode(record.brokers), indent=2).decode())
        return
    rows = [
        (str(each.broker_id), each.address, each.rack or "", str(each.pid or ""), each.condition)
        for each in record.brokers
    ]
    print_table(stdout(), f"brokers in {data}", HEADER, rows)


@app.command()
def kill(broker_id: BrokerArgument, data: DataOption = DEFAULT_FOLDER) -> None:
    """End a broker as a crash does, with kill -9."""
    _do("kill", broker_id, data, "is dead")


@app.command()
def stop(broker_id: BrokerArgument, data: DataOption = DEFAULT_FOLDER) -> None:
    """Stop a broker in order: it hands its leaderships over first."""
    _do("stop", broker_id, data, "has stopped")


@app.command()
def start(broker_id: BrokerArgument, data: DataOption = DEFAULT_FOLDER) -> None:
    """Start a broker that is down, with its id, port and data."""
    _do("start", broker_id, data, "is up again")


@app.command()
def pause(broker_id: BrokerArgument, data: DataOption = DEFAULT_FOLDER) -> None:
    """Make a broker fall silent, as a machine does that hangs."""
    _do("pause", broker_id, data, "is paused")


@app.command()
def resume(broker_id: BrokerArgument, data: DataOption = DEFAULT_FOLDER) -> None:
    """Let a paused broker go on."""
    _do("resume", broker_id, data, "goes on")


def _do(verb: str, broker_id: int, data: DataOption, done: str) -> None:
    wish_for(_control_of(_read(data), data), verb, broker_id)
    print(f"broker {broker_id} {done}")


def _control_of(record: UpRecord, data: DataOption) -> ControlAddress:
    if record.control is None:
        raise BadInput(f"the cluster in {data} is down; `regent up --data {data}` starts it")
    return record.control


def _read(data: DataOption) -> UpRecord:
    record = read_record(data.absolute())
    if record is None:
        raise BadInput(f"there is no cluster in {data}; --data names the folder of `regent up`")
    return record
