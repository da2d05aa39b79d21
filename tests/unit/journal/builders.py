"""Records and facts with defaults, so that a test shows only what it is about."""

from enum import Enum
from typing import Any, Final, NewType, get_args, get_origin, get_type_hints

from msgspec import Struct

from regent.journal.record import SCHEMA_VERSION, Record
from regent.model.facts import BrokerUp, Fact
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)

FACT_CLASSES: Final[tuple[type[Fact], ...]] = get_args(Fact)


def record(
    seq: int, fact: Fact | None = None, *, epoch: int = 1, controller_id: BrokerId = B1
) -> Record:
    """A record whose clock shows nothing of interest."""
    return Record(
        v=SCHEMA_VERSION,
        seq=seq,
        at_ms=1_000,
        controller_id=controller_id,
        controller_epoch=ControllerEpoch(epoch),
        cause="BrokersChanged#1",
        fact=fact if fact is not None else BrokerUp(broker_id=B1, broker_epoch=BrokerEpoch(10)),
    )


def history(*facts: Fact, epoch: int = 1) -> list[Record]:
    """These facts, one after the other, from one controller."""
    return [record(seq, fact, epoch=epoch) for seq, fact in enumerate(facts, start=1)]


def sample(hint: Any) -> Any:
    """Some value of a type that is no default, for any type that facts use."""
    if isinstance(hint, NewType):
        return sample(hint.__supertype__)
    if get_origin(hint) is tuple:
        return (sample(get_args(hint)[0]),)
    if get_args(hint):
        return sample(get_args(hint)[0])
    if issubclass(hint, Struct):
        hints = get_type_hints(hint)
        return hint(**{name: sample(field) for name, field in hints.items()})
    if issubclass(hint, Enum):
        return list(hint)[-1]
    return {bool: True, int: 7, str: 'a "quoted" ö\n'}[hint]
