"""Faults while a client under test runs: what befalls brokers and partitions, by a seed.

Either loop over it, and look at the cluster between two steps; or enter it as a context, and it
goes on beside what is in there. In the end everything is mended again.
"""

import random
import sys
import threading
from collections.abc import Generator, Sequence
from time import monotonic
from types import TracebackType
from typing import Final, Self

from regent.testing.broker_process import Condition
from regent.testing.churn_plan import FAULTS, ChurnKind, ChurnStep, plan_churn
from regent.testing.cluster import LocalCluster
from regent.testing.moves import move_partition, wait_for_moves

SEED_MAX: Final = 2**32


class Churn:
    """A bounded run of the schedule that belongs to a seed; says its seed on standard output."""

    def __init__(  # noqa: PLR0913 - each has a default and is named
        self,
        cluster: LocalCluster,
        *,
        seed: int | None = None,
        faults: int | None = None,
        seconds: float | None = None,
        kinds: Sequence[ChurnKind | str] = FAULTS,
        rest_s: tuple[float, float] = (0.2, 2.0),
    ) -> None:
        """Without `seed` any; it ends after so many faults, after so long, or with its context."""
        self.seed = random.SystemRandom().randrange(SEED_MAX) if seed is None else seed
        #: What was done so far.
        self.done: list[ChurnStep] = []
        self._cluster = cluster
        self._faults = faults
        self._seconds = seconds
        self._plan = plan_churn(
            self.seed,
            cluster.broker_ids,
            kinds=[ChurnKind(kind) for kind in kinds],
            rest_s=rest_s,
        )
        self._enough = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def __iter__(self) -> Generator[ChurnStep, None, None]:
        """Each step when it has been done; at the end, all is mended."""
        _say(f"churn: seed {self.seed}")
        end_s = None if self._seconds is None else monotonic() + self._seconds
        try:
            for step in self._plan:
                if self._is_past(step, end_s) or self._enough.wait(step.rest_s):
                    return
                _say(f"churn: {step}")
                self._take(step)
                self.done.append(step)
                yield step
        finally:
            self.mend()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run, name=f"churn {self.seed}", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._enough.set()
        if self._thread is not None:
            self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    @property
    def is_over(self) -> bool:
        """Whether what goes on beside has come to its end."""
        return self._thread is not None and not self._thread.is_alive()

    def mend(self) -> None:
        """Heal, resume and start whatever is not as it should be, whoever brought it about.

        Moves are waited for, too, if there were any.
        """
        self._cluster.heal()
        for broker_id in self._cluster.broker_ids:
            if self._cluster.broker(broker_id).condition is Condition.PAUSED:
                self._cluster.resume(broker_id)
        for broker_id in self._cluster.broker_ids:
            if self._cluster.broker(broker_id).condition is Condition.DOWN:
                self._cluster.start(broker_id)
        if any(step.kind is ChurnKind.MOVE for step in self.done):
            wait_for_moves(self._cluster.bootstrap)

    def _run(self) -> None:
        try:
            for _ in self:
                pass
        except Exception as failure:  # noqa: BLE001 - it is raised again where somebody waits
            self._failure = failure

    def _is_past(self, step: ChurnStep, end_s: float | None) -> bool:
        count = sum(each.is_fault for each in self.done)
        is_complete = self._faults is not None and count >= self._faults
        return is_complete or (end_s is not None and monotonic() + step.rest_s > end_s)

    def _take(self, step: ChurnStep) -> None:
        cluster, one = self._cluster, step.broker_ids[0]
        match step.kind:
            case ChurnKind.KILL:
                cluster.kill(one)
            case ChurnKind.STOP:
                cluster.stop(one)
            case ChurnKind.PAUSE:
                cluster.pause(one)
            case ChurnKind.CUT:
                cluster.cut(*step.broker_ids)
            case ChurnKind.EXPIRE:
                cluster.expire_session(one)
                cluster.wait_until_ready(one)
            case ChurnKind.MOVE:
                _say(f"churn: {move_partition(cluster.bootstrap, step.lot, step.broker_ids)}")
            case ChurnKind.START:
                cluster.start(one)
            case ChurnKind.RESUME:
                cluster.resume(one)
            case ChurnKind.HEAL:
                cluster.heal()


def _say(line: str) -> None:
    """Where pytest keeps it for a test that fails."""
    sys.stdout.write(f"{line}\n")
