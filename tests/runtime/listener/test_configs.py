"""The configs of topics and brokers: what is told, what may be changed, and who hears of it."""

from typing import Any

import pytest

from regent.core.topic_configs import TOPIC_CONFIGS, misconfigured
from regent.model.admin_requests import CreateTopics, NewTopic
from regent.model.config_requests import (
    AlterConfigs,
    ConfigChange,
    ConfigChanges,
    ConfigDescription,
    ConfigEntry,
    ConfigOperation,
    ConfigQuestion,
    ConfigReplacement,
    ConfigResource,
    ConfigResult,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    DescribeConfigs,
    IncrementalAlterConfigs,
    ResourceType,
)
from regent.model.error_codes import ErrorCode
from regent.runtime.broker_config_table import BROKER_CONFIG_TABLE
from regent.runtime.topic_config_table import TOPIC_CONFIG_TABLE
from regent.zookeeper import paths
from regent.zookeeper.store import Create, SetData
from tests.runtime.listener.served_node import ServedCluster, ServedNode

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")
BROKER = ConfigResource(ResourceType.BROKER, "1")
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")
SET, DELETE, APPEND, SUBTRACT = ConfigOperation


@pytest.fixture
def node(cluster: ServedCluster) -> ServedNode:
    """A controller with a broker and a topic."""
    served = cluster.serve()
    cluster.start_brokers(1)
    served.ask(CreateTopics((NewTopic("orders", 1, 1),)), timeout_ms=10_000)
    return served


def change(
    node: ServedNode, resource: ConfigResource, *changes: tuple[str, int, str | None], **flags: bool
) -> ConfigResult:
    """Change one resource bit by bit; what became of it."""
    wish = ConfigChanges(resource, tuple(ConfigChange(n, op, value) for n, op, value in changes))
    (result,) = node.ask(IncrementalAlterConfigs((wish,), **flags)).results
    assert isinstance(result, ConfigResult)
    return result


def described(node: ServedNode, resource: ConfigResource, *names: str) -> dict[str, ConfigEntry]:
    question = ConfigQuestion(resource, names or None)
    (description,) = node.ask(DescribeConfigs((question,), with_synonyms=True)).results
    assert description.error is ErrorCode.NONE, description
    return {entry.name: entry for entry in description.entries}


def content(node: ServedNode, path: str) -> bytes | None:
    found = dict(node.do(node.desk.session._server.dump)).get(path)
    return None if found is None else found[0]


def announced(node: ServedNode) -> list[bytes | None]:
    dump = node.do(node.desk.session._server.dump)
    return [data for path, (data, _) in dump.items() if path.startswith("/config/changes/")]


# --- the tables ---------------------------------------------------------------------------------


def test_every_topic_config_has_a_default_that_it_may_have() -> None:
    assert list(TOPIC_CONFIG_TABLE) == list(TOPIC_CONFIGS)
    assert misconfigured({name: each.default for name, each in TOPIC_CONFIG_TABLE.items()}) is None


def test_what_topics_take_from_brokers_can_be_changed_there() -> None:
    names = {each.broker_name for each in TOPIC_CONFIG_TABLE.values() if each.broker_name}

    assert names - set(BROKER_CONFIG_TABLE) == {"log.message.format.version"}


# --- told ---------------------------------------------------------------------------------------


@pytest.mark.requirement("K1")
def test_a_topic_has_every_config_and_says_where_it_comes_from(node: ServedNode) -> None:
    change(node, ORDERS, ("retention.ms", SET, "1000"))
    change(node, ALL_BROKERS, ("log.retention.ms", SET, "2000"), ("log.segment.bytes", SET, "99"))

    told = described(node, ORDERS)

    assert list(told) == list(TOPIC_CONFIGS)
    assert told["retention.ms"] == ConfigEntry(
        "retention.ms",
        "1000",
        ConfigSource.TOPIC,
        synonyms=(
            ConfigSynonym("retention.ms", "1000", ConfigSource.TOPIC),
            ConfigSynonym("log.retention.ms", "2000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
            ConfigSynonym("log.retention.ms", "604800000", ConfigSource.DEFAULT),
        ),
        kind=ConfigType.LONG,
    )
    assert (told["segment.bytes"].value, told["segment.bytes"].source) == (
        "99",
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
    )
    assert told["remote.storage.enable"] == ConfigEntry(
        "remote.storage.enable", "false", ConfigSource.DEFAULT, kind=ConfigType.BOOLEAN
    )


@pytest.mark.parametrize("version", range(5))
def test_every_version_is_understood(node: ServedNode, version: int) -> None:
    question = ConfigQuestion(ORDERS, ("retention.ms",))

    (told,) = node.ask(DescribeConfigs((question,)), api_version=version).results

    assert [(each.name, each.value, each.source) for each in told.entries] == [
        ("retention.ms", "604800000", ConfigSource.DEFAULT)
    ]


def test_only_what_is_asked_for_is_told(node: ServedNode) -> None:
    assert list(described(node, ORDERS, "retention.ms", "nothing")) == ["retention.ms"]


@pytest.mark.requirement("K1")
def test_a_broker_says_what_is_set_on_it_and_on_all(node: ServedNode) -> None:
    change(node, BROKER, ("num.io.threads", SET, "3"))
    change(node, ALL_BROKERS, ("num.io.threads", SET, "4"), ("max.connections", SET, "5"))

    own, shared = ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER
    told = described(node, BROKER)
    assert {name: (each.value, each.source) for name, each in told.items()} == {
        "max.connections": ("5", shared),
        "num.io.threads": ("3", own),
    }
    assert [each.value for each in told["num.io.threads"].synonyms] == ["3", "4"]
    assert [each.value for each in described(node, ALL_BROKERS).values()] == ["5", "4"]


def test_passwords_are_not_told(node: ServedNode) -> None:
    """Nor what nobody here knows: it may be one."""
    secrets = b'{"version":1,"config":{"ssl.key.password":"x","my.plugin":"y"}}'
    node.do(lambda: node.desk.session.call((Create(paths.broker_config(1), secrets),)))

    told = described(node, BROKER)

    assert [(each.value, each.is_sensitive, each.is_read_only) for each in told.values()] == [
        (None, True, True),
        (None, True, True),
    ]
    assert told["my.plugin"].synonyms[0].value is None


@pytest.mark.parametrize(
    ("resource", "error"),
    [
        (ConfigResource(ResourceType.TOPIC, "nothing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ConfigResource(ResourceType.TOPIC, "in/valid"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (ConfigResource(ResourceType.BROKER, "one"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(8, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_there_is_refused_alike(
    node: ServedNode, resource: ConfigResource, error: ErrorCode
) -> None:
    """Whether it is to be told or to be changed; and what else is asked for is answered."""
    questions = (ConfigQuestion(resource), ConfigQuestion(BROKER))
    bad, good = node.ask(DescribeConfigs(questions)).results
    assert (bad.resource, bad.error, bad.entries) == (resource, error, ())
    assert good == ConfigDescription(BROKER)

    assert change(node, resource, ("retention.ms", SET, "1")).error is error
    assert announced(node) == []


def test_a_config_that_cannot_be_read_is_neither_told_nor_lost(node: ServedNode) -> None:
    node.do(lambda: node.desk.session.call((SetData(paths.topic_config("orders"), b"broken"),)))

    (told,) = node.ask(DescribeConfigs((ConfigQuestion(ORDERS),))).results
    result = change(node, ORDERS, ("retention.ms", SET, "1"))

    assert told.error is result.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "/config/topics/orders cannot be read" in str(told.message)
    assert content(node, paths.topic_config("orders")) == b"broken"


# --- changed ------------------------------------------------------------------------------------


@pytest.mark.requirement("K1")
def test_a_change_is_written_and_announced(node: ServedNode) -> None:
    """As Kafka's brokers read it."""
    result = change(node, ORDERS, ("retention.ms", SET, "1000"))

    assert result == ConfigResult(ORDERS)
    written = content(node, paths.topic_config("orders"))
    assert written == b'{"version":1,"config":{"retention.ms":"1000"}}'
    assert announced(node) == [b'{"version":2,"entity_path":"topics/orders"}']


def test_changes_of_brokers_are_announced_too(node: ServedNode) -> None:
    change(node, BROKER, ("num.io.threads", SET, "3"))
    change(node, ALL_BROKERS, ("num.io.threads", SET, "3"))

    threads = b'{"version":1,"config":{"num.io.threads":"3"}}'
    assert content(node, "/config/brokers/1") == threads
    assert content(node, "/config/brokers/<default>") == threads
    assert announced(node) == [
        b'{"version":2,"entity_path":"brokers/1"}',
        b'{"version":2,"entity_path":"brokers/<default>"}',
    ]


def test_the_controller_hears_of_unclean_elections(node: ServedNode) -> None:
    change(node, ALL_BROKERS, ("unclean.leader.election.enable", SET, "true"))

    node.do(node.desk.pump)

    assert node.desk.state.unclean_default


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("cleanup.policy", APPEND, "compact")], {"cleanup.policy": "delete,compact"}),
        ([("cleanup.policy", APPEND, "delete")], {"cleanup.policy": "delete"}),
        ([("cleanup.policy", SUBTRACT, "delete")], {"cleanup.policy": ""}),
        ([("retention.ms", DELETE, None)], {}),
        ([("retention.ms", DELETE, None), ("flush.ms", SET, "5")], {"flush.ms": "5"}),
        ([], {}),
    ],
)
def test_changes_are_made_one_by_one(
    node: ServedNode, changes: list[Any], expected: dict[str, str]
) -> None:
    assert change(node, ORDERS, *changes).error is ErrorCode.NONE

    set_here = {
        name: entry.value
        for name, entry in described(node, ORDERS).items()
        if entry.source == ConfigSource.TOPIC
    }
    assert set_here == expected


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ([("nothing", SET, "1")], ErrorCode.INVALID_CONFIG, "no topic config nothing"),
        ([("retention.ms", SET, "x")], ErrorCode.INVALID_REQUEST, "retention.ms cannot be 'x'"),
        ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST, "needs a value"),
        ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_REQUEST, "not a list"),
        ([("retention.ms", 7, "1")], ErrorCode.INVALID_REQUEST, "no operation 7"),
        (
            [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
            ErrorCode.INVALID_REQUEST,
            "named more than once: retention.ms",
        ),
    ],
)
def test_what_cannot_be_is_refused_whole(
    node: ServedNode, changes: list[Any], error: ErrorCode, reason: str
) -> None:
    before = content(node, paths.topic_config("orders"))

    result = change(node, ORDERS, ("flush.ms", SET, "5"), *changes)

    assert result.error is error
    assert reason in str(result.message)
    assert content(node, paths.topic_config("orders")) == before
    assert announced(node) == []


@pytest.mark.parametrize(
    ("resource", "name", "value", "reason"),
    [
        (BROKER, "broker.id", "3", "cannot be changed while brokers run"),
        (BROKER, "num.io.threads", "0", "at least 1"),
        (BROKER, "num.io.threads", "many", "it is a int"),
        (BROKER, "log.retention.ms", "x", "the default of all topics"),
        (BROKER, "ssl.key.password", "x", "only a broker can encrypt this"),
        (ALL_BROKERS, "listeners", "PLAINTEXT://:1", "on single brokers only"),
        (ALL_BROKERS, "listener.name.x.ssl.keystore.type", "y", "on single brokers only"),
    ],
)
def test_what_brokers_would_not_take_is_refused(
    node: ServedNode, resource: ConfigResource, name: str, value: str, reason: str
) -> None:
    result = change(node, resource, (name, SET, value))

    assert result.error is ErrorCode.INVALID_REQUEST
    assert reason in str(result.message)


def test_who_only_wants_to_validate_changes_nothing(node: ServedNode) -> None:
    assert change(node, ORDERS, ("retention.ms", SET, "1"), validate_only=True).error == 0
    assert change(node, ORDERS, ("retention.ms", SET, "x"), validate_only=True).error != 0
    assert announced(node) == []


@pytest.mark.requirement("K1")
def test_alter_configs_sets_what_it_names_and_nothing_else(node: ServedNode) -> None:
    change(node, ORDERS, ("retention.ms", SET, "1000"))
    replacement = ConfigReplacement(ORDERS, (("flush.ms", "5"),))

    (result,) = node.ask(AlterConfigs((replacement,))).results

    assert result == ConfigResult(ORDERS)
    written = content(node, paths.topic_config("orders"))
    assert written == b'{"version":1,"config":{"flush.ms":"5"}}'


def test_a_replacement_needs_values(node: ServedNode) -> None:
    replacement = ConfigReplacement(ORDERS, (("flush.ms", None),))

    (result,) = node.ask(AlterConfigs((replacement,))).results

    assert result.error is ErrorCode.INVALID_REQUEST


def test_a_resource_may_be_named_once(node: ServedNode) -> None:
    one = ConfigChanges(ORDERS, (ConfigChange("flush.ms", SET, "5"),))
    other = ConfigChanges(BROKER, (ConfigChange("num.io.threads", SET, "5"),))

    results = node.ask(IncrementalAlterConfigs((one, other, one))).results

    assert [(each.resource, each.error) for each in results] == [
        (ORDERS, ErrorCode.INVALID_REQUEST),
        (BROKER, ErrorCode.NONE),
    ]


def test_a_standby_may_change_configs_too(cluster: ServedCluster, node: ServedNode) -> None:
    """As any broker of Kafka's may; the controller hears of it as of any other."""
    standby = cluster.serve(101)

    assert change(standby, ALL_BROKERS, ("unclean.leader.election.enable", SET, "true")).error == 0

    node.do(node.desk.pump)
    assert node.desk.state.unclean_default


def test_without_a_session_the_caller_hears_that_it_may_try_again(node: ServedNode) -> None:
    node.do(node.desk.session.close)

    result = change(node, ORDERS, ("retention.ms", SET, "1"))
    (told,) = node.ask(DescribeConfigs((ConfigQuestion(ORDERS),))).results

    assert result.error is told.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "try again" in str(result.message)
