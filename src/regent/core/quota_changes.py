"""Mutation quotas as the controller learns them, and what it then grants a request.

They are read when the first request of a reign wants partitions made or deleted, because no
failover should wait for them; from then on, changes are heard of like those of other configs.
"""

from collections.abc import Iterable

from regent.core.asks import Malformed, Procedure, ReadMutationQuotas, ask
from regent.core.isolation import isolate
from regent.core.mutation_quotas import MutationQuota, MutationQuotas
from regent.core.quota_entities import is_quota_entity
from regent.core.state import ControllerState
from regent.model.mutation_caller import MutationCaller


def grant_quota(
    state: ControllerState, caller: MutationCaller, now_ms: int
) -> Procedure[MutationQuota]:
    """What a request of this caller may do."""
    quotas = state.mutation_quotas
    if quotas is None:
        quotas = MutationQuotas(state.config.quota_samples * state.config.quota_sample_s)
        yield from _read(state, quotas, None)
        state.mutation_quotas = quotas
    return quotas.quota_for(caller, now_ms)


def on_quotas_changed(state: ControllerState, changed: Iterable[str]) -> Procedure[None]:
    """Read the quotas among these entities again; nothing, as long as no request wanted one."""
    entities = tuple(filter(is_quota_entity, changed))
    if state.mutation_quotas is not None and entities:
        yield from _read(state, state.mutation_quotas, entities)


def _read(
    state: ControllerState, quotas: MutationQuotas, entities: tuple[str, ...] | None
) -> Procedure[None]:
    """A quota that cannot be read stays as it was."""
    found = yield from ask(ReadMutationQuotas(entities))
    yield from isolate(state, [rate for rate in found.values() if isinstance(rate, Malformed)])
    for entity, rate in found.items():
        if not isinstance(rate, Malformed):
            quotas.set_rate(entity, rate)
