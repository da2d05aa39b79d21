"""What a plan does, in figures: before and after, moved and bound, in the band or why not."""

import numpy as np
from msgspec import Struct

from regent.pipeline.plans.goals import MovePlan
from regent.pipeline.plans.problem import NOBODY, Flags, Floats, Ints, load_of
from regent.pipeline.plans.reasons import balanced_load, is_in_band, reaches_goal, why_not


class Evenness(Struct, frozen=True):
    """How evenly a load lies on brokers; 1.0 is the mean."""

    max_over_mean: float
    min_over_mean: float
    stddev_over_mean: float


class BrokerShare(Struct, frozen=True):
    """One broker before and after."""

    broker_id: int
    rack: str | None
    is_live: bool
    load_before: float
    load_after: float
    replicas_before: int
    replicas_after: int
    leaders_before: int
    leaders_after: int
    replicas_in: int
    replicas_out: int


class PlanSummary(Struct, frozen=True):
    """A plan in figures. Loads are in `unit`."""

    goal: str
    by: str
    unit: str
    partitions: int
    partitions_changed: int
    replicas_to_copy: int
    #: In the unit that is balanced.
    moved: float
    #: What any plan for this goal moves at least; proven.
    bound: float
    #: moved / bound; null when nothing need be moved. It counts only when the goal is reached.
    ratio: float | None
    #: Null when no sizes are known.
    bytes_to_copy: float | None
    in_band: bool
    reaches_goal: bool
    band_low: float
    band_mean: float
    band_high: float
    why_not: tuple[str, ...]
    notes: tuple[str, ...]
    before: Evenness
    after: Evenness
    brokers: tuple[BrokerShare, ...]


def summarize(plan: MovePlan) -> PlanSummary:
    """All figures of a plan."""
    problem = plan.problem
    arriving = _added(plan)
    copies = arriving.sum(axis=1)
    moved = float((copies * problem.weight).sum())
    return PlanSummary(
        goal=plan.goal,
        by=problem.by,
        unit=problem.unit,
        partitions=len(problem.weight),
        partitions_changed=int(changed(plan).sum()),
        replicas_to_copy=int(copies.sum()),
        moved=moved,
        bound=plan.bound,
        ratio=moved / plan.bound if plan.bound > 0 else None,
        bytes_to_copy=None if problem.size is None else float((copies * problem.size).sum()),
        in_band=is_in_band(plan),
        reaches_goal=reaches_goal(plan),
        band_low=plan.band.low,
        band_mean=plan.band.mean,
        band_high=plan.band.high,
        why_not=why_not(plan),
        notes=plan.notes,
        before=_evenness(balanced_load(plan, is_before=True), plan.members),
        after=_evenness(balanced_load(plan), plan.members),
        brokers=_shares(plan, arriving),
    )


def changed(plan: MovePlan) -> Flags:
    """Which partitions get another list of replicas."""
    before, after = plan.problem.replicas, plan.replicas
    width = before.shape[1]
    differs: Flags = (before != after[:, :width]).any(axis=1)
    if after.shape[1] > width:
        differs |= (after[:, width:] != NOBODY).any(axis=1)
    return differs


def _added(plan: MovePlan) -> Flags:
    """Which replicas of the plan were not there before."""
    before, after = plan.problem.replicas, plan.replicas
    new: Flags = after != NOBODY
    for slot in range(before.shape[1]):
        new &= after != before[:, [slot]]
    return new


def _shares(plan: MovePlan, arriving: Flags) -> tuple[BrokerShare, ...]:
    problem = plan.problem
    ones = np.ones(len(problem.weight))
    before, after = balanced_load(plan, is_before=True), balanced_load(plan)
    held_before = load_of(problem, problem.replicas, ones).astype(int)
    held_after = load_of(problem, plan.replicas, ones).astype(int)
    leads_before, leads_after = (_leads(plan, each) for each in (problem.replicas, plan.replicas))
    into = np.bincount(plan.replicas[arriving], minlength=problem.broker_count)
    return tuple(
        BrokerShare(
            broker.broker_id,
            broker.rack,
            broker.is_live,
            float(before[i]),
            float(after[i]),
            int(held_before[i]),
            int(held_after[i]),
            int(leads_before[i]),
            int(leads_after[i]),
            int(into[i]),
            int(held_before[i] + into[i] - held_after[i]),
        )
        for i, broker in enumerate(problem.brokers)
    )


def _leads(plan: MovePlan, replicas: Ints) -> Ints:
    return np.bincount(replicas[:, 0], minlength=plan.problem.broker_count).astype(np.int32)


def _evenness(load: Floats, members: Flags) -> Evenness:
    among = load[members]
    mean = float(among.mean()) if len(among) else 0.0
    if mean <= 0:
        return Evenness(0.0, 0.0, 0.0)
    return Evenness(float(among.max()) / mean, float(among.min()) / mean, float(among.std()) / mean)
