"""Which brokers of a cluster cannot reach each other, and the telling of it."""

from collections.abc import Iterable, Mapping
from functools import partial

from regent.errors import BadInput
from regent.testing.broker_process import BrokerProcess, Condition
from regent.testing.cut_file import Cuts
from regent.testing.patient import wait_until


class NetworkCuts:
    """The pairs that are apart. They stay apart in their later lives, until `heal`."""

    def __init__(self, brokers: Mapping[int, BrokerProcess]) -> None:
        self._brokers = brokers
        self._pairs: set[frozenset[int]] = set()

    def cut(self, one: int, other: int) -> None:
        """Break all connections between two brokers; returns when it is so."""
        if one == other:
            raise BadInput(f"broker {one} cannot be cut off from itself")
        self._pairs.add(frozenset((one, other)))
        self._order((one, other))

    def heal(self) -> None:
        """Undo all cuts; returns when new connections can be made."""
        apart = sorted({broker_id for pair in self._pairs for broker_id in pair})
        self._pairs.clear()
        self._order(apart)

    def is_whole(self, broker_id: int) -> bool:
        """Whether a broker can reach everybody."""
        return not any(broker_id in pair for pair in self._pairs)

    def _order(self, broker_ids: Iterable[int]) -> None:
        """Tell each. One that is dead or paused will see it before it does anything else."""
        for broker_id in broker_ids:
            broker = self._brokers[broker_id]
            others = {each for pair in self._pairs if broker_id in pair for each in pair}
            ports = frozenset(self._brokers[each].port for each in others - {broker_id})
            order = broker.cut_file.order(ports)
            wait_until(
                partial(_is_so, broker, order),
                f"broker {broker_id} to hear from whom it is cut off",
            )


def _is_so(broker: BrokerProcess, order: Cuts) -> bool:
    return broker.condition is not Condition.RUNNING or broker.cut_file.is_confirmed(order)
