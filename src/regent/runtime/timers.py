"""Named timers as a value: when each rings next, on a clock that nobody can set."""


class Timers:
    """At most one of each name; setting it again moves it."""

    def __init__(self) -> None:
        self._at_s: dict[str, float] = {}

    def set(self, name: str, at_s: float) -> None:
        """Ring at this time instead of any earlier setting."""
        self._at_s[name] = at_s

    def cancel_all(self) -> None:
        """Nothing rings any more."""
        self._at_s.clear()

    def next_at_s(self) -> float | None:
        """When the first one rings; None when none is set."""
        return min(self._at_s.values(), default=None)

    def take_due(self, now_s: float) -> list[str]:
        """The names that ring now, the longest overdue first; they are no longer set."""
        due = sorted((at_s, name) for name, at_s in self._at_s.items() if at_s <= now_s)
        for _, name in due:
            del self._at_s[name]
        return [name for _, name in due]
