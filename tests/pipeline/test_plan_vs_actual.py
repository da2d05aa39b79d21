"""Plans held against what happened, by an oracle and by hand (Q5)."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from regent.journal.record import Record, encode
from regent.model import facts
from regent.pipeline import schemas
from regent.pipeline.inputs import SourceKind, find_inputs
from regent.pipeline.output import OutputFolder
from regent.pipeline.plan_vs_actual import plan_vs_actual
from regent.pipeline.reassignments import reassignments
from regent.pipeline.run import Job, is_done, run
from regent.pipeline.sources.planned import PlannedReplicas, planned_table
from regent.pipeline.tables import TABLES
from regent.pipeline.timelines import timelines
from tests.pipeline.comparing import differences
from tests.pipeline.histories import histories, schema_of
from tests.pipeline.oracle.plan_vs_actual import plan_vs_actual as oracle
from tests.pipeline.rows import brokers, record

pytestmark = pytest.mark.requirement("Q5")

Brokers = tuple[int, ...]
CLUSTERS = 6
PARTITIONS = 6
BROKERS = range(1, 6)


class Operator:
    """Moves partitions about by a seed, and writes down what a controller would."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._at_ms = 0
        self.records: list[Record] = []
        #: Wherever a partition ever was or should have been.
        self.places: dict[tuple[str, int], list[Brokers]] = {}

    def live(self) -> "Operator":
        """A topic that is moved, and one that goes."""
        for topic in ("kept", "gone"):
            places = [self._draw() for _ in range(PARTITIONS)]
            self.places |= {(topic, number): [place] for number, place in enumerate(places)}
            loaded = (
                facts.LoadedPartition(number, brokers(*place))
                for number, place in enumerate(places)
            )
            self._write(facts.TopicLoaded(topic, tuple(loaded)))
        for name in list(self.places):
            for _ in range(self._chance.randrange(4)):
                if not self._move(*name):
                    break
        self._write(facts.TopicForgotten("gone"))
        return self

    def plan(self, name: str) -> Iterator[PlannedReplicas]:
        """For most partitions what was tried or something else, and a wish for one too many."""
        for (topic, number), places in self.places.items():
            if self._chance.random() < 0.8:
                wanted = self._chance.choice([*places, self._draw()])
                yield PlannedReplicas(name, topic, number, wanted)
        yield PlannedReplicas(name, "kept", PARTITIONS, (1, 2))

    def _move(self, topic: str, number: int) -> bool:
        """Whether it has come to rest, so that another one may follow."""
        origin = self.places[topic, number][-1]
        target = self._draw()
        if target == origin:
            return True
        self.places[topic, number].append(target)
        self._begin(topic, number, origin, target)
        match self._chance.choice(["finish", "finish", "cancel", "replace", "stay"]):
            case "cancel" if set(origin) != set(target):
                self._assign(topic, number, origin)
                self._advance("C", topic, number, origin)
                target = origin
            case "replace" if set(origin) != set(target):
                other = tuple(each for each in BROKERS if each not in origin)[:2]
                if other != target:
                    self.places[topic, number].append(other)
                    self._begin(topic, number, origin, other)
                    target = other
            case "stay" if set(origin) != set(target):
                return False
        self._assign(topic, number, target)
        self._advance("B", topic, number, target)
        self.places[topic, number].append(target)
        return True

    def _begin(self, topic: str, number: int, origin: Brokers, target: Brokers) -> None:
        adding = tuple(each for each in target if each not in origin)
        removing = tuple(each for each in origin if each not in target)
        way = (*target, *removing)
        self._assign(topic, number, way, adding, removing)
        self._advance("U", topic, number, way, adding, removing)

    def _assign(self, topic: str, number: int, *assignment: Brokers) -> None:
        self._write(facts.AssignmentChanged(topic, number, *(brokers(*ids) for ids in assignment)))

    def _advance(self, phase: str, topic: str, number: int, *assignment: Brokers) -> None:
        ids = (brokers(*each) for each in assignment)
        self._write(facts.ReassignmentAdvanced(topic, number, phase, *ids))

    def _draw(self) -> Brokers:
        return tuple(self._chance.sample(BROKERS, 2))

    def _write(self, fact: facts.Fact) -> None:
        self._at_ms += self._chance.randrange(1, 100)
        self.records.append(record(len(self.records) + 1, fact, at_ms=self._at_ms))


def test_plans_and_their_moves_are_the_oracles(spark: SparkSession) -> None:
    """Moves that end, are cancelled, replaced or go on; wishes that nobody tried to meet."""
    operators = {f"c{seed}": Operator(seed).live() for seed in range(CLUSTERS)}
    planned = [wish for name, each in operators.items() for wish in each.plan(f"{name}.json")]
    transitions = histories(
        spark, **{name: each.records for name, each in operators.items()}
    ).localCheckpoint()

    table = plan_vs_actual(
        planned_table(spark, planned),
        reassignments(transitions).localCheckpoint(),
        timelines(transitions).localCheckpoint(),
    ).localCheckpoint()

    expected = [
        row for name, each in operators.items() for row in oracle(name, each.records, planned)
    ]
    assert {row.outcome for row in expected} == {
        *("finished", "cancelled", "replaced", "running", "abandoned"),
        *("already there", "not started", "no such partition"),
    }
    assert not differences(table.collect(), expected)
    assert schema_of(table) == schemas.PLAN_VS_ACTUAL


def test_a_run_with_a_plan_has_the_table_and_one_without_has_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Another plan is another run, although the journal is the same."""
    journal = tmp_path / "demo" / "journal-1-00000001.jsonl"
    journal.parent.mkdir()
    operator = Operator(1).live()
    journal.write_bytes(b"".join(encode(each) + b"\n" for each in operator.records))
    inputs = tuple(find_inputs(SourceKind.JOURNAL, [str(journal.parent)]))
    folder = OutputFolder(tmp_path / "tables")
    needed = [table for table in TABLES if table.name in {"timelines", "reassignments"}]
    planned = (*operator.plan("one.json"), *operator.plan("two.json"))
    job = Job(inputs, folder, planned=planned)

    with folder.held():
        manifest = run(spark, job, tables=needed)

    assert manifest.tables["plan_vs_actual"] == len(planned)
    table = folder.read(spark, "plan_vs_actual", schemas.PLAN_VS_ACTUAL)
    assert not differences(table.collect(), oracle("demo", operator.records, planned))
    assert is_done(job)
    assert not is_done(Job(inputs, folder, planned=planned[1:]))
    with folder.held():
        assert "plan_vs_actual" not in run(spark, Job(inputs, folder), tables=needed).tables
