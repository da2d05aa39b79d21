"""Mutation quotas as they stand in ZooKeeper."""

import pytest

from regent.core.asks import Malformed, ReadMutationQuotas
from regent.zookeeper.config_writes import change_config
from regent.zookeeper.exchange import run
from regent.zookeeper.store import Create, Delete
from regent.zookeeper.znodes import encode_config
from tests.unit.zookeeper.world import World


def rate(text: str) -> bytes:
    return encode_config({"controller_mutation_rate": text, "producer_byte_rate": "1"})


@pytest.fixture
def world() -> World:
    """Quotas at every place where one can stand."""
    world = World()
    world.write(
        Create("/config/clients/app", rate("1")),
        Create("/config/clients/<default>", rate("2.5")),
        Create("/config/users/u", encode_config({"SCRAM-SHA-256": "salt"})),
        Create("/config/users/u/clients"),
        Create("/config/users/u/clients/app", rate("3")),
        Create("/config/users/<default>", rate("4e0")),
        Create("/config/users/<default>/clients"),
        Create("/config/users/<default>/clients/<default>", rate("5")),
    )
    return world


def test_all_quotas_are_found_wherever_they_stand(world: World) -> None:
    """And nothing else that is configured there."""
    assert world.ask(ReadMutationQuotas()) == {
        "users/<default>": 4.0,
        "users/u": None,
        "clients/<default>": 2.5,
        "clients/app": 1.0,
        "users/<default>/clients/<default>": 5.0,
        "users/u/clients/app": 3.0,
    }


def test_where_nothing_is_configured_there_are_none() -> None:
    """Not even the places where quotas would stand."""
    world = World()
    assert world.ask(ReadMutationQuotas()) == {}

    world.write(Delete("/config/users"), Delete("/config/clients"))

    assert world.ask(ReadMutationQuotas()) == {}


def test_some_can_be_read_by_name(world: World) -> None:
    """One that is not there any more sets no limit."""
    asked = ("users/u/clients/app", "clients/gone")

    assert world.ask(ReadMutationQuotas(asked)) == {asked[0]: 3.0, asked[1]: None}


@pytest.mark.parametrize("text", ["fast", "0", "-1", "nan", "inf", ""])
def test_a_rate_that_is_none_is_named(world: World, text: str) -> None:
    """Kafka's tools write no such thing; people do."""
    run(world.session, change_config("clients/app", lambda _: {"controller_mutation_rate": text}))

    reason = f"expected a controller_mutation_rate above 0, found {text!r}"
    assert world.ask(ReadMutationQuotas(("clients/app", "clients/<default>"))) == {
        "clients/app": Malformed("/config/clients/app", reason),
        "clients/<default>": 2.5,
    }


def test_a_znode_that_cannot_be_read_spoils_no_other(world: World) -> None:
    """Each by itself."""
    world.write(Create("/config/clients/broken", b"{"))

    found = world.ask(ReadMutationQuotas())

    assert isinstance(found["clients/broken"], Malformed)
    assert found["clients/app"] == 1.0
