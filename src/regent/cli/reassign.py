"""`regent reassign`: move replicas of a live cluster, and see how far they are."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from msgspec import Struct

from regent.cli.bootstrap import (
    EXIT_CODES,
    EXIT_CODES_UNDER_WAY,
    EXIT_REFUSED,
    EXIT_UNDER_WAY,
    BootstrapOption,
    JsonOption,
    TimeoutOption,
    complain,
    connected,
)
from regent.cli.move_progress import move_progress
from regent.cli.outcomes import (
    ItemOutcome,
    print_as_json,
    print_outcomes,
    print_rows,
    report,
    to_outcomes,
)
from regent.cli.printing import stdout
from regent.cli.throttled_moves import (
    STAYS,
    PreserveOption,
    ThrottleOption,
    ThrottlesLifted,
    begin_moves,
    complain_of,
    lift_throttles,
    read_throttle,
)
from regent.cli.wave_files import read_waves, refuse_directories, targets_of
from regent.client.verification import Arrival, MoveChecked, say_ids
from regent.dryrun.reassignment_file import ReassignmentPlan
from regent.errors import BadInput
from regent.model.admin_requests import ReassignmentTarget
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

if TYPE_CHECKING:
    from regent.client.admin import Admin

app = typer.Typer(
    name="reassign",
    help="Move replicas of a live cluster: start, list, cancel, verify.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

#: In the order in which they matter to whoever waits.
ARRIVAL_EXITS: Final = {
    Arrival.NOT_AS_PLANNED: EXIT_REFUSED,
    Arrival.IN_PROGRESS: EXIT_UNDER_WAY,
    Arrival.DONE: 0,
}

# fmt: off
FilesArgument: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="JSON of kafka-reassign-partitions or `regent plan`; a folder of the latter stands"
        " for its waves.",
    ),
]
# fmt: on


class WaitOptions(Struct, frozen=True):
    """How to wait for a wave."""

    interval_s: float
    at_most_s: float | None


# --- start ------------------------------------------------------------------------------------


@app.command(epilog=EXIT_CODES_UNDER_WAY)
def start(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    files: FilesArgument,
    bootstrap: BootstrapOption,
    throttle: ThrottleOption = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait until all has arrived; a wave waits for the one before."),
    ] = False,
    interval_s: Annotated[
        float, typer.Option(min=0.01, metavar="S", help="With --wait: how often to look.")
    ] = 1,
    wait_at_most_s: Annotated[
        float | None,
        typer.Option(min=0, metavar="S", help="With --wait: leave after that; the moves go on."),
    ] = None,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Start moves, wave by wave if there are several files.

    A wave of which anything is refused, or does not arrive where it should, is the last one. With
    --wait, a throttle is removed when the moves have arrived; otherwise `verify` removes it.
    """
    bytes_per_s = read_throttle(throttle)
    waves = read_waves(files)
    refuse_directories(waves)
    if len(waves) > 1 and not wait:
        raise BadInput(
            f"{len(waves)} waves are to be moved one after the other; add --wait, or start one"
            " file at a time"
        )
    options = WaitOptions(interval_s, wait_at_most_s) if wait else None
    with connected(bootstrap, timeout_s) as admin:
        outcomes, code = _run_waves(admin, waves, options, bytes_per_s)
        if bytes_per_s is not None and wait and not code:
            complain_of(lift_throttles(admin, _topics_of(targets_of(waves))))
        elif bytes_per_s is not None:
            complain(STAYS)
    if as_json:
        print_as_json({"results": outcomes})
    else:
        print_outcomes("Moves", outcomes)
    if code:
        raise typer.Exit(code)


def _run_waves(
    admin: "Admin",
    waves: Sequence[ReassignmentPlan],
    options: WaitOptions | None,
    bytes_per_s: int | None,
) -> tuple[list[ItemOutcome], int]:
    outcomes: list[ItemOutcome] = []
    code = 0
    with move_progress() as progress:
        for number, wave in enumerate(waves, start=1):
            targets = [move.target for move in wave.moves]
            begun = begin_moves(admin, targets, bytes_per_s)
            if options is None or not all(each.is_good for each in begun):
                outcomes += begun
                code = 0 if all(each.is_good for each in begun) else EXIT_REFUSED
            else:
                label = f"wave {number} of {len(waves)}"
                checked = _wait(admin, targets, options, partial(progress.show, label))
                outcomes += map(_to_outcome, checked)
                code = _worst(checked)
            if code:
                break
    return outcomes, code


def _wait(
    admin: "Admin",
    targets: Sequence[ReassignmentTarget],
    options: WaitOptions,
    on_look: Callable[[Sequence[MoveChecked]], None],
) -> list[MoveChecked]:
    from regent.client.waiting import wait_for_moves  # noqa: PLC0415

    try:
        return wait_for_moves(
            admin,
            targets,
            interval_s=options.interval_s,
            at_most_s=options.at_most_s,
            on_look=on_look,
        )
    except KeyboardInterrupt:
        complain("the moves go on; `regent reassign verify` says how far they are")
        raise


def _to_outcome(checked: MoveChecked) -> ItemOutcome:
    is_good = checked.arrival is not Arrival.NOT_AS_PLANNED
    word = "arrived" if checked.arrival is Arrival.DONE else checked.arrival.value
    return ItemOutcome(str(checked.name), word, is_good, message=checked.detail or None)


def _worst(checked: Sequence[MoveChecked]) -> int:
    arrivals = {each.arrival for each in checked}
    return next(code for arrival, code in ARRIVAL_EXITS.items() if arrival in arrivals)


# --- list, cancel, verify -----------------------------------------------------------------------


@app.command(name="list", epilog=EXIT_CODES)
def list_moves(
    bootstrap: BootstrapOption, timeout_s: TimeoutOption = 30, as_json: JsonOption = False
) -> None:
    """Name the partitions that are being moved."""
    with connected(bootstrap, timeout_s) as admin:
        moving = admin.moving()
    if as_json:
        print_as_json(
            [
                {
                    "topic": name.topic,
                    "partition": name.partition,
                    "replicas": move.replicas,
                    "adding": move.adding,
                    "removing": move.removing,
                }
                for name, move in moving.items()
            ]
        )
    elif not moving:
        stdout().print("nothing is being moved")
    else:
        rows = [
            (str(name), say_ids(move.replicas), say_ids(move.adding), say_ids(move.removing))
            for name, move in moving.items()
        ]
        print_rows("Being moved", ("partition", "replicas", "adding", "removing"), rows)


@app.command(epilog=EXIT_CODES)
def cancel(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    bootstrap: BootstrapOption,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="What was started; the moves in it are undone."),
    ] = None,
    all_moves: Annotated[bool, typer.Option("--all", help="All moves of the cluster.")] = False,
    preserve_throttles: PreserveOption = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Undo moves that are under way: the replicas from before stay, the new ones go.

    Throttles of topics of which nothing moves any more are removed.
    """
    if bool(files) == all_moves:
        raise BadInput("say which moves: the FILE that started them, or --all")
    planned = targets_of(read_waves(files or ()))
    names = [TopicPartition(each.topic, each.partition) for each in planned]
    with connected(bootstrap, timeout_s) as admin:
        if all_moves:
            names = list(admin.moving())
        targets = [ReassignmentTarget(*name, None) for name in names]
        results = admin.reassign(targets) if targets else []
        lifted = ThrottlesLifted()
        if not preserve_throttles:
            seen = admin.describe().topics if all_moves else ()
            topics = [topic.name for topic in seen] or _topics_of(planned)
            lifted = lift_throttles(admin, topics)
    complain_of(lifted)
    if not as_json and lifted.names:
        stdout().print(lifted.say())
    if not results and not as_json:
        stdout().print("nothing is being moved")
        return
    idle = {ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "was not being moved"}
    report("Moves", to_outcomes(results, done="cancelled", content_with=idle), as_json=as_json)


@app.command(epilog=EXIT_CODES_UNDER_WAY)
def verify(
    files: FilesArgument,
    bootstrap: BootstrapOption,
    preserve_throttles: PreserveOption = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Say whether partitions are where a plan wanted them: done, in progress, not as planned.

    Once nothing is being moved in the cluster, throttles are removed: from the topics of the plan
    and from all brokers.
    """
    targets = targets_of(read_waves(files))
    with connected(bootstrap, timeout_s) as admin:
        from regent.client.waiting import look_at_moves  # noqa: PLC0415

        checked = look_at_moves(admin, targets)
        lifted = ThrottlesLifted()
        if not preserve_throttles and not admin.moving():
            lifted = lift_throttles(admin, _topics_of(targets))
    complain_of(lifted)
    counts = Counter(each.arrival for each in checked)
    if as_json:
        figures = {arrival.name.lower(): counts[arrival] for arrival in Arrival}
        print_as_json({**figures, "partitions": checked, "throttles_removed": lifted.names})
    else:
        _print_checked(checked, counts)
        if lifted.names:
            stdout().print(lifted.say())
    code = _worst(checked) or (EXIT_REFUSED if lifted.troubles else 0)
    if code:
        raise typer.Exit(code)


def _topics_of(targets: Sequence[ReassignmentTarget]) -> list[str]:
    return list(dict.fromkeys(each.topic for each in targets))


def _print_checked(checked: Sequence[MoveChecked], counts: Counter[Arrival]) -> None:
    """What is not done, and the sum."""
    rows = [
        (str(each.name), each.arrival.value, say_ids(each.target), each.detail)
        for arrival in (Arrival.NOT_AS_PLANNED, Arrival.IN_PROGRESS)
        for each in checked
        if each.arrival is arrival
    ]
    if rows:
        print_rows("Not done", ("partition", "", "planned", ""), rows)
    stdout().print(", ".join(f"{counts[arrival]:,} {arrival.value}" for arrival in Arrival))
