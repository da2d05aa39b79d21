"""The mutation quotas of users and clients, as Kafka keeps them under `/config`.

A user's znode holds the quotas of the user and has those of its clients below, at `clients`. Other
quotas, and whatever else is configured there, are not looked at.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Final

from regent.core.asks import Malformed, ReadMutationQuotas
from regent.core.quota_entities import CLIENTS, USERS
from regent.zookeeper.config_znodes import config_path, to_config
from regent.zookeeper.exchange import Exchange, read, read_many, unexpected
from regent.zookeeper.store import Children, Data, Failed, GetChildren, ZkError

#: Partitions a second.
MUTATION_RATE: Final = "controller_mutation_rate"


def read_mutation_quotas(
    ask: ReadMutationQuotas,
) -> Exchange[dict[str, float | Malformed | None]]:
    """No znode means no quota, and so does one without this setting."""
    entities: Sequence[str] | None = ask.entities
    if entities is None:
        entities = yield from _list_entities()
    found = yield from read_many([config_path(entity) for entity in entities])
    return {
        entity: _to_rate(entity, config) for entity, config in zip(entities, found, strict=True)
    }


def _list_entities() -> Exchange[list[str]]:
    """All users, all clients, and the clients of each user."""
    users, clients = yield from _list_below((USERS, CLIENTS))
    below = yield from _list_below([f"{user}/{CLIENTS}" for user in users])
    return [*users, *clients, *(entity for each in below for entity in each)]


def _list_below(parents: Sequence[str]) -> Exchange[list[list[str]]]:
    """The entities below each of these, by their whole names; none where there is no parent."""
    if not parents:
        return []
    replies = yield from read([GetChildren(config_path(parent)) for parent in parents])
    entities: list[list[str]] = []
    for parent, reply in zip(parents, replies, strict=True):
        if isinstance(reply, Children):
            entities.append([f"{parent}/{name}" for name in reply.names])
        elif isinstance(reply, Failed) and reply.error is ZkError.NO_NODE:
            entities.append([])
        else:
            raise unexpected(reply)
    return entities


def _to_rate(entity: str, found: Data | None) -> float | Malformed | None:
    config = to_config(entity, found)
    if isinstance(config, Malformed):
        return config
    text = config.get(MUTATION_RATE)
    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not isfinite(rate) or rate <= 0:
        reason = f"expected a {MUTATION_RATE} above 0, found {text!r}"
        return Malformed(config_path(entity), reason)
    return rate
