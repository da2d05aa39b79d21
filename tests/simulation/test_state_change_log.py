"""The logs that Kafka brokers would have written of a simulated run."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Final, get_args

import pytest
from typer.testing import CliRunner

from regent.cli.main import to_app
from regent.errors import BadInput
from regent.model import facts
from regent.model.control_requests import ControlRequest
from regent.sim.log_lines import broker_lines, controller_lines
from regent.sim.log_lines.line import stamp
from regent.sim.plan import draw_plan
from regent.sim.run import RunOutcome, run
from regent.sim.state_change_log import StateChangeLogKeeper

pytestmark = pytest.mark.requirement("Q1")

#: Between them they show every sentence.
SEEDS: Final = (6, 9, 14, 20)
#: In this one some requests arrive after they were repeated, and answered.
LATE: Final = 25
LINE: Final = re.compile(
    r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?P<level>TRACE|INFO|WARN|ERROR)"
    r" (?P<message>.*) \((?P<logger>[^()\s]+)\)"
)
TRACE_LINE: Final = re.compile(r"[a-z]+(\.\w+)+(Exception|Error): .*")
#: What may stand where a sentence below has a # or a word in angle brackets.
BLANKS: Final = {
    "#": r"-?\d+",
    "<ids>": r"[\d,]*",
    "<tp>": r"[\w.-]+-\d+",
    "<state>": r"\w+Partition|\w+Replica|ReplicaDeletion\w+",
    "<word>": r"\S+",
    "<any>": r".*",
}
#: What a line may say, with who says it.
SENTENCES: Final = """
[Controller id=# epoch=#] Changed partition <tp> state from <state> to <state>
[Controller id=# epoch=#] Changed partition <tp> state from <any> with assigned replicas <ids>
[Controller id=# epoch=#] Changed partition <tp> from <state> to <state> with state <any>
[Controller id=# epoch=#] Changed state of replica # for partition <tp> from <state> to <state>
[Controller id=# epoch=#] Controller # epoch # failed to change state for partition <any>
[Controller id=# epoch=#] Partition <tp> state changed to <any> after removing replica # <any>
[Controller id=# epoch=#] Sending become-leader LeaderAndIsr request <any> for partition <tp>
[Controller id=# epoch=#] Sending become-follower LeaderAndIsr request <any> for partition <tp>
[Controller id=# epoch=#] Sending LeaderAndIsr request to broker # with # become-leader <any>
[Controller id=# epoch=#] Sending UpdateMetadata request to brokers <any>) for # partitions
[Controller id=# epoch=#] Sending StopReplica request <word>(<any>) to broker # for <any>
[Controller id=# epoch=#] Sending StopReplica request for # replicas to broker #
[Controller id=# epoch=#] Received response <any> for request <word> with correlation id # <any>
[Controller id=# epoch=#] Sent LeaderAndIsr request <any> for partition being reassigned <tp>
[Controller id=#] Mark replicas <any> on broker # as offline
[Controller id=#] Received error <word> in <word> response <any> from broker #
[Controller id=#] # successfully elected as the controller. Epoch incremented to # and <any>
[Controller id=#] Ready to serve as the new controller with epoch #
[Controller id=#] Controller moved to another broker when processing <word>
[Controller id=#] Resigned
[Controller id=#] Initialized broker epochs cache: <any>
[Controller id=#] Updated broker epochs cache: <any>
[Controller id=#] Newly added brokers: <ids>, deleted brokers: <ids>, bounced brokers: <any>
[Controller id=#] New broker startup callback for <ids>
[Controller id=#] Broker failure callback for <ids>
[Controller id=#] Updated broker metadata: <any> -> <any>
[Controller id=#] Shutting down broker #
[Controller id=#] Handling log directory failure for brokers <ids>
[Controller id=#] Processing automatic preferred replica leader election
[Controller id=#] New topics: [<any>], deleted topics: [Set()], new partition replica <any>
[Controller id=#] New partition creation callback for <any>
[Controller id=#] Successfully updated assignment of partition <tp> to ReplicaAssignment(<any>)
[Controller id=#] Target replicas <any> have all caught up with the leader for reassigning <any>
[Controller id=#] Updated leader epoch for partition <tp> to #, zkVersion=#
[Controller id=#] Starting replica leader election (PREFERRED) for partitions <tp> triggered <any>
[Controller id=#] Starting topic deletion for topics <word>
[Topic Deletion Manager #] Handling deletion for topics <word>
[Topic Deletion Manager #] Deletion of topic <word> (re)started
[Topic Deletion Manager #] Deletion of topic <word> successfully completed
[Topic Deletion Manager #] Halted deletion of topics <word> due to <any>
[RequestSendThread controllerId=#] Controller # connected to <any> for sending state change requests
[RequestSendThread controllerId=#] Controller # epoch # fails to send request <any>
[Broker id=#] Handling LeaderAndIsr request correlationId # from controller # for # partitions
[Broker id=#] Finished LeaderAndIsr request in 0ms correlationId # from controller <any>
[Broker id=#] Received LeaderAndIsr request <any> correlation id # from controller # epoch #
[Broker id=#] Handling LeaderAndIsr request <any> starting the become-leader transition <any> <tp>
[Broker id=#] Completed LeaderAndIsr request <any> for the become-leader transition <any> <tp>
[Broker id=#] Handling LeaderAndIsr request <any> starting the become-follower transition <any>
[Broker id=#] Completed LeaderAndIsr request <any> for the become-follower transition <any>
[Broker id=#] Stopped fetchers as part of LeaderAndIsr request <any> for # partitions
[Broker id=#] Stopped fetchers as part of become-follower request <any> for # partitions
[Broker id=#] Leader <tp> with topic id <word> starts at leader epoch # from offset # with <any>
[Broker id=#] Follower <tp> starts at leader epoch # from offset # with <any>
[Broker id=#] Received LeaderAndIsrRequest with <any> since the new leader # is unavailable.
[Broker id=#] Ignoring LeaderAndIsr request from controller # with correlation id # <any>
[Broker id=#] Ignoring StopReplica request <any> from controller # with correlation id # <any>
[Broker id=#] Ignoring StopReplica request from controller # with correlation id # <any>
[Broker id=#] Cached leader info <any> for partition <tp> in response to UpdateMetadata <any>
[Broker id=#] Deleted partition <tp> from metadata cache in response to UpdateMetadata <any>
[Broker id=#] Add # partitions and deleted # partitions from metadata cache in response to <any>
[Broker id=#] Received update metadata request with correlation id # from an old controller <any>
[Broker id=#] Handling StopReplica request correlationId # from controller # for # partitions
[Broker id=#] Received StopReplica request <any> correlation id # from controller # epoch <any>
""".strip().splitlines()


def shape(sentence: str) -> re.Pattern[str]:
    """A sentence as a pattern."""
    parts = re.split("(#|<[a-z]+>)", sentence)
    return re.compile("".join(f"(?:{BLANKS.get(part, re.escape(part))})" for part in parts))


SHAPES: Final = tuple(map(shape, SENTENCES))


def log(seed: int, place: Path) -> RunOutcome:
    """Run a seed, and keep its logs."""
    keeper = StateChangeLogKeeper(place)
    try:
        return run(draw_plan(seed), [keeper])
    finally:
        keeper.close()


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, RunOutcome]]:
    """Some runs with the directories that hold their logs."""
    root = tmp_path_factory.mktemp("logs")
    return [(root / str(seed), log(seed, root / str(seed))) for seed in SEEDS]


def lines_in(place: Path, name: str = "*.log") -> list[str]:
    files = sorted(place.rglob(name))
    return [line for file in files for line in file.read_text("utf-8").splitlines()]


def test_every_fact_and_request_has_words_or_is_known_to_have_none() -> None:
    """A fact that comes to the vocabulary must come to the logs, or to the list of the unsaid."""
    said = {kind for kind in controller_lines.WORDS if issubclass(kind, facts.FactBase)}

    assert said | set(controller_lines.UNSAID) == set(get_args(facts.Fact))
    assert not said & set(controller_lines.UNSAID)
    assert set(get_args(ControlRequest)) == set(broker_lines.WORDS)
    assert set(get_args(ControlRequest)) == set(controller_lines.WORDS) - said


def test_every_line_has_a_known_shape(logged: list[tuple[Path, RunOutcome]]) -> None:
    """Whoever can read Kafka's logs can read these; and these runs show all of it."""
    seen: Counter[str] = Counter()
    strange = []
    for place, _ in logged:
        for line in lines_in(place):
            found = LINE.fullmatch(line)
            if found is None and TRACE_LINE.fullmatch(line):
                continue
            shapes = [s.pattern for s in SHAPES if found and s.fullmatch(found["message"])]
            seen.update(shapes)
            if not shapes:
                strange.append(line)

    assert strange == []
    assert len(seen) == len(SHAPES)


def test_each_file_has_its_own_loggers(logged: list[tuple[Path, RunOutcome]]) -> None:
    """Log4j sends each logger to its file."""
    for place, _ in logged:
        for name, logger in (
            ("state-change.log", r"state\.change\.logger"),
            ("controller.log", r"kafka\.controller\.\w+"),
        ):
            found = [f for line in lines_in(place, name) if (f := LINE.fullmatch(line))]
            assert found
            assert all(re.fullmatch(logger, f["logger"]) for f in found)


def test_elections_and_moves_are_those_of_the_journal(
    logged: list[tuple[Path, RunOutcome]],
) -> None:
    """By the clock and the epoch of the node that decided."""
    for place, outcome in logged:
        recorded: Counter[tuple[str, ...]] = Counter()
        for record in outcome.records:
            match record.fact:
                case facts.LeaderElected() as fact:
                    after = f"leader {fact.leader} in {fact.leader_epoch}"
                case facts.ReplicaMoved() as fact:
                    after = f"{fact.broker_id} {fact.replica_after}"
                case _:
                    continue
            who = f"id={record.controller_id} epoch={record.controller_epoch}"
            recorded[stamp(record.at_ms), who, f"{fact.topic}-{fact.partition}", after] += 1
        told: Counter[tuple[str, ...]] = Counter()
        for line in lines_in(place, "state-change.log"):
            moved = re.match(
                r"\[(.*?)\] \w+ \[Controller (.*?)\] Changed state of replica (\d+) for partition"
                r" (\S+) from \w+ to (\w+)",
                line,
            )
            elected = re.match(
                r"\[(.*?)\] \w+ \[Controller (.*?)\] Changed partition (\S+) from \w+ to"
                r" OnlinePartition with state LeaderAndIsr\(leader=(\d+), leaderEpoch=(\d+),",
                line,
            )
            if moved:
                told[moved[1], moved[2], moved[4], f"{moved[3]} {moved[5]}"] += 1
            elif elected:
                after = f"leader {elected[4]} in {elected[5]}"
                told[elected[1], elected[2], elected[3], after] += 1
        assert told == recorded


def test_a_request_is_received_after_it_was_sent_and_before_its_answer(tmp_path: Path) -> None:
    """Late and repeated ones too, so that the clocks of nodes can be compared by them.

    In one file the order of the lines is that in which things happened.
    """
    place = tmp_path / "all.log"
    log(LATE, place)

    answered: set[tuple[str, ...]] = set()
    received = 0
    for line in place.read_text("utf-8").splitlines():
        answer = re.search(
            r"Controller id=(\d+) epoch=(\d+)\] Received response (\w+)ResponseData.* correlation"
            r" id (\d+) sent to broker .*id: (\d+) ",
            line,
        )
        receipt = re.search(
            r"Broker id=(\d+)\] Handling (\w+) request correlationId (\d+) from controller (\d+)",
            line,
        )
        if answer:
            answered.add((answer[1], answer[5], answer[4]))
        elif receipt:
            received += 1
            assert (receipt[4], receipt[1], receipt[3]) not in answered
    assert received > 20
    assert len(answered) > 20


def test_whoever_watches_does_not_disturb(logged: list[tuple[Path, RunOutcome]]) -> None:
    assert logged[0][1].records == run(draw_plan(SEEDS[0]), []).records


def test_a_seed_has_one_log_whatever_the_hashes(tmp_path: Path) -> None:
    """Python hashes strings differently in each process: an order taken from a set shows here."""
    first, second = tmp_path / "1.log", tmp_path / "2.log"
    for place in (first, second):
        subprocess.run(  # noqa: S603 - it is us
            [
                *(sys.executable, "-m", "regent.cli.main", "simulate", "--json"),
                *("--seed", str(SEEDS[0]), "--state-change-log", str(place)),
            ],
            env={**os.environ, "PYTHONHASHSEED": place.stem},
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )

    assert first.read_bytes() == second.read_bytes()
    assert len(first.read_bytes()) > 100_000


def test_a_path_that_ends_in_log_is_one_file(
    logged: list[tuple[Path, RunOutcome]], tmp_path: Path
) -> None:
    """It holds what all the others hold together."""
    log(SEEDS[0], tmp_path / "all.log")

    assert sorted(lines_in(tmp_path)) == sorted(lines_in(logged[0][0]))


def test_logs_are_not_mixed_with_others(tmp_path: Path) -> None:
    """Two runs in one place could not be told apart."""
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "seed-1" / "x").touch()
    (tmp_path / "one.log").touch()

    for place in (tmp_path / "seed-1", tmp_path / "one.log"):
        with pytest.raises(BadInput, match="is there already; remove it"):
            StateChangeLogKeeper(place)
    with pytest.raises(BadInput, match="cannot keep logs in"):
        StateChangeLogKeeper(tmp_path / "one.log" / "inside")


def test_the_command_keeps_logs_where_it_is_told(tmp_path: Path) -> None:
    cli, app = CliRunner(), to_app(["simulate"])
    many = cli.invoke(
        app, ["simulate", "--seeds", "1..2", "--state-change-log", str(tmp_path / "a.log")]
    )
    assert isinstance(many.exception, BadInput)
    assert "is one file, for one run" in str(many.exception)

    one = cli.invoke(
        app, ["simulate", "--seeds", "1", "--state-change-log", str(tmp_path), "--json"]
    )
    assert one.exit_code == 0
    assert lines_in(tmp_path / "seed-1" / "broker-1", "controller.log")


def test_times_before_1970_are_printed_too() -> None:
    """A simulated clock may be a minute behind at its beginning."""
    assert stamp(-1) == "1969-12-31 23:59:59,999"
    assert stamp(86_400_000 + 61_002) == "1970-01-02 00:01:01,002"
