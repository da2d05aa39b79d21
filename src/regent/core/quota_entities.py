"""Whose quota holds for a caller, and with whom he shares it: Kafka's order of entities.

An entity is named as in announcements of changed configs, and so as its znode under `/config`:
`users/u`, `clients/c`, `users/u/clients/c`, with `<default>` for everybody else.
"""

import re
from collections.abc import Container
from typing import Final, NamedTuple

from regent.model.mutation_caller import MutationCaller

USERS: Final = "users"
CLIENTS: Final = "clients"
_ESCAPED: Final = re.compile(rb"[^A-Za-z0-9._-]")
_NAME: Final = r"(?!\.{1,2}(?:/|$))(?:<default>|[A-Za-z0-9._%-]+)"
_ENTITY: Final = re.compile(f"users/{_NAME}(?:/clients/{_NAME})?|clients/{_NAME}")

#: The first that is set holds (Kafka 3.9, ClientQuotaManager.scala, DefaultQuotaCallback).
PRECEDENCE: Final = (
    "users/{user}/clients/{client}",
    "users/{user}/clients/<default>",
    "users/{user}",
    "users/<default>/clients/{client}",
    "users/<default>/clients/<default>",
    "users/<default>",
    "clients/{client}",
    "clients/<default>",
)


class QuotaHolder(NamedTuple):
    """Those who share one bucket: a user, a client id, or both; what is empty does not matter."""

    user: str
    client_id: str


class QuotaFound(NamedTuple):
    """The entity whose quota holds, and who shares the bucket."""

    entity: str
    holder: QuotaHolder


def quota_of(caller: MutationCaller, entities: Container[str]) -> QuotaFound | None:
    """Which of these entities holds for a caller, if any does."""
    names = {"user": sanitised(caller.user), "client": sanitised(caller.client_id)}
    for level in PRECEDENCE:
        entity = level.format(**names)
        if entity in entities:
            # What is not part of the path does not tell callers apart.
            parts = level.split("/")
            user = caller.user if USERS in parts else ""
            client_id = caller.client_id if CLIENTS in parts else ""
            return QuotaFound(entity, QuotaHolder(user, client_id))
    return None


def is_quota_entity(entity: str) -> bool:
    """Whether a quota can stand there; what anybody may announce must not become any path."""
    return _ENTITY.fullmatch(entity) is not None


def sanitised(name: str) -> str:
    """A name as Kafka makes it fit for a path: nobody can be called `<default>`."""
    return _ESCAPED.sub(lambda found: b"%%%02X" % ord(found[0]), name.encode()).decode()
