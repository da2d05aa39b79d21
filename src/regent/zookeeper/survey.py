"""A look at a cluster before anything is written there, to learn whether it may be led at all.

Nothing is changed. Whether writing is allowed shows in a rehearsal: one transaction with the kinds
of writes that no controller can do without, which fails at its last operation in any case.
ZooKeeper checks each permission on the way there, and says at which write it would have refused.
"""

from itertools import compress
from typing import Final

from regent.core.asks import Malformed, ReadBrokers
from regent.errors import BadInput, CorruptZnode
from regent.model.brokers import RegisteredBroker
from regent.model.ids import BrokerId
from regent.zookeeper import paths
from regent.zookeeper.controller_znodes import unwatched_children
from regent.zookeeper.exchange import Exchange, data_or_none, read, read_one, unexpected
from regent.zookeeper.fencing import Op
from regent.zookeeper.reads import read_brokers
from regent.zookeeper.store import (
    Answered,
    Check,
    Create,
    Done,
    Exists,
    Failed,
    GetData,
    Multi,
    MultiFailed,
    SetData,
    ZkError,
)
from regent.zookeeper.znodes import decode_controller

#: Never made, whatever becomes of the rehearsal.
REHEARSED: Final = "/regent-rehearsal"
#: Where a controller creates something.
_PARENTS: Final = (
    paths.TOPICS,
    paths.TOPIC_DELETIONS,
    paths.TOPIC_CONFIGS,
    paths.CONFIG_CHANGES,
    paths.ISR_NOTIFICATIONS,
    paths.LOG_DIR_EVENTS,
)
#: What a new znode never has.
_NO_VERSION: Final = 2**31 - 1
_NOTHING_CHANGED: Final = "nothing was changed"


def survey_cluster() -> Exchange[dict[BrokerId, RegisteredBroker | Malformed]]:
    """The registered brokers, if a controller of ZooKeeper's time may lead them; else BadInput."""
    yield from _refuse_kraft()
    yield from _rehearse()
    return (yield from read_brokers(ReadBrokers()))


def _refuse_kraft() -> Exchange[None]:
    """A KRaft controller that migrates a cluster claims `/controller`, and for good."""
    found = data_or_none((yield from read_one(GetData(paths.CONTROLLER))))
    if found is None:
        return
    try:
        holder = decode_controller(found.data)
    except CorruptZnode:
        # Whoever stands for election reports it, and waits until it is gone.
        return
    if holder.kraft_controller_epoch > 0:
        raise BadInput(
            f"this cluster is moving to KRaft: {paths.CONTROLLER} names KRaft controller"
            f" {holder.broker_id} at its epoch {holder.kraft_controller_epoch}, and only KRaft may"
            f" lead it from then on; {_NOTHING_CHANGED}"
        )
    if found.stat.ephemeral_owner == 0:
        raise BadInput(
            f"{paths.CONTROLLER} names {holder.broker_id} and belongs to no session, so that nobody"
            " can be elected: a migration to KRaft leaves it like that. Delete it by hand if you"
            f" know that nobody leads this cluster; {_NOTHING_CHANGED}"
        )


def _rehearse() -> Exchange[None]:
    """Ask to write what a controller writes, in a transaction that cannot succeed."""
    present = yield from read([Exists(path) for path in (*_PARENTS, paths.CONTROLLER_EPOCH)])
    *parents, epoch = map(_is_there, present)
    ops: list[Op | Check] = [Create(REHEARSED)]
    ops += [Create(f"{path}{REHEARSED}") for path in compress(_PARENTS, parents)]
    ops += [SetData(paths.CONTROLLER_EPOCH, None)] if epoch else []
    ops += [SetData(path, None) for path in (yield from _some_states())]
    ops += [Check(REHEARSED, _NO_VERSION)]
    reply = yield from read_one(Multi(tuple(ops)))
    if not isinstance(reply, MultiFailed):
        raise unexpected(reply)
    if reply.error is ZkError.NO_AUTH:
        raise unexpected(Failed(reply.error, ops[reply.index].path.removesuffix(REHEARSED) or "/"))


def _some_states() -> Exchange[tuple[str, ...]]:
    """A topic and one of its partition states, if there are any: all were made by one owner."""
    found: tuple[str, ...] = ()
    for topic in (yield from unwatched_children(paths.TOPICS))[:1]:
        found += (paths.topic(topic),)
        for index in (yield from unwatched_children(paths.partitions(topic)))[:1]:
            state = f"{paths.partitions(topic)}/{index}/state"
            if _is_there((yield from read_one(Exists(state)))):
                found += (state,)
    return found


def _is_there(reply: Answered) -> bool:
    if isinstance(reply, Failed) and reply.error is not ZkError.NO_NODE:
        raise unexpected(reply)
    return isinstance(reply, Done)
