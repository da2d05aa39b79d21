"""Times in which a partition has no leader, or too small an ISR: from when, and who is told."""

from collections.abc import Iterator
from typing import Final

from regent.pipeline.live.memory import ClusterMemory, PartitionMemory, Shelf, Spell
from regent.pipeline.live.rows import Said, Source
from regent.pipeline.schemas import NO_LEADER
from regent.pipeline.settings import Settings

LEADERLESS: Final = "leaderless"
UNDER_MIN_ISR: Final = "under_min_isr"
#: A journal is read late when there is much of it: its next lines may say that it is over.
PATIENCE_MS: Final = 5_000


class Watchman:
    """Begins and ends the spells of a cluster's partitions."""

    def __init__(
        self, cluster: str, memory: ClusterMemory, settings: Settings, now_ms: int
    ) -> None:
        self._cluster = cluster
        self._memory = memory
        self._settings = settings
        self._now_ms = now_ms

    def look(
        self, topic: str, number: int, partition: PartitionMemory, began: Spell
    ) -> Iterator[Said]:
        """After a record about a partition; `began` is the spell that starts with it, if one does.

        One that ends does so when that record was written.
        """
        yield from self._look_for_leader(topic, number, partition, began)
        yield from self._look_at_isr(topic, number, partition, began)
        if partition.leader not in {None, NO_LEADER}:
            partition.last_leader = partition.leader

    def gone(
        self, topic: str, number: int, partition: PartitionMemory, at_ms: int
    ) -> Iterator[Said]:
        """A partition that does not exist any more lacks nothing."""
        if partition.leaderless is not None:
            yield from self._end_leaderless(topic, number, partition.leaderless, at_ms)
        if partition.under_min_isr is not None:
            yield self._row(UNDER_MIN_ISR, topic, number, partition.under_min_isr, at_ms, over=True)

    def ring(self, shelf: Shelf) -> Iterator[Said]:
        """Tell of all that have been without a leader for too long by now."""
        due = [
            (topic, number)
            for topic, deadlines in self._memory.deadlines.items()
            for number, deadline_ms in deadlines.items()
            if deadline_ms <= self._now_ms
        ]
        for topic, number in sorted(due):
            self._memory.forget_deadline(topic, number)
            partition = shelf.partitions(topic).get(number)
            if partition is not None and partition.leaderless is not None:
                partition.leaderless.is_raised = True
                yield self._row(LEADERLESS, topic, number, partition.leaderless, None)

    def _look_for_leader(
        self, topic: str, number: int, partition: PartitionMemory, began: Spell
    ) -> Iterator[Said]:
        spell = partition.leaderless
        if partition.is_leaderless and spell is None:
            partition.leaderless = began
            limit_ms = self._settings.offline_longer_than_ms
            deadline_ms = max(began.at_ms + limit_ms + 1, self._now_ms + min(limit_ms, PATIENCE_MS))
            self._memory.deadlines.setdefault(topic, {})[number] = deadline_ms
        elif not partition.is_leaderless and spell is not None:
            partition.leaderless = None
            yield from self._end_leaderless(topic, number, spell, began.at_ms)

    def _end_leaderless(self, topic: str, number: int, spell: Spell, at_ms: int) -> Iterator[Said]:
        """What was too long is told, though it be over by the time that it is heard of."""
        self._memory.forget_deadline(topic, number)
        if not spell.is_raised and at_ms - spell.at_ms <= self._settings.offline_longer_than_ms:
            return
        if not spell.is_raised:
            yield self._row(LEADERLESS, topic, number, spell, at_ms)
        yield self._row(LEADERLESS, topic, number, spell, at_ms, over=True)

    def _look_at_isr(
        self, topic: str, number: int, partition: PartitionMemory, began: Spell
    ) -> Iterator[Said]:
        min_isr = self._settings.topic_min_isr.get(topic, self._settings.min_isr)
        is_under, spell = partition.is_under(min_isr), partition.under_min_isr
        if is_under and spell is None:
            partition.under_min_isr = began
            yield self._row(UNDER_MIN_ISR, topic, number, began, None, isr=partition.isr or ())
        elif not is_under and spell is not None:
            partition.under_min_isr = None
            yield self._row(UNDER_MIN_ISR, topic, number, spell, began.at_ms, over=True)

    def _row(  # noqa: PLR0913 - the parts of a row
        self,
        kind: str,
        topic: str,
        number: int,
        spell: Spell,
        end_ms: int | None,
        *,
        over: bool = False,
        isr: tuple[int, ...] = (),
    ) -> Said:
        until_ms = self._now_ms if end_ms is None else end_ms
        return Said(
            cluster=self._cluster,
            kind=kind,
            topic=topic,
            partition=number,
            broker_id=spell.leader_before,
            controller_epoch=spell.controller_epoch,
            sequence=spell.sequence,
            at_ms=spell.at_ms,
            record=spell.record,
            end_ms=end_ms,
            duration_ms=max(until_ms - spell.at_ms, 0),
            is_over=over,
            isr=isr,
        )


def spell_from(
    record: Source, controller_epoch: int, at_ms: int, leader_before: int | None
) -> Spell:
    """A spell that a record begins."""
    return Spell(controller_epoch, record.sequence, at_ms, record, leader_before)
