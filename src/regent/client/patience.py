"""How long a client waits, and how often it asks again: every wait and every loop has a bound."""

from collections.abc import Iterator

from msgspec import Struct


class Patience(Struct, frozen=True):
    """The bounds of one command."""

    connect_s: float = 5.0
    #: How long a broker may take over a request; it is told so, and gets half as much again.
    answer_s: float = 30.0
    #: How often a controller is looked for, because it may just be changing.
    attempts: int = 9
    pause_s: float = 0.1
    pause_s_max: float = 3.0
    #: No attempt begins after this.
    attempts_s: float = 60.0

    @property
    def answer_ms(self) -> int:
        """What a request says of how long its sender waits."""
        return max(1, round(self.answer_s * 1000))

    @property
    def silence_s(self) -> float:
        """How long a connection may be silent before it counts as gone."""
        return self.answer_s * 1.5

    def pauses(self) -> Iterator[float]:
        """The pause before each attempt: none, then ever longer ones."""
        yield 0.0
        pause_s = self.pause_s
        for _ in range(self.attempts - 1):
            yield pause_s
            pause_s = min(2 * pause_s, self.pause_s_max)
