"""Changing a config: conditional, announced, and decided afresh when somebody else was faster."""

import pytest

from regent.model.error_codes import ErrorCode
from regent.zookeeper import paths
from regent.zookeeper.config_writes import ConfigRefusal, change_config
from regent.zookeeper.config_znodes import broker_entity, read_configs, topic_entity
from regent.zookeeper.exchange import run
from regent.zookeeper.memory_session import MemorySession
from regent.zookeeper.store import Create, Delete, SetData
from regent.zookeeper.znodes import decode_config, encode_config
from tests.unit.zookeeper.world import Fault, FaultySession, World, run_with_interference

ORDERS = topic_entity("orders")
CONFIG = paths.topic_config("orders")


def with_count(configs: dict[str, str]) -> dict[str, str]:
    """A change that shows how often it was made."""
    return {**configs, "count": str(int(configs.get("count", "0")) + 1)}


def world_with_orders() -> World:
    world = World()
    world.add_topic("orders", None)
    return world


def configured(world: World) -> dict[str, str]:
    return decode_config(CONFIG, world.contents()[CONFIG][0])


def announcements(world: World) -> list[bytes | None]:
    prefix = f"{paths.CONFIG_CHANGES}/"
    return [data for path, (data, _) in world.contents().items() if path.startswith(prefix)]


def test_it_is_written_and_announced_in_one_step() -> None:
    world = world_with_orders()

    assert run(world.session, change_config(ORDERS, with_count)) is None
    assert run(world.session, change_config(ORDERS, with_count)) is None

    assert configured(world) == {"count": "2"}
    assert announcements(world) == [b'{"version":2,"entity_path":"topics/orders"}'] * 2


def test_announcements_are_numbered() -> None:
    world = world_with_orders()

    run(world.session, change_config(ORDERS, with_count))

    assert f"{paths.CONFIG_CHANGES}/config_change_0000000000" in world.contents()


@pytest.mark.parametrize("exists", [True, False])
def test_of_two_changes_at_once_neither_is_lost(exists: bool) -> None:  # noqa: FBT001
    world = world_with_orders()
    if exists:
        world.write(Create(CONFIG, encode_config({})))

    def interfere() -> None:
        other = MemorySession(world.server)
        assert run(other, change_config(ORDERS, lambda now: {**now, "other": "1"})) is None

    run_with_interference(world.session, change_config(ORDERS, with_count), interfere, after=1)

    assert configured(world) == {"count": "1", "other": "1"}


@pytest.mark.parametrize("applied", [True, False])
def test_after_a_lost_connection_it_is_decided_again(applied: bool) -> None:  # noqa: FBT001
    """It may then have been made twice, which whoever decides must bear."""
    world = world_with_orders()
    session = FaultySession(world.session, Fault(call=1, position=0, applied=applied))

    assert run(session, change_config(ORDERS, with_count)) is None

    assert configured(world) == {"count": "2" if applied else "1"}


def test_a_topic_that_goes_meanwhile_leaves_no_config() -> None:
    """Otherwise the next topic of that name would inherit it."""
    world = world_with_orders()

    def interfere() -> None:
        world.write(Delete(paths.partitions("orders")), Delete(paths.topic("orders")))

    refusal = run_with_interference(
        world.session, change_config(ORDERS, with_count), interfere, after=1
    )

    assert refusal == ConfigRefusal(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no topic 'orders'"
    )
    assert CONFIG not in world.contents()
    assert announcements(world) == []


def test_brokers_need_not_be_there() -> None:
    world = World()

    assert run(world.session, change_config(broker_entity(7), with_count)) is None
    assert run(world.session, change_config(broker_entity(None), with_count)) is None

    read = run(world.session, read_configs((broker_entity(7), broker_entity(None), ORDERS)))
    assert read == {"brokers/7": {"count": "1"}, "brokers/<default>": {"count": "1"}, ORDERS: None}


@pytest.mark.behaviour("zk-035")
def test_without_a_controller_nothing_is_changed() -> None:
    """As brokers since 3.7 do it: KRaft may be about to take over."""
    world = world_with_orders()
    world.write(Delete(paths.CONTROLLER))

    refusal = run(world.session, change_config(ORDERS, with_count))

    assert isinstance(refusal, ConfigRefusal)
    assert refusal.error is ErrorCode.NOT_CONTROLLER
    assert announcements(world) == []


def test_a_cluster_of_kraft_is_left_alone() -> None:
    world = world_with_orders()
    claimed = b'{"version":2,"brokerid":9,"timestamp":"0","kraftControllerEpoch":3}'
    world.write(SetData(paths.CONTROLLER, claimed))

    refusal = run(world.session, change_config(ORDERS, with_count))

    assert isinstance(refusal, ConfigRefusal)
    assert "KRaft controller 9" in refusal.message


def test_a_refusal_changes_nothing() -> None:
    world = world_with_orders()
    refusal = ConfigRefusal(ErrorCode.INVALID_CONFIG, "no")

    assert run(world.session, change_config(ORDERS, lambda _: refusal)) == refusal
    assert run(world.session, change_config(ORDERS, with_count, validate_only=True)) is None

    assert CONFIG not in world.contents()
