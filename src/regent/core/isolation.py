"""What cannot be read is set aside and said aloud; the rest of the cluster is served (X3)."""

from collections.abc import Iterable

from regent.core.asks import Malformed, Procedure
from regent.core.effects import Journal
from regent.core.state import ControllerState
from regent.model.facts import ZnodeIsolated


def isolate(
    state: ControllerState, malformed: Iterable[Malformed], healthy: Iterable[str] = ()
) -> Procedure[None]:
    """Set these znodes aside; each is reported once for what is wrong with it.

    Paths that were read and found in order are `healthy`: if they break again, that is news.
    """
    wrong: dict[str, list[str]] = {path: [] for path in healthy}
    for znode in malformed:
        wrong.setdefault(znode.path, []).append(znode.reason)
    facts = []
    for path, reasons in wrong.items():
        known = state.isolated.pop(path, ())
        facts += [ZnodeIsolated(path, reason) for reason in reasons if reason not in known]
        if reasons:
            state.isolated[path] = tuple(reasons)
    if facts:
        yield Journal(facts)
