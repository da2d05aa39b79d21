"""Cuts a failing run down to a short one that fails in the same way.

What is left out is tried in this order: steps (by delta debugging, halves first), then the time
after the last step, the rates, and topics with their partitions; again from the start for as long
as something could go. Chance is decided message by message, so a shorter plan is another run and
may fail for another reason: `still_fails` is there to say whether it is the same.
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from regent.sim.character import Character
from regent.sim.plan import Plan

#: So that shrinking ends within minutes, however long a run takes.
TRIES_MAX: Final = 300
RATES: Final = tuple(name for name in Character.__struct_fields__ if name.endswith("_per_mille"))
#: A run is not made shorter than this: a cluster needs a moment to begin.
SAFETY_MS_MIN: Final = 2_000

StillFails = Callable[[Plan], bool]


def shrink(plan: Plan, still_fails: StillFails, *, tries_max: int = TRIES_MAX) -> Plan:
    """The shortest plan found that still fails; the plan itself when nothing can go."""
    return _Shrinker(plan, still_fails, tries_max).shrink()


class _Shrinker:
    """Holds the best plan so far and the tries that are left."""

    def __init__(self, plan: Plan, still_fails: StillFails, tries_max: int) -> None:
        self._best = plan
        self._still_fails = still_fails
        self._tries_left = tries_max

    def shrink(self) -> Plan:
        before: Plan | None = None
        while before != self._best and self._tries_left > 0:
            before = self._best
            self._cut_steps()
            for simpler in (_shorter, _calmer, _with_fewer_topics, _with_fewer_partitions):
                self._take_while_it_fails(simpler)
        return self._best

    def _cut_steps(self) -> None:
        """Leave out chunks of steps, halves first and single steps last."""
        size = max(len(self._best.steps) // 2, 1)
        while size >= 1:
            start = 0
            while start < len(self._best.steps):
                steps = self._best.steps
                if not self._try(replace(self._best, steps=steps[:start] + steps[start + size :])):
                    start += size
            size //= 2

    def _take_while_it_fails(self, simpler: Callable[[Plan], Iterator[Plan]]) -> None:
        """Go to the first simpler plan that fails, and on from there."""
        while any(self._try(candidate) for candidate in simpler(self._best)):
            pass

    def _try(self, candidate: Plan) -> bool:
        if self._tries_left <= 0 or candidate == self._best:
            return False
        self._tries_left -= 1
        if not self._still_fails(candidate):
            return False
        self._best = candidate
        return True


# --- what could be simpler ------------------------------------------------------------------


def _shorter(plan: Plan) -> Iterator[Plan]:
    last_ms = max((step.at_ms for step in plan.steps), default=0)
    for safety_ms in (
        plan.character.safety_ms // 2,
        last_ms + 1_000,
        plan.character.safety_ms * 3 // 4,
    ):
        if SAFETY_MS_MIN <= safety_ms < plan.character.safety_ms:
            # A step after the healing would break the peace.
            steps = tuple(step for step in plan.steps if step.at_ms < safety_ms)
            yield replace(plan, character=replace(plan.character, safety_ms=safety_ms), steps=steps)


def _calmer(plan: Plan) -> Iterator[Plan]:
    """Rates go to nothing, or at least to half."""
    for name in RATES:
        rate = getattr(plan.character, name)
        for lower in dict.fromkeys((0, rate // 2)):
            if lower < rate:
                yield replace(plan, character=replace(plan.character, **{name: lower}))


def _with_fewer_topics(plan: Plan) -> Iterator[Plan]:
    for topic in plan.character.topics:
        topics = tuple(each for each in plan.character.topics if each is not topic)
        steps = tuple(step for step in plan.steps if step.topic != topic.name)
        yield replace(plan, character=replace(plan.character, topics=topics), steps=steps)


def _with_fewer_partitions(plan: Plan) -> Iterator[Plan]:
    topics = plan.character.topics
    for index, topic in enumerate(topics):
        for size in dict.fromkeys((1, len(topic.assignment) - 1)):
            if 1 <= size < len(topic.assignment):
                fewer = replace(topic, assignment=topic.assignment[:size])
                changed = (*topics[:index], fewer, *topics[index + 1 :])
                yield replace(plan, character=replace(plan.character, topics=changed))
