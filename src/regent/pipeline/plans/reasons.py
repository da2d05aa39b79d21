"""Why a plan did not reach its goal, in sentences with the figures that show it."""

from collections.abc import Iterator

import numpy as np

from regent.pipeline.plans.bounds import Band
from regent.pipeline.plans.goals import MovePlan
from regent.pipeline.plans.problem import NOBODY, Flags, Floats, Problem, lead_of, load_of

SHOWN = 3


def balanced_load(plan: MovePlan, *, is_before: bool = False) -> Floats:
    """What each broker holds, or leads, of what the plan balances."""
    replicas = plan.problem.replicas if is_before else plan.replicas
    if plan.is_for_leaders:
        return lead_of(plan.problem, replicas)
    return load_of(plan.problem, replicas, plan.problem.weight)


def is_in_band(plan: MovePlan) -> bool:
    """Whether all members end in the band."""
    return bool(plan.band.holds(balanced_load(plan)[plan.members]).all())


def reaches_goal(plan: MovePlan) -> bool:
    """Whether everything was done that the goal asks for."""
    return not plan.unsolved and (is_in_band(plan) or not plan.is_for_band)


def why_not(plan: MovePlan) -> tuple[str, ...]:
    """Nothing when the goal is reached and all are in the band."""
    return (*_unsolved(plan), *(() if is_in_band(plan) else _out_of_band(plan)))


def _unsolved(plan: MovePlan) -> Iterator[str]:
    if not plan.unsolved:
        return
    problem, members = plan.problem, plan.members
    first = plan.unsolved[0]
    wanted = int((problem.replicas[first] != NOBODY).sum())
    some = ", ".join(map(problem.name, plan.unsolved[:SHOWN]))
    if wanted > int(members.sum()):
        why = f"{problem.name(first)} has {wanted} replicas and {int(members.sum())} brokers may"
        why += " hold them"
    elif np.isfinite(problem.capacity[members]).any():
        why = "no broker that may hold them has the capacity"
    else:
        why = "no broker that may hold them was found"
    yield f"{len(plan.unsolved):,} partitions are not as they shall be ({some}): {why}"


def _out_of_band(plan: MovePlan) -> Iterator[str]:
    problem, band = plan.problem, plan.band
    load = balanced_load(plan)
    outside = plan.members & ~band.holds(load)
    ids = [b.broker_id for b, is_out in zip(problem.brokers, outside, strict=True) if is_out]
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    yield (
        f"{len(ids)} of {int(plan.members.sum())} brokers end outside the band"
        f" ({', '.join(map(str, ids[:SHOWN]))}{more})"
    )
    yield from _too_heavy(plan, band)
    if not plan.is_for_leaders:
        yield from _narrow_racks(plan, outside, load)
        yield from _full_brokers(problem, plan, outside)
    if not plan.is_for_band:
        yield "this goal moves only what it must; `rebalance` evens out the rest"


def _too_heavy(plan: MovePlan, band: Band) -> Iterator[str]:
    """A replica that is heavier than the band is wide can jump over it."""
    weight = plan.problem.leader_weight if plan.is_for_leaders else plan.problem.weight
    width = band.high - band.low
    heavy = np.flatnonzero(weight > width)
    if len(heavy):
        heaviest = int(weight.argmax())
        yield (
            f"partition {plan.problem.name(heaviest)} alone weighs {weight[heaviest]:,.0f}"
            f" {plan.problem.unit}, and the band is {width:,.0f} wide"
            + (f" ({len(heavy):,} are heavier than that)" if len(heavy) > 1 else "")
        )


def _narrow_racks(plan: MovePlan, outside: Flags, load: Floats) -> Iterator[str]:
    """A rack must hold one replica of each partition that has one in every rack."""
    problem = plan.problem
    count = int(plan.members.sum())
    wide = int((plan.replicas != NOBODY).sum(axis=1).max(initial=1))
    codes = problem.rack_of[plan.members]
    sizes = {int(code): int((codes == code).sum()) for code in np.unique(codes)}
    for code, size in sizes.items():
        name = problem.brokers[int(np.flatnonzero(problem.rack_of == code)[0])].rack
        there = plan.members & (problem.rack_of == code)
        is_over = bool((outside & there & (load > plan.band.high)).any())
        fair = count / min(len(sizes), wide)
        if name is not None and 1 < len(sizes) <= wide and is_over and size < fair:
            brokers = "1 broker" if size == 1 else f"{size} brokers"
            yield (
                f"rack {name} has {brokers} of {count}, and each partition with {wide} replicas"
                " needs one of them there"
            )


def _full_brokers(problem: Problem, plan: MovePlan, outside: Flags) -> Iterator[str]:
    if problem.size is None:
        return
    used = load_of(problem, plan.replicas, problem.size)
    limited = plan.members & np.isfinite(problem.capacity)
    full = limited & (problem.capacity < plan.band.low)
    tight = limited & outside & (used > 0.95 * problem.capacity)
    for position in np.flatnonzero(full | tight)[:SHOWN].tolist():
        broker = problem.brokers[position].broker_id
        yield (
            f"broker {broker} may hold {problem.capacity[position]:,.0f} bytes and has"
            f" {used[position]:,.0f}"
        )
