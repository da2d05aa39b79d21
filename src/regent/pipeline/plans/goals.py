"""What a plan is for. Each goal is a function from a problem to a plan.

| goal | moves | bound |
| --- | --- | --- |
| rebalance | from brokers over the band to brokers under it | of any plan that ends in the band |
| drain | all that lies on some brokers, and nothing else | what lies there |
| add | to the added brokers only | of any plan that ends in the band |
| leaders | nothing; replicas change their order | 0 |
| set_rf | what every partition lacks | what they lack |
| fix_offline | replicas on dead brokers, of partitions with somebody to copy from | those |

A partition with a replica on a dead broker is not moved for the sake of balance: its reassignment
could not end before that broker is back.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from regent.errors import BadInput
from regent.pipeline.plans.bounds import Band, band_bound, make_band
from regent.pipeline.plans.draft import Draft
from regent.pipeline.plans.leaders import balance_leaders
from regent.pipeline.plans.placing import Placed
from regent.pipeline.plans.problem import NOBODY, Flags, Floats, Ints, Problem, lead_of
from regent.pipeline.plans.replication import add_replicas, drop_replicas
from regent.pipeline.plans.solver import Roles, balance, empty_brokers

BAND = 0.02


class MovePlan(Struct, frozen=True):
    """Where every replica shall be, and what was promised of it."""

    goal: str
    problem: Problem
    #: Positions of brokers, as in the problem.
    replicas: Ints
    #: Who shall end in the band.
    members: Flags
    band: Band
    #: What any plan for this goal must move at least.
    bound: float
    #: Whether the goal is to be in the band; else that is only told.
    is_for_band: bool = False
    #: Whether it is about who leads, and not about who holds.
    is_for_leaders: bool = False
    #: Partitions for which the goal could not be reached.
    unsolved: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def rebalance(problem: Problem, *, band: float = BAND, exclude: Sequence[int] = ()) -> MovePlan:
    """Bring all live brokers into the band; excluded ones are left as they are."""
    members = _live(problem) & ~problem.mask(exclude)
    _need_members(members)
    draft = Draft(problem)
    nobody = np.zeros_like(members)
    roles = Roles(members=members, leaving=nobody, receiving=members, giving=members)
    return _balanced("rebalance", draft, roles, band)


def add(
    problem: Problem, added: Sequence[int], *, band: float = BAND, exclude: Sequence[int] = ()
) -> MovePlan:
    """Give new brokers their share, from the fullest of the others, and move nothing else."""
    receiving = _named(problem, added, "add")
    members = (_live(problem) & ~problem.mask(exclude)) | receiving
    nobody = np.zeros_like(members)
    roles = Roles(members=members, leaving=nobody, receiving=receiving, giving=members & ~receiving)
    return _balanced(f"add {_listed(added)}", Draft(problem), roles, band)


def drain(
    problem: Problem,
    drained: Sequence[int],
    *,
    band: float = BAND,
    exclude: Sequence[int] = (),
    and_balance: bool = False,
) -> MovePlan:
    """Leave nothing on these brokers; with `and_balance` bring the others into the band too."""
    leaving = _named(problem, drained, "drain", needs_life=False)
    members = _live(problem) & ~leaving & ~problem.mask(exclude)
    _need_members(members)
    giving = members if and_balance else np.zeros_like(members)
    roles = Roles(members=members, leaving=leaving, receiving=members, giving=giving)
    draft = Draft(problem)
    goal = f"drain {_listed(drained)}"
    if and_balance:
        return _balanced(f"{goal} and balance", draft, roles, band)
    return _emptied(goal, draft, roles, band, np.ones(len(problem.weight), dtype=np.bool_))


def fix_offline(problem: Problem, *, band: float = BAND, exclude: Sequence[int] = ()) -> MovePlan:
    """Replace the replicas on dead brokers, wherever a live one in sync can be copied."""
    live = _live(problem)
    members = live & ~problem.mask(exclude)
    _need_members(members)
    held = problem.replicas != NOBODY
    is_live = live[problem.replicas] & held
    has_source = (is_live & problem.columns.in_sync).any(axis=1)
    lost = np.flatnonzero((held & ~is_live).any(axis=1) & ~has_source)
    roles = Roles(members=members, leaving=~live, receiving=members, giving=np.zeros_like(members))
    plan = _emptied("fix-offline", Draft(problem), roles, band, has_source)
    if not len(lost):
        return plan
    some = ", ".join(problem.name(int(p)) for p in lost[:3])
    note = (
        f"{len(lost):,} partitions have no live replica in sync to copy from ({some}); bring one"
        " of their brokers back first"
    )
    return _with(plan, notes=(*plan.notes, note), unsolved=(*plan.unsolved, *lost.tolist()))


def set_rf(
    problem: Problem, factor: int, *, band: float = BAND, exclude: Sequence[int] = ()
) -> MovePlan:
    """Give every partition this many replicas."""
    members = _live(problem) & ~problem.mask(exclude)
    if not 1 <= factor <= int(members.sum()):
        raise BadInput(
            f"{factor} replicas need as many live brokers, and there are {int(members.sum())};"
            " choose a number from 1 to that"
        )
    draft = Draft(problem, factor)
    counts = (problem.replicas != NOBODY).sum(axis=1)
    bound = float((np.maximum(factor - counts, 0) * problem.weight).sum())
    goal_band = make_band(
        problem.weight,
        float((problem.weight * factor).sum()),
        int(members.sum()),
        band,
    )
    drop_replicas(draft, factor)
    placed = add_replicas(draft, factor, members, goal_band.high)
    return _finished(f"set-rf {factor}", draft, _Aim(members, goal_band, bound), placed)


def leaders(problem: Problem, *, band: float = BAND, exclude: Sequence[int] = ()) -> MovePlan:
    """Share leadership out by the order of replicas alone."""
    members = _live(problem) & ~problem.mask(exclude)
    _need_members(members)
    load = lead_of(problem, problem.replicas)
    goal_band = make_band(
        problem.leader_weight, float(load[members].sum()), int(members.sum()), band
    )
    return MovePlan(
        "leaders",
        problem,
        balance_leaders(problem, goal_band, members),
        members,
        goal_band,
        0.0,
        is_for_band=True,
        is_for_leaders=True,
        notes=problem.notes,
    )


# --- the two ways to get there ----------------------------------------------------------------


def _balanced(goal: str, draft: Draft, roles: Roles, tolerance: float) -> MovePlan:
    problem = draft.problem
    band = _band(draft.load, roles, problem, tolerance)
    bound = band_bound(draft.load, band, members=roles.members, leaving=roles.leaving)
    placed = empty_brokers(draft, roles, band, np.ones(len(problem.weight), dtype=np.bool_))
    balance(draft, roles, band, _all_live(problem, draft.replicas))
    plan = _finished(goal, draft, _Aim(roles.members, band, bound), placed)
    return _with(plan, is_for_band=True)


def _emptied(goal: str, draft: Draft, roles: Roles, tolerance: float, movable: Flags) -> MovePlan:
    problem = draft.problem
    band = _band(draft.load, roles, problem, tolerance)
    held = problem.replicas != NOBODY
    away = roles.leaving[problem.replicas] & held & movable[:, None]
    bound = float((away.sum(axis=1) * problem.weight).sum())
    placed = empty_brokers(draft, roles, band, movable)
    return _finished(goal, draft, _Aim(roles.members, band, bound), placed)


class _Aim(Struct, frozen=True):
    """What a plan is measured by."""

    members: Flags
    band: Band
    bound: float


def _finished(goal: str, draft: Draft, aim: _Aim, placed: Placed) -> MovePlan:
    problem = draft.problem
    unsolved = tuple(dict.fromkeys(each.partition for each in placed.homeless))
    notes = [*problem.notes]
    if placed.crowded:
        some = ", ".join(map(problem.name, placed.crowded[:3]))
        notes.append(
            f"{len(placed.crowded):,} partitions come to have more replicas in one rack ({some}):"
            " no broker in another rack can take them"
        )
    waiting = _waiting(problem, draft.replicas)
    if waiting:
        some = ", ".join(map(problem.name, waiting[:3]))
        notes.append(
            f"{len(waiting):,} partitions that move keep a replica on a dead broker ({some}): their"
            " moves end only when it is back; `fix-offline` first replaces it"
        )
    return MovePlan(
        goal,
        problem,
        draft.replicas,
        aim.members,
        aim.band,
        aim.bound,
        unsolved=unsolved,
        notes=tuple(notes),
    )


def _waiting(problem: Problem, after: Ints) -> list[int]:
    """Partitions that change and keep a dead replica."""
    width = problem.replicas.shape[1]
    is_changed = (after[:, :width] != problem.replicas).any(axis=1) | (
        after[:, width:] != NOBODY
    ).any(axis=1)
    waiting: list[int] = np.flatnonzero(is_changed & ~_all_live(problem, after)).tolist()
    return waiting


def _band(load: Floats, roles: Roles, problem: Problem, tolerance: float) -> Band:
    """Around the mean of what the members will hold together."""
    total = float(load[roles.members].sum() + load[roles.leaving].sum())
    return make_band(problem.weight, total, int(roles.members.sum()), tolerance)


def _with(plan: MovePlan, **changes: object) -> MovePlan:
    fields = {name: getattr(plan, name) for name in MovePlan.__struct_fields__}
    return MovePlan(**{**fields, **changes})


# --- who takes part ---------------------------------------------------------------------------


def _live(problem: Problem) -> Flags:
    return problem.is_live


def _all_live(problem: Problem, replicas: Ints) -> Flags:
    whole: Flags = ((replicas == NOBODY) | problem.is_live[replicas]).all(axis=1)
    return whole


def _named(
    problem: Problem, broker_ids: Sequence[int], verb: str, *, needs_life: bool = True
) -> Flags:
    if not broker_ids:
        raise BadInput(f"no broker was named; write `{verb} 4 5`")
    marked = problem.mask(broker_ids)
    dead = [b.broker_id for b, named in zip(problem.brokers, marked, strict=True) if named]
    dead = [b for b in dead if not problem.is_live[problem.position(b)]]
    if needs_life and dead:
        raise BadInput(f"broker {dead[0]} is not alive and can take nothing; start it first")
    return marked


def _need_members(members: Flags) -> None:
    if not members.any():
        raise BadInput("no live broker is left that could hold anything; exclude fewer")


def _listed(broker_ids: Sequence[int]) -> str:
    return ", ".join(map(str, broker_ids))
