"""What an operator may set about the controller's decisions."""

from msgspec import Struct

from regent.model.protocol_version import LATEST, ProtocolVersion


class ControllerConfig(Struct, frozen=True):
    """The controller's own settings; a topic's own config goes over them where it has one."""

    #: May a replica outside the ISR lead when no other can (`unclean.leader.election.enable`)?
    unclean_election_default: bool = False
    #: What the brokers speak among themselves (`inter.broker.protocol.version`).
    protocol: ProtocolVersion = LATEST
