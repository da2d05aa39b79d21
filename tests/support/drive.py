"""Runs a procedure to its end against the fake memory, and keeps what it did."""

from typing import Any, Generic, TypeVar

from regent.core.asks import Ask, Procedure
from regent.core.effects import Effect, Journal, Reply, Send
from regent.model.facts import Fact
from tests.support.fake_memory import FakeMemory
from tests.support.transcript import line_of_send, lines_of

Result = TypeVar("Result")
CallAnswer = TypeVar("CallAnswer")


class Run(Generic[Result]):
    """All that a procedure asked and wanted done, in order, and what it returned."""

    def __init__(self, steps: list[Ask[Any] | Effect], result: Result) -> None:
        self.steps = steps
        self.result = result

    @property
    def asks(self) -> list[Ask[Any]]:
        """What it could not go on without."""
        return [step for step in self.steps if isinstance(step, Ask)]

    @property
    def effects(self) -> list[Effect]:
        """What it wanted done."""
        return [step for step in self.steps if not isinstance(step, Ask)]

    @property
    def sends(self) -> list[Send]:
        """What it wanted brokers to be told."""
        return [step for step in self.steps if isinstance(step, Send)]

    @property
    def facts(self) -> list[Fact]:
        """What it recorded, `RequestSent` included."""
        return [fact for step in self.steps if isinstance(step, Journal) for fact in step.facts]

    @property
    def reply(self) -> Reply:
        """The one answer to a caller."""
        (reply,) = (step for step in self.steps if isinstance(step, Reply))
        return reply

    def answer(self, kind: type[CallAnswer]) -> CallAnswer:
        """The same answer, which must be of this kind."""
        answer = self.reply.answer
        assert isinstance(answer, kind), answer
        return answer

    @property
    def told(self) -> list[str]:
        """Who was told what, a line each."""
        return [line_of_send(send) for send in self.sends]

    @property
    def story(self) -> list[str]:
        """What took hold, a line each."""
        journals = (step for step in self.steps if isinstance(step, Journal))
        return [line for journal in journals for line in lines_of(journal)]

    @property
    def asked(self) -> list[str]:
        """What was asked, a line each."""
        return [line for ask in self.asks for line in lines_of(ask)]

    @property
    def lines(self) -> list[str]:
        """Everything, a line each."""
        return [line for step in self.steps for line in lines_of(step)]


def drive(procedure: Procedure[Result], memory: FakeMemory) -> Run[Result]:
    """Answer what it asks, throw in what the memory raises, and collect the rest."""
    steps: list[Ask[Any] | Effect] = []
    try:
        step = next(procedure)
        while True:
            steps.append(step)
            if not isinstance(step, Ask):
                step = procedure.send(None)
                continue
            try:
                answer = memory.answer(step)
            except Exception as failure:  # noqa: BLE001 - whatever it is, it is the procedure's
                step = procedure.throw(failure)
            else:
                step = procedure.send(answer)
    except StopIteration as end:
        return Run(steps, end.value)
