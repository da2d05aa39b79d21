"""Configs that change while the controller is in office: unclean elections (T4), and quotas.

Kafka's controller hears of a changed config from the broker that it is part of. This one need not
be part of any, so it watches the announcements itself. Time removes them and nobody else, so those
already looked at are remembered by name.

The dynamic config of a single broker is not looked at: it would be a setting of whichever broker
happens to be the controller.
"""

from typing import Final

from regent.core.asks import (
    Malformed,
    Procedure,
    ReadBrokerDefaults,
    ReadConfigChanges,
    ReadTopicConfigs,
    ask,
)
from regent.core.events import ConfigsChanged
from regent.core.isolation import isolate
from regent.core.leader_elections import unclean_in
from regent.core.partition_machine import move_partitions, try_online
from regent.core.quota_changes import on_quotas_changed
from regent.core.state import ControllerState, Partition
from regent.model.states import PartitionState

BROKER_DEFAULTS: Final = "brokers/<default>"
TOPICS: Final = "topics"
#: States in which a partition waits for a leader.
WAITING: Final = (PartitionState.OFFLINE, PartitionState.NEW)


def learn_configs(state: ControllerState) -> Procedure[None]:
    """At the start of a reign: the defaults are read, so what was announced before is old news.

    In this order, so that a change between the two is news.
    """
    yield from _read_news(state)
    yield from _learn_default(state)


def on_configs_changed(state: ControllerState, _event: ConfigsChanged) -> Procedure[None]:
    """Know the quotas of now, and try the partitions that may be led uncleanly from now on."""
    changed = yield from _read_news(state)
    yield from on_quotas_changed(state, changed)
    if BROKER_DEFAULTS in changed:
        was_allowed = state.unclean_default
        yield from _learn_default(state)
        if state.unclean_default and not was_allowed:
            yield from try_online(state)
    topics = [name for kind, _, name in (each.partition("/") for each in changed) if kind == TOPICS]
    yield from _try_unclean_topics(state, tuple(name for name in topics if name in state.topics))


def _read_news(state: ControllerState) -> Procedure[dict[str, None]]:
    """The entities in announcements that have not been looked at, each once."""
    announcements = yield from ask(ReadConfigChanges())
    seen = state.config_changes_seen
    news = [said for name, said in announcements if name not in seen]
    state.config_changes_seen = dict.fromkeys(name for name, _ in announcements)
    yield from isolate(state, [said for said in news if isinstance(said, Malformed)])
    return dict.fromkeys(said for said in news if not isinstance(said, Malformed))


def _learn_default(state: ControllerState) -> Procedure[None]:
    """Defaults that cannot be read leave everything as it was."""
    defaults = yield from ask(ReadBrokerDefaults())
    if isinstance(defaults, Malformed):
        yield from isolate(state, [defaults])
    else:
        state.dynamic_unclean = unclean_in(defaults)


def _try_unclean_topics(state: ControllerState, topics: tuple[str, ...]) -> Procedure[None]:
    """Try the waiting partitions of the topics that allow unclean elections themselves."""
    if not topics:
        return
    configs = yield from ask(ReadTopicConfigs(topics))
    yield from isolate(state, [found for found in configs.values() if isinstance(found, Malformed)])
    allowed = [
        topic
        for topic, config in configs.items()
        if not isinstance(config, Malformed) and unclean_in(config)
    ]
    waiting = [p for topic in allowed for p in _waiting_in(state, topic)]
    if waiting:
        yield from move_partitions(state, waiting, PartitionState.ONLINE)


def _waiting_in(state: ControllerState, topic: str) -> list[Partition]:
    if state.is_being_deleted(topic):
        return []
    return [p for p in state.topics[topic].partitions.values() if p.state in WAITING]
