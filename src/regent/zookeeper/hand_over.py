"""Making a controller give its role up, from outside and whoever it is.

Deleting `/controller` is what Kafka's operators do, and every controller understands it: the one
in office resigns, and all who can stand for election do.
"""

from msgspec import Struct

from regent.model.ids import BrokerId, ControllerEpoch
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, is_lost, read_many, send, unexpected
from regent.zookeeper.store import Check, Delete, Multi, MultiDone, MultiFailed
from regent.zookeeper.znodes import decode_controller, decode_controller_epoch


class Holder(Struct, frozen=True):
    """Who has the role, and in which reign."""

    node_id: BrokerId
    controller_epoch: ControllerEpoch
    epoch_zk_version: int


def read_holder() -> Exchange[Holder | None]:
    """Who has the role now; a znode that cannot be read is an error, not nobody."""
    held, epoch = yield from read_many((paths.CONTROLLER, paths.CONTROLLER_EPOCH))
    if held is None or epoch is None:
        return None
    return Holder(
        decode_controller(held.data).broker_id,
        decode_controller_epoch(epoch.data),
        epoch.stat.version,
    )


def free_controller(holder: Holder) -> Exchange[None]:
    """Take the role from this holder, and from no later one.

    Every `/controller` has data version 0, so the epoch is what tells one reign from the next.
    """
    check = Check(paths.CONTROLLER_EPOCH, holder.epoch_zk_version)
    (reply,) = yield from send((Multi((check, Delete(paths.CONTROLLER))),))
    if not isinstance(reply, MultiDone | MultiFailed) and not is_lost(reply):
        raise unexpected(reply)
