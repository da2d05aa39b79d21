"""What must be true of the journals of all nodes together, judged without Spark.

The long run asks the pipeline's audit as well; this is what a test has time for.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from regent.journal.reader import read
from regent.journal.record import Record
from regent.journal.replay import ReplayedState, apply
from regent.model import facts
from regent.model.ids import NO_LEADER, TopicPartition
from regent.model.leadership import Leadership
from regent.sim.checkers.moves_are_legal import MovesAreLegal
from regent.sim.observer import Violation

#: Facts that say who leads a partition.
LEADERSHIPS: Final = (
    facts.LeaderElected,
    facts.IsrShrunk,
    facts.IsrAltered,
    facts.LeadershipLearned,
    facts.LeaderEpochRaised,
)


class JournalFigures(Struct):
    """What the journals tell of a campaign."""

    records: int = 0
    reigns: int = 0
    elections: int = 0
    isr_changes: int = 0


class JournalAudit:
    """Reads all records once."""

    def __init__(self) -> None:
        self.figures = JournalFigures()
        self.findings: list[str] = []
        self.state = ReplayedState()
        self._moves = MovesAreLegal()
        self._controllers: dict[int, int] = {}
        self._epochs: dict[TopicPartition, int] = {}
        self._leaders: dict[tuple[TopicPartition, int], int] = {}

    def look_at(self, paths: Iterable[Path]) -> None:
        """Judge the journals in these folders."""
        for record in read(paths):
            self.take(record)
        self._end_reign()

    def take(self, record: Record) -> None:
        """Judge one more record, in the order of the journal."""
        self.figures.records += 1
        epoch = record.controller_epoch
        if epoch > self.state.controller_epoch:
            self._end_reign()
            self.figures.reigns += 1
        if self._controllers.setdefault(epoch, record.controller_id) != record.controller_id:
            self._find(record, f"two controllers wrote in controller epoch {epoch}")
        try:
            self._moves.recorded(None, record)  # type: ignore[arg-type] # it looks at none
        except Violation as violation:
            self._find(record, violation.message)
        self._judge_fact(record)
        apply(self.state, record)

    def compare(self, truth: Mapping[TopicPartition, Leadership | None]) -> None:
        """Whether the journals lead to what ZooKeeper has."""
        for name, leadership in truth.items():
            replayed = self.state.partition(name.topic, name.partition)
            known = None if replayed is None else replayed.leadership
            if known != leadership:
                self.findings.append(
                    f"{name}: the journals lead to {known}, and ZooKeeper has {leadership}"
                )

    def _judge_fact(self, record: Record) -> None:
        fact = record.fact
        if isinstance(fact, facts.EventFailed | facts.ZnodeIsolated):
            self._find(record, f"{fact}")
        if isinstance(fact, facts.LeaderElected):
            self.figures.elections += 1
            if fact.unclean:
                self._find(record, f"an unclean election: {fact}")
        if isinstance(fact, LEADERSHIPS):
            self.figures.isr_changes += isinstance(fact, facts.IsrShrunk | facts.IsrAltered)
            self._judge_leadership(record, fact)

    def _judge_leadership(
        self,
        record: Record,
        fact: facts.LeaderElected
        | facts.IsrShrunk
        | facts.IsrAltered
        | facts.LeadershipLearned
        | facts.LeaderEpochRaised,
    ) -> None:
        name = TopicPartition(fact.topic, fact.partition)
        before = self._epochs.get(name, -1)
        if fact.leader_epoch < before:
            self._find(record, f"{name}: leader epoch {fact.leader_epoch} after {before}")
        self._epochs[name] = fact.leader_epoch
        if fact.leader == NO_LEADER:
            return
        known = self._leaders.setdefault((name, fact.leader_epoch), fact.leader)
        if known != fact.leader:
            self._find(
                record, f"{name}: {known} and {fact.leader} lead in epoch {fact.leader_epoch}"
            )
        if fact.leader not in fact.isr:
            self._find(record, f"{name}: leader {fact.leader} is not in the ISR {fact.isr}")

    def _end_reign(self) -> None:
        state = self.state
        for count, what in (
            (state.missing_count, "records are missing"),
            (state.unplaced_count, "records are about what was never made known"),
        ):
            if count:
                self.findings.append(f"controller epoch {state.controller_epoch}: {count} {what}")

    def _find(self, record: Record, sentence: str) -> None:
        where = f"controller {record.controller_id}, epoch {record.controller_epoch}"
        self.findings.append(f"{where}, record {record.seq}: {sentence}")


def audited(paths: Iterable[Path]) -> JournalAudit:
    """An audit of the journals in these folders."""
    audit = JournalAudit()
    audit.look_at(paths)
    return audit
