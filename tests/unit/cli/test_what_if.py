"""`regent snapshot` and `regent what-if` as a person types them."""

from itertools import count
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from regent.cli.main import EXIT_USAGE, main
from regent.cli.printing import print_table
from regent.cli.what_if import ROWS_MAX
from regent.dryrun.snapshot import read_snapshot, write_snapshot
from regent.sim.plan import draw_plan
from tests.unit.dryrun.builders import cluster, partition, topic

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def small(tmp_path: Path) -> str:
    """A file with a small cluster."""
    path = tmp_path / "small.json"
    topics = (topic("t", partition(0, 3, 1), partition(1, 3)), topic("u", partition(0, 1, 2)))
    write_snapshot(cluster(*topics), path)
    return str(path)


EXPECTED = """\
3 brokers, 2 topics, 3 partitions
what if broker 3 dies?

In short
                              before  after  new  over
  without a leader            0       1      1    0
  under-replicated            0       2      2    0
  below min ISR               0       1      1    0
  leaders moved                       1
  ISRs changed                        1
  unclean elections                   0
  still being moved                   0
  topics still to be deleted          0

Without a leader (1)
  partition  leader     ISR  replicas
  t-1        3 -> none  3    3

Leaders moved (1)
  partition  leader  ISR       replicas
  t-0        3 -> 1  3,1 -> 1  3,1

Requests (partitions in them)
  broker  LeaderAndIsr  UpdateMetadata  StopReplica
  1       2 (2)         2 (3)
  2                     2 (3)

"""


def test_a_pipe_gets_plain_columns(small: str, capsys: Captured) -> None:
    """No rules, no colours, nothing cut off."""
    assert main(["what-if", small, "--broker-dies", "3"]) == 0
    assert capsys.readouterr().out == EXPECTED


def test_a_terminal_gets_ruled_tables() -> None:
    """The same rows, easier on the eye."""
    console = Console(force_terminal=True, width=80, color_system=None)
    with console.capture() as captured:
        print_table(console, "Title", ("a", "b"), [("1", "2")])

    shown = captured.get()
    assert "Title" in shown
    assert "│ 1 │ 2 │" in shown


def test_scripts_get_json(small: str, capsys: Captured) -> None:
    """Everything, under names that stay."""
    assert main(["what-if", small, "--broker-dies", "3", "--json"]) == 0

    answer = msgspec.json.decode(capsys.readouterr().out)
    assert answer["asked"] == ["broker 3 dies"]
    assert answer["offline"] == {"before": 0, "after": 1, "new": ["t-1"], "over": []}
    assert [(c["topic"], c["partition"], c["leader_after"]) for c in answer["changes"]] == [
        ("t", 0, 1),
        ("t", 1, None),
    ]
    assert {"broker_id": 2, "api": "UpdateMetadata", "requests": 2, "partitions": 3} in (
        answer["requests"]
    )


def test_everything_can_be_asked_at_once(small: str, tmp_path: Path, capsys: Captured) -> None:
    """In the order that the help tells."""
    path = tmp_path / "plan.json"
    path.write_text('{"partitions": [{"topic": "u", "partition": 0, "replicas": [3, 1]}]}')
    arguments = ["--delete-topic", "t", "--broker-returns", "3", "--reassign", str(path)]
    arguments += ["--rack-dies", "odd", "--broker-returns", "1", "--shut-down", "2"]

    assert main(["what-if", small, *arguments]) == 0

    asked = [line for line in capsys.readouterr().out.splitlines() if line.startswith("what if")]
    assert asked == [
        "what if broker 2 shuts down?",
        "what if rack odd dies?",
        "what if broker 3 and broker 1 come back?",
        f"what if 1 partition moves as {path} says?",
        "what if topic t is deleted?",
    ]


def test_deleted_partitions_are_told_as_such(small: str, capsys: Captured) -> None:
    """They have neither leader nor ISR to show."""
    assert main(["what-if", small, "--delete-topic", "u"]) == 0
    assert "  u-0        the partition is deleted\n" in capsys.readouterr().out


def test_long_lists_are_cut_and_say_so(tmp_path: Path, capsys: Captured) -> None:
    """A hundred thousand lines help nobody; the JSON has them."""
    path = tmp_path / "long.json"
    partitions = [partition(i, 3, 1) for i in range(ROWS_MAX + 5)]
    write_snapshot(cluster(topic("t", *partitions)), path)

    assert main(["what-if", str(path), "--broker-dies", "3"]) == 0

    shown = capsys.readouterr().out
    assert f"Leaders moved ({ROWS_MAX + 5})" in shown
    assert "and 5 more; --json has them all" in shown


def test_notes_stand_above_the_figures(tmp_path: Path, capsys: Captured) -> None:
    """Whoever reads the figures has read them."""
    path = tmp_path / "restless.json"
    write_snapshot(cluster(topic("t", partition(0, 9, 1))), path)

    assert main(["what-if", str(path), "--broker-dies", "3"]) == 0
    assert "\nnote: the snapshot was not at rest" in capsys.readouterr().out


# --- what makes no sense ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "nothing was asked; try --broker-dies 3"),
        (["--broker-dies", "three"], "--broker-dies"),
        (["--broker-dies", "9"], "broker 9 is not alive; alive are 1, 2, 3"),
        (["--rack-dies", "north"], "racks of live brokers are even, odd"),
        (["--broker-returns", "1"], "broker 1 is alive"),
        (["--delete-topic", "x"], "there is no topic 'x'; there are t, u"),
        (["--reassign", "no/such/plan.json"], "cannot read the reassignment"),
        (["--explode"], "--explode"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_one_sentence_and_64(
    arguments: list[str], hint: str, small: str, capsys: Captured
) -> None:
    """As every other command does it."""
    assert main(["what-if", small, *arguments]) == EXIT_USAGE

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("regent: ")
    assert hint in captured.err
    assert captured.err.count("\n") == 1


def test_a_bad_line_of_a_reassignment_refuses_all_of_it(
    small: str, tmp_path: Path, capsys: Captured
) -> None:
    """With the line, and with the controller's own reason."""
    path = tmp_path / "plan.json"
    good = '{"topic": "t", "partition": 0, "replicas": [1, 2]}'
    path.write_text(f'{{"partitions": [\n{good},\n{good.replace("0", "7")}\n]}}')

    assert main(["what-if", small, "--reassign", str(path)]) == EXIT_USAGE

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "plan.json, line 3: t-7: there is no partition t-7" in captured.err


def test_a_snapshot_that_is_none_is_refused(tmp_path: Path, capsys: Captured) -> None:
    """In one sentence."""
    path = tmp_path / "not.json"
    path.write_text("hello")

    assert main(["what-if", str(path), "--broker-dies", "3"]) == EXIT_USAGE
    assert "not.json is not a snapshot" in capsys.readouterr().err


# --- regent snapshot --------------------------------------------------------------------------


def test_a_simulated_cluster_can_be_kept_and_asked(tmp_path: Path, capsys: Captured) -> None:
    """At rest, so that there is nothing to note."""
    path = tmp_path / "seed.json.gz"

    assert main(["snapshot", "--seed", "5", "--racks", "a, b", "-o", str(path)]) == 0
    assert main(["what-if", str(path), "--rack-dies", "b"]) == 0

    assert [b.rack for b in read_snapshot(path).brokers[:3]] == ["a", "b", "a"]
    captured = capsys.readouterr()
    assert "note:" not in captured.out
    assert "what if rack b dies?" in captured.out
    assert f"{path}: " in captured.err


def test_the_same_seed_is_the_same_snapshot(tmp_path: Path) -> None:
    """In the midst of its faults as well as at rest."""
    for moment in ([], ["--at-ms", "9000"]):
        for name in ("a.json", "b.json"):
            assert main(["snapshot", "--seed", "5", *moment, "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_what_is_left_out_of_a_snapshot_is_said(tmp_path: Path, capsys: Captured) -> None:
    """Somebody has broken a topic's znode there, and it stays broken."""
    seed = next(n for n in count() if any(s.kind == "corrupt_topic" for s in draw_plan(n).steps))

    assert main(["snapshot", "--seed", str(seed), "-o", str(tmp_path / "c.json")]) == 0
    assert "left out: /brokers/topics/broken: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--seed", "5"], "--output"),
        (["-o", "x.json"], "--seed"),
        (["--seed", "5", "-o", "no/such/place.json"], "choose another place for it"),
        (["--seed", "5", "-o", "x.json", "--at-ms", "0"], "--at-ms"),
        (["--seed", "5", "-o", "x.json", "--at-ms", "99999999"], "choose --at-ms up to that"),
        (["--seed", "5", "-o", "x.json", "--racks", "a,,b"], "a rack without a name"),
    ],
)
def test_a_snapshot_that_cannot_be_taken_is_refused(
    arguments: list[str],
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    """One sentence, and no file."""
    monkeypatch.chdir(tmp_path)

    assert main(["snapshot", *arguments]) == EXIT_USAGE

    captured = capsys.readouterr()
    assert hint in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
