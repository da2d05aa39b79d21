"""The status of a cluster that can be asked: what any broker tells, and what only some will."""

from collections.abc import Mapping

from regent.client.admin import Admin
from regent.client.seen import ClusterSeen
from regent.client.status import ClusterStatus, to_status
from regent.errors import ClusterUnreachable, NotSupported


def read_status(admin: Admin) -> ClusterStatus:
    """Ask; what cannot be found out becomes a note, and the rest is told all the same."""
    seen = admin.describe()
    moving, why_not = admin.moving_if_told()
    notes = [] if moving is not None else [f"what is being moved is not known: {why_not}"]
    min_isr, note = _min_isr_if_told(admin, seen)
    notes += [note] if note else []
    return to_status(seen, moving=moving, min_isr=min_isr, notes=notes)


def _min_isr_if_told(admin: Admin, seen: ClusterSeen) -> tuple[Mapping[str, int] | None, str]:
    topics = [topic.name for topic in seen.topics if topic.partitions]
    try:
        told = admin.min_isr(topics)
    except (NotSupported, ClusterUnreachable) as error:
        return None, f"min.insync.replicas is not known: {error}"
    missing = len(topics) - len(told)
    if not missing:
        return told, ""
    if not told:
        return None, "min.insync.replicas is not known: no topic's configuration may be seen"
    return told, f"min.insync.replicas of {missing:,} topics is not known"
