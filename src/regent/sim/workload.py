"""A client of the simulated cluster: it appends with acks=all and remembers what was acknowledged.

It finds leaders as real clients do, by asking any broker for its metadata, and is as often wrong.
Every record is different, so that one found twice or missing can be named.
"""

from random import Random
from typing import Any, Final

from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, TopicPartition
from regent.sim.network import CLIENT
from regent.sim.observer import Acked
from regent.sim.wire import Caller
from regent.sim.world import World

APPEND_TIMEOUT_MS: Final = 5_000
METADATA_TIMEOUT_MS: Final = 1_000
#: A client is always up: what reaches it is run at once.
AT_THE_CLIENT: Final = Caller(CLIENT, lambda action: action())


class ProducingClient:
    """Appends to partitions at random, one record at a time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"client-{world.plan.seed}")
        self._value = 0
        self._leaders: dict[TopicPartition, BrokerId] = {}
        self.is_running = True

    def start(self) -> None:
        """Append for as long as it is running."""
        if self.is_running:
            self._append()
            interval_ms = self._world.plan.character.append_interval_ms
            self._world.schedule.after_ms(self._random.randrange(1, 2 * interval_ms), self.start)

    def _append(self) -> None:
        if not self._leaders or self._random.random() < 0.05:
            self._refresh()
        if not self._leaders:
            return
        name = self._random.choice(list(self._leaders))
        leader = self._leaders[name]
        self._value += 1
        value = self._value

        def outcome(answer: Any) -> None:
            if answer is None or answer.error is not ErrorCode.NONE:
                self._leaders.pop(name, None)
            else:
                self._world.record_acked(
                    Acked(name, answer.offset, value, self._world.schedule.now_ms)
                )

        self._world.wire.call(
            AT_THE_CLIENT,
            leader,
            lambda target, reply: target.shell.append(name, value, reply),
            outcome,
            timeout_ms=APPEND_TIMEOUT_MS,
        )

    def _refresh(self) -> None:
        """Learn from one broker, picked at random, what it believes."""

        def outcome(leaders: dict[TopicPartition, BrokerId] | None) -> None:
            if leaders:
                self._leaders.update(leaders)

        self._world.wire.call(
            AT_THE_CLIENT,
            self._random.choice(self._world.broker_ids),
            lambda target, reply: reply(
                {
                    name: metadata.leader
                    for name, metadata in target.broker.metadata.partitions.items()
                    if metadata.leader >= 0
                }
            ),
            outcome,
            timeout_ms=METADATA_TIMEOUT_MS,
        )
