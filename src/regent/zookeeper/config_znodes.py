"""The configs of topics and others as they stand in ZooKeeper, for those who want to know them.

An entity is named as in announcements of changes: `topics/t`, `brokers/1`, `brokers/<default>`.
"""

from collections.abc import Sequence
from typing import Final

from regent.core.asks import Malformed
from regent.errors import CorruptZnode
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, read_many
from regent.zookeeper.store import Data
from regent.zookeeper.znodes import decode_config

_TOPICS: Final = "topics/"


def topic_entity(name: str) -> str:
    """A topic; the name must be one that a topic can have."""
    return f"{_TOPICS}{name}"


def broker_entity(broker_id: int | None) -> str:
    """A broker, or (None) all of them."""
    return f"brokers/{'<default>' if broker_id is None else broker_id}"


def config_path(entity: str) -> str:
    """Where an entity's config stands."""
    return f"/config/{entity}"


def owner_path(entity: str) -> str | None:
    """What must be there for the entity to exist.

    None for brokers: they may be configured before they come for the first time.
    """
    if entity.startswith(_TOPICS):
        return paths.topic(entity.removeprefix(_TOPICS))
    return None


def read_configs(entities: Sequence[str]) -> Exchange[dict[str, dict[str, str] | Malformed | None]]:
    """What is set on each; None for a topic that does not exist."""
    owners = [path for path in map(owner_path, entities) if path is not None]
    found_owners = yield from read_many(owners)
    missing = {path for path, found in zip(owners, found_owners, strict=True) if found is None}
    found = yield from read_many([config_path(entity) for entity in entities])
    return {
        entity: None if owner_path(entity) in missing else to_config(entity, config)
        for entity, config in zip(entities, found, strict=True)
    }


def to_config(entity: str, found: Data | None) -> dict[str, str] | Malformed:
    """A config as it was read; no znode means that nothing is set."""
    try:
        return decode_config(config_path(entity), found.data if found else None)
    except CorruptZnode as corrupt:
        return Malformed(corrupt.path, corrupt.reason)
