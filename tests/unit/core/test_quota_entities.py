"""Whose quota holds, and who shares it."""

import pytest

from regent.core.quota_entities import QuotaFound, QuotaHolder, is_quota_entity, quota_of, sanitised
from regent.model.mutation_caller import MutationCaller

CALLER = MutationCaller("app", "u")
BOTH, USER, CLIENT = QuotaHolder("u", "app"), QuotaHolder("u", ""), QuotaHolder("", "app")

# Kafka 3.9, ClientQuotaManager.scala: the order of its comment, and the tags of its metrics.
KAFKA_ORDER = [
    ("users/u/clients/app", BOTH),
    ("users/u/clients/<default>", BOTH),
    ("users/u", USER),
    ("users/<default>/clients/app", BOTH),
    ("users/<default>/clients/<default>", BOTH),
    ("users/<default>", USER),
    ("clients/app", CLIENT),
    ("clients/<default>", CLIENT),
]


@pytest.mark.parametrize("first", range(len(KAFKA_ORDER)))
def test_the_closest_quota_holds(first: int) -> None:
    """Whatever stands further away."""
    set_ = [entity for entity, _ in KAFKA_ORDER[first:]]

    assert quota_of(CALLER, set_) == QuotaFound(*KAFKA_ORDER[first])


def test_who_has_no_quota_is_nobodys_holder() -> None:
    """The quotas of others are not his."""
    others = ["users/v", "clients/other", "users/v/clients/app", "users/u/clients/other", "users"]

    assert quota_of(CALLER, others) is None


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("plain-1.0_x", "plain-1.0_x"),
        ("<default>", "%3Cdefault%3E"),
        ("a b/c*~+%", "a%20b%2Fc%2A%7E%2B%25"),
        ("\u00fc", "%C3%BC"),
    ],
)
def test_names_stand_in_paths_as_kafka_writes_them(name: str, path: str) -> None:
    """As its Sanitizer: nobody gets another's quota, or everybody's, by his name."""
    assert sanitised(name) == path
    assert quota_of(MutationCaller(name), [f"clients/{path}"]) is not None


@pytest.mark.parametrize(
    "entity",
    ["users/u", "users/<default>", "users/u/clients/<default>", "clients/a%20b", "clients/..."],
)
def test_an_entity_that_can_have_a_quota_is_known(entity: str) -> None:
    """By its whole name."""
    assert is_quota_entity(entity)


@pytest.mark.parametrize(
    "entity",
    [
        *("topics/t", "users", "users/", "users//clients/a", "users/u/clients", "users/a/b/c"),
        *("users/..", "users/.", "users/../clients/a", "clients/a/", "clients/a\n", "clients/\0"),
    ],
)
def test_no_other_announcement_becomes_a_path(entity: str) -> None:
    """Anybody may write announcements."""
    assert not is_quota_entity(entity)
