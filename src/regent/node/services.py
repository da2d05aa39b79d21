"""All that the APIs of a node see of it."""

from typing import TYPE_CHECKING

from msgspec import Struct

from regent.node.broker_host import BrokerHost
from regent.node.config_watch import ConfigWatch
from regent.runtime.desk import Desk
from regent.runtime.producer_ids import ProducerIds

if TYPE_CHECKING:
    from regent.node.group_host import GroupHost


class Services(Struct, frozen=True):
    """One broker with its controller, as callers reach them."""

    host: BrokerHost
    #: The controller in this process, in office or not.
    desk: Desk
    configs: ConfigWatch
    producer_ids: ProducerIds
    groups: "GroupHost"
