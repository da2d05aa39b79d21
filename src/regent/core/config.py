"""What an operator may set about the controller's decisions."""

from msgspec import Struct

from regent.model.brokers import Endpoint
from regent.model.protocol_version import LATEST, ProtocolVersion


class ControllerConfig(Struct, frozen=True):
    """The controller's own settings; a topic's own config goes over them where it has one."""

    #: May a replica outside the ISR lead when no other can (`unclean.leader.election.enable`)?
    unclean_election_default: bool = False
    #: Whether topics can be deleted at all (`delete.topic.enable`).
    deletes_topics: bool = True
    #: Whether leaders go back to their preferred replicas by themselves.
    balances_leaders: bool = True
    balance_interval_ms: int = 300_000
    #: A broker is out of balance when more than this share of what prefers it is led elsewhere.
    imbalance_percent: int = 10
    #: For topics created without saying (`num.partitions`, `default.replication.factor`).
    partition_count_default: int = 1
    replication_factor_default: int = 1
    #: How long a caller may save up its mutation quota for a burst: so many samples of so many
    #: seconds (`controller.quota.window.num`, `controller.quota.window.size.seconds`).
    quota_samples: int = 11
    quota_sample_s: int = 1
    #: What the brokers speak among themselves (`inter.broker.protocol.version`).
    protocol: ProtocolVersion = LATEST
    #: Where a node that is a controller and no broker listens. Brokers and clients look for the
    #: controller among the live brokers, so it is listed there.
    own_endpoint: Endpoint | None = None
