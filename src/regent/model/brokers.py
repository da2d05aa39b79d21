"""A broker as it registers itself."""

from msgspec import Struct

from regent.model.ids import BrokerEpoch, BrokerId


class Endpoint(Struct, frozen=True):
    """One address at which a broker listens."""

    host: str
    port: int
    listener: str = "PLAINTEXT"
    security_protocol: str = "PLAINTEXT"


class Broker(Struct, frozen=True):
    """What `/brokers/ids/<id>` says."""

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...] = ()
    rack: str | None = None
    #: Feature name to (min, max) version; ZooKeeper-mode brokers register none.
    features: tuple[tuple[str, int, int], ...] = ()


class RegisteredBroker(Struct, frozen=True):
    """A broker together with which life of it this is."""

    broker: Broker
    broker_epoch: BrokerEpoch
