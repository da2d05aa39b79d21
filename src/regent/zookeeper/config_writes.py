"""Changing a config: read it, decide what it shall be, write and announce it in one step.

As Kafka's brokers since 3.7 do, nothing is changed while no controller of the ZooKeeper era is in
office. Beyond what they do, the write is conditional: of two changes at the same time neither is
lost, and a topic that is deleted meanwhile leaves no config behind.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from regent.core.asks import Malformed
from regent.errors import CorruptZnode
from regent.model.error_codes import ErrorCode
from regent.zookeeper import paths
from regent.zookeeper.config_znodes import config_path, owner_path, to_config
from regent.zookeeper.exchange import (
    RACES_MAX,
    Exchange,
    is_lost,
    read_many,
    send,
    unexpected,
)
from regent.zookeeper.notice_znodes import encode_config_change
from regent.zookeeper.store import (
    Check,
    Create,
    Data,
    Delete,
    Multi,
    MultiDone,
    MultiFailed,
    SetData,
)
from regent.zookeeper.znodes import decode_controller, encode_config

#: What the name of an announcement starts with; ZooKeeper puts ten digits behind it.
ANNOUNCEMENT: Final = f"{paths.CONFIG_CHANGES}/config_change_"


class ConfigRefusal(Struct, frozen=True):
    """Why a config stays as it is."""

    error: ErrorCode
    message: str


#: From what is set to what shall be set, or why not.
Decide: TypeAlias = Callable[[dict[str, str]], dict[str, str] | ConfigRefusal]


def change_config(
    entity: str, decide: Decide, *, validate_only: bool = False
) -> Exchange[ConfigRefusal | None]:
    """Decide on what is there now, as often as somebody else is faster; None: done.

    After a lost connection it is decided again, so that a change which took hold is made twice.
    Both `decide` and those who hear the announcement can bear that.
    """
    owner = owner_path(entity)
    looked_at = [paths.CONTROLLER, config_path(entity), *([owner] if owner else [])]
    for _ in range(RACES_MAX):
        controller, config, *owners = yield from read_many(looked_at)
        refusal = _no_controller(controller) or _no_owner(entity, owners)
        if refusal is not None:
            return refusal
        current = to_config(entity, config)
        if isinstance(current, Malformed):
            message = f"{current.path} cannot be read: {current.reason}"
            return ConfigRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, message)
        wanted = decide(current)
        if isinstance(wanted, ConfigRefusal) or validate_only:
            return wanted if isinstance(wanted, ConfigRefusal) else None
        unchanged = {paths.CONTROLLER: controller, **({owner: owners[0]} if owner else {})}
        checks = [Check(path, found.stat.version) for path, found in unchanged.items() if found]
        (reply,) = yield from send((Multi((*checks, *_writes(entity, config, wanted))),))
        if isinstance(reply, MultiDone):
            return None
        if not isinstance(reply, MultiFailed) and not is_lost(reply):
            raise unexpected(reply)
    message = f"somebody else was faster {RACES_MAX} times in a row"
    return ConfigRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, message)


def _writes(
    entity: str, config: Data | None, wanted: dict[str, str]
) -> tuple[Create | SetData | Delete | Check, ...]:
    path, content = config_path(entity), encode_config(wanted)
    return (
        Create(path, content) if config is None else SetData(path, content, config.stat.version),
        Create(ANNOUNCEMENT, encode_config_change(entity), sequential=True),
    )


def _no_controller(found: Data | None) -> ConfigRefusal | None:
    if found is None:
        message = "there is no controller at the moment; try again"
        return ConfigRefusal(ErrorCode.NOT_CONTROLLER, message)
    try:
        holder = decode_controller(found.data)
    except CorruptZnode as corrupt:
        return ConfigRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, str(corrupt))
    if holder.kraft_controller_epoch > 0:
        message = f"KRaft controller {holder.broker_id} has claimed the cluster"
        return ConfigRefusal(ErrorCode.NOT_CONTROLLER, message)
    return None


def _no_owner(entity: str, owners: list[Data | None]) -> ConfigRefusal | None:
    if all(found is not None for found in owners):
        return None
    name = entity.partition("/")[2]
    return ConfigRefusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
