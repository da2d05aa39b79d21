"""What cannot be read is set aside and said aloud; the rest of the cluster is served (X3)."""

from collections.abc import Iterable

from regent.core.asks import Malformed, Procedure
from regent.core.effects import Journal
from regent.core.state import ControllerState
from regent.model.facts import ZnodeIsolated


def isolate(state: ControllerState, malformed: Iterable[Malformed]) -> Procedure[None]:
    """Set these znodes aside; each is reported once for what is wrong with it."""
    facts = []
    for znode in malformed:
        if state.isolated.get(znode.path) != znode.reason:
            state.isolated[znode.path] = znode.reason
            facts.append(ZnodeIsolated(znode.path, znode.reason))
    if facts:
        yield Journal(facts)
