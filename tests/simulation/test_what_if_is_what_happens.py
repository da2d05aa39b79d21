"""What a dry run says would happen is what a controller then does.

A random cluster lives through a few deaths and returns under a real controller on the in-memory
ZooKeeper. A snapshot is taken, the question is asked of it, and then the thing itself is done to
the cluster. Every partition must be as the answer said.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from regent.core.asks import Ask
from regent.core.events import BrokersChanged, ControlledShutdownRequested
from regent.dryrun.capture import capture
from regent.dryrun.loading import to_ids
from regent.dryrun.questions import BrokersDie, BrokersReturn, BrokersShutDown
from regent.dryrun.run import DryRunAnswer, ask_what_if
from regent.dryrun.snapshot import Snapshot
from regent.model.admin_requests import ControlledShutdown
from regent.model.ids import BrokerId, TopicPartition
from regent.model.states import PartitionState
from regent.zookeeper.exchange import run as run_exchange
from regent.zookeeper.performer import perform
from tests.support.interrupted import Ground, Reign

CONTROLLER = 99
CHANGED = BrokersChanged(0)
Seen = Mapping[TopicPartition, tuple[BrokerId | None, tuple[BrokerId, ...]]]


class Theatre:
    """A cluster with a history, and the controller that made it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"what-if-{seed}")
        self.ground = Ground()
        self.every = list(range(1, self.random.randint(3, 6) + 1))
        self.alive = list(self.every)
        self.ground.register(*self.every)
        for number in range(self.random.randint(1, 6)):
            self._write_topic(f"t{number}")
        self.reign: Reign = self.ground.controller(CONTROLLER)
        self.reign.stand()
        for _ in range(self.random.randint(0, 4)):
            self._live_on()

    def _write_topic(self, name: str) -> None:
        replicas = [
            tuple(self.random.sample(self.every, self.random.randint(1, 3)))
            for _ in range(self.random.randint(1, 6))
        ]
        unclean = "true" if self.random.random() < 0.3 else "false"
        self.ground.write_topic(name, *replicas, unclean_leader_election_enable=unclean)

    def _live_on(self) -> None:
        dead = [b for b in self.every if b not in self.alive]
        if dead and self.random.random() < 0.5:
            self.come_back(self.random.choice(dead))
        elif len(self.alive) > 1:
            self.die(self.random.choice(self.alive))

    def die(self, *broker_ids: int) -> None:
        """Brokers are gone at once, and the controller hears of it."""
        self.ground.lose(*broker_ids)
        self.alive = [b for b in self.alive if b not in broker_ids]
        self.reign.handle(CHANGED)

    def come_back(self, broker_id: int) -> None:
        """A broker registers in a new life."""
        self.ground.register(broker_id)
        self.alive.append(broker_id)
        self.reign.handle(CHANGED)

    def shut_down(self, broker_id: int) -> None:
        """A broker asks to go, and goes."""
        request = ControlledShutdown(BrokerId(broker_id))
        self.reign.handle(ControlledShutdownRequested(0, 1, request))
        self.die(broker_id)

    def hosts(self) -> list[BrokerId]:
        """Every broker that has a replica of anything, dead or alive."""
        state = self.reign.controller.state
        return sorted(broker_id for broker_id, held in state.replicas_on.items() if held)

    def snapshot(self) -> Snapshot:
        """The cluster as it stands."""

        def answer(ask: Ask[Any]) -> Any:
            return run_exchange(self.ground.operator, perform(ask))

        taken, left_out = capture(answer)
        assert left_out == ()
        return taken

    def seen(self) -> Seen:
        """Leader, None where nobody leads, and ISR of every partition, as they are now."""
        found: dict[TopicPartition, tuple[BrokerId | None, tuple[BrokerId, ...]]] = {}
        for partition in self.reign.controller.state.all_partitions():
            known = partition.leadership
            leads = partition.state is PartitionState.ONLINE and known is not None
            leader = known.leader if leads and known is not None else None
            found[partition.name] = (leader, () if known is None else known.isr)
            if known is not None:
                assert self.ground.leadership(*partition.name) == known
        return found


def foreseen(before: Seen, answer: DryRunAnswer) -> Seen:
    """What there was, with the changes that the answer names."""
    changed = {change.name: (change.leader_after, change.isr_after) for change in answer.changes}
    return {**before, **changed}


def offline_in(seen: Seen) -> set[str]:
    return {str(name) for name, (leader, _) in seen.items() if leader is None}


def check(before: Seen, answer: DryRunAnswer, after: Seen) -> None:
    """The answer, held against what happened."""
    assert not any("not at rest" in note for note in answer.notes)
    assert foreseen(before, answer) == after
    assert (answer.offline.before, answer.offline.after) == (
        len(offline_in(before)),
        len(offline_in(after)),
    )
    assert set(answer.offline.new) == offline_in(after) - offline_in(before)


@pytest.mark.parametrize("seed", range(40))
def test_the_death_of_brokers_goes_as_foreseen(seed: int) -> None:
    """One broker, or two at once."""
    theatre = Theatre(seed)
    count = min(len(theatre.alive), theatre.random.randint(1, 2))
    dying = theatre.random.sample(theatre.alive, count)
    before = theatre.seen()

    answer = ask_what_if(theatre.snapshot(), [BrokersDie(to_ids(dying))])
    theatre.die(*dying)

    check(before, answer, theatre.seen())


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_controlled_shutdown_goes_as_foreseen(seed: int) -> None:
    """Leaders move first, and then the broker goes."""
    theatre = Theatre(seed)
    leaving = theatre.random.choice(theatre.alive)
    before = theatre.seen()

    answer = ask_what_if(theatre.snapshot(), [BrokersShutDown(to_ids([leaving]))])
    theatre.shut_down(leaving)

    check(before, answer, theatre.seen())


@pytest.mark.parametrize("seed", range(60, 80))
def test_a_return_goes_as_foreseen(seed: int) -> None:
    """Partitions that waited for the broker are led again."""
    theatre = Theatre(seed)
    gone = theatre.random.choice(theatre.hosts())
    if gone in theatre.alive:
        theatre.die(gone)
    before = theatre.seen()

    answer = ask_what_if(theatre.snapshot(), [BrokersReturn(to_ids([gone]))])
    theatre.come_back(gone)

    check(before, answer, theatre.seen())
