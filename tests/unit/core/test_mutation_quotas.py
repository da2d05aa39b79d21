"""Strict and permissive quotas (KIP-599): who is charged, who is refused, and who must wait."""

import pytest

from regent.core import mutation_quotas
from regent.core.mutation_quotas import (
    UNLIMITED,
    MutationQuota,
    MutationQuotas,
    PermissiveQuota,
    QuotaReading,
    StrictQuota,
)
from regent.core.quota_entities import QuotaHolder
from regent.core.token_bucket import QuotaRate
from regent.model.mutation_caller import MutationCaller

STRICT, PERMISSIVE = MutationCaller("app"), MutationCaller("app", knows_refusals=False)
NOW = 1_700_000_000_000


@pytest.fixture
def quotas() -> MutationQuotas:
    """Four a second for everybody, five seconds' worth at once."""
    quotas = MutationQuotas(window_s=5)
    quotas.set_rate("clients/<default>", 4)
    return quotas


def charges(quota: MutationQuota, *counts: int) -> list[bool]:
    """Which of these were granted."""
    return [quota.charge(count) is None for count in counts]


@pytest.mark.behaviour("quo-012")
def test_a_strict_quota_looks_before_it_charges(quotas: MutationQuotas) -> None:
    """20 becomes 5, then -10; the third is refused and costs nothing."""
    quota = quotas.quota_for(STRICT, NOW)

    assert charges(quota, 15, 15, 15) == [True, True, False]
    assert quota.throttle_ms == 2_500
    later = quotas.quota_for(STRICT, NOW + 1_000)
    assert charges(later, 15) == [False]
    assert later.throttle_ms == 1_500


def test_what_is_granted_makes_nobody_wait(quotas: MutationQuotas) -> None:
    """Even if it was more than there was: the next one waits."""
    quota = quotas.quota_for(STRICT, NOW)

    assert charges(quota, 100) == [True]
    assert quota.throttle_ms == 0


def test_a_permissive_quota_charges_for_everything(quotas: MutationQuotas) -> None:
    """Nobody is refused, and who has taken too much waits for all of it."""
    quota = quotas.quota_for(PERMISSIVE, NOW)

    assert charges(quota, 15) == [True]
    assert quota.throttle_ms == 0
    assert charges(quota, 15, 15) == [True, True]
    assert quota.throttle_ms == 25 * 250


@pytest.mark.behaviour("quo-015")
def test_steady_use_is_free_and_a_spike_must_be_worked_off(quotas: MutationQuotas) -> None:
    """The first spike is granted, the second must wait until the bucket is back at zero."""
    for second in range(10):
        assert charges(quotas.quota_for(STRICT, NOW + second * 1_000), 4) == [True]
    spike = NOW + 10_000

    assert charges(quotas.quota_for(STRICT, spike), 23) == [True]
    second_spike = quotas.quota_for(STRICT, spike)
    assert charges(second_spike, 23) == [False]
    assert second_spike.throttle_ms == 750
    assert charges(quotas.quota_for(STRICT, spike + 749), 23) == [False]
    assert charges(quotas.quota_for(STRICT, spike + 750), 23) == [True]


@pytest.mark.behaviour("quo-016")
def test_without_a_quota_all_have_the_same_unlimited_one() -> None:
    """And with one, the kind that was asked for."""
    quotas = MutationQuotas(window_s=5)

    assert quotas.quota_for(STRICT, NOW) is UNLIMITED
    assert quotas.quota_for(PERMISSIVE, NOW) is UNLIMITED
    assert charges(UNLIMITED, 10**9) == [True]
    assert UNLIMITED.throttle_ms == 0

    quotas.set_rate("users/ANONYMOUS", 4)

    assert isinstance(quotas.quota_for(STRICT, NOW), StrictQuota)
    assert isinstance(quotas.quota_for(PERMISSIVE, NOW), PermissiveQuota)


def test_clients_of_a_user_share_its_quota_and_others_have_their_own() -> None:
    """The bucket goes by what the entity names."""
    quotas = MutationQuotas(window_s=1)
    quotas.set_rate("users/ANONYMOUS", 1)
    quotas.quota_for(MutationCaller("a"), NOW).charge(5)
    quotas.set_rate("clients/<default>", 1)

    assert charges(quotas.quota_for(MutationCaller("b"), NOW), 1) == [False]
    quotas.set_rate("users/ANONYMOUS", None)
    assert charges(quotas.quota_for(MutationCaller("a"), NOW), 5, 1) == [True, False]
    assert charges(quotas.quota_for(MutationCaller("b"), NOW), 5, 1) == [True, False]


@pytest.mark.behaviour("quo-002")
@pytest.mark.fault("F95")
def test_a_bucket_is_shown_from_its_first_use_with_the_rate_of_now() -> None:
    """KAFKA-10458: eight samples of two seconds; a doubled quota doubles what holds."""
    quotas = MutationQuotas(window_s=8 * 2)
    quotas.set_rate("clients/app", 6)
    unused = quotas.readings(NOW)

    quotas.quota_for(STRICT, NOW).charge(1)
    before = quotas.readings(NOW)
    quotas.set_rate("clients/app", 12)
    after = quotas.readings(NOW + 1_000)

    holder = QuotaHolder("", "app")
    assert unused == []
    assert before == [QuotaReading(holder, QuotaRate(6, 96), 95)]
    assert after == [QuotaReading(holder, QuotaRate(12, 192), 107)]
    quotas.set_rate("clients/app", None)
    assert quotas.readings(NOW) == []


def test_buckets_that_are_full_again_are_forgotten_when_there_are_many(
    quotas: MutationQuotas, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client id costs nothing; who owes something is remembered."""
    monkeypatch.setattr(mutation_quotas, "BUCKETS_MAX", 3)
    quotas = MutationQuotas(window_s=5)
    quotas.set_rate("clients/<default>", 4)
    for client_id, count in (("debtor", 100), ("b", 1), ("c", 1)):
        quotas.quota_for(MutationCaller(client_id), NOW).charge(count)

    quotas.quota_for(MutationCaller("d"), NOW + 1_000).charge(1)

    shown = [reading.holder.client_id for reading in quotas.readings(NOW + 1_000)]
    assert shown == ["debtor", "d"]
    assert charges(quotas.quota_for(MutationCaller("debtor"), NOW + 1_000), 1) == [False]
