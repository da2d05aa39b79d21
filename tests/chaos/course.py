"""What a campaign did when: so that a long silence of a client can be laid at a fault's door."""

from math import inf

from msgspec import Struct

from regent.testing.churn_plan import REMEDIES, ChurnStep


class _Fault(Struct):
    text: str
    from_s: float
    to_s: float


class Course:
    """Faults with the time in which they lasted."""

    def __init__(self) -> None:
        self._faults: list[_Fault] = []
        self._open: dict[tuple[object, tuple[int, ...]], _Fault] = {}

    def note(self, step: ChurnStep, now_s: float) -> None:
        """A step of the schedule has been taken."""
        if not step.is_fault:
            self._open.pop((step.kind, step.broker_ids)).to_s = now_s
        elif step.kind in REMEDIES:
            fault = _Fault(str(step), now_s, inf)
            self._open[REMEDIES[step.kind], step.broker_ids] = fault
            self._faults.append(fault)
        else:
            self.note_passing(str(step), now_s)

    def note_passing(self, text: str, now_s: float) -> None:
        """Something that lasted for a moment only."""
        self._faults.append(_Fault(text, now_s, now_s))

    def between(self, from_s: float, to_s: float) -> list[str]:
        """What was out of order at any time in there, and from when to when, counted from then."""
        return [
            f"{each.text}: {_signed(each.from_s - from_s)} to {_signed(each.to_s - from_s)}"
            for each in self._faults
            if each.from_s <= to_s and each.to_s >= from_s
        ]


def _signed(seconds: float) -> str:
    return "the end" if seconds == inf else f"{seconds:+.1f} s"
