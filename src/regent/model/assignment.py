"""Which brokers hold a partition, and how that is about to change."""

from msgspec import Struct

from regent.model.ids import BrokerId


class Assignment(Struct, frozen=True, gc=False):
    """The replicas of a partition in order of preference, with those coming and going.

    While a reassignment runs, `replicas` is the target followed by the leftovers. Origin and
    target are computed, never remembered, so that a failover cannot lose them.
    """

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def is_reassigning(self) -> bool:
        """Whether data has to move. A pure change of order is not a reassignment."""
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """The replicas before the running reassignment (ORS)."""
        return tuple(r for r in self.replicas if r not in self.adding)

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """The replicas after the running reassignment (TRS)."""
        return tuple(r for r in self.replicas if r not in self.removing)

    def reassign_to(self, target: tuple[BrokerId, ...]) -> "Assignment":
        """The assignment on its way to `target`; from here, not from any earlier target."""
        origin = self.origin
        replicas = tuple(dict.fromkeys(target + origin))
        return Assignment(
            replicas=replicas,
            adding=tuple(r for r in replicas if r not in origin),
            removing=tuple(r for r in replicas if r not in target),
        )
