"""What is measured in front of brokers that listen: how each begins, and what shows its end.

- `failover`: from `/controller` naming the new one to the last request of the failover being
  complete at the last broker. The rival hangs meanwhile, so that its resigning costs nobody.
- `broker_death`: from the end of the session of a broker that leads so many to the same.
- `controlled_shutdown`: from a broker's wish to go to the answer that it leads nothing any more.
- `creation`: from topics being asked for to the last request about them being complete at the last
  broker.

Each begins when both controllers rest, and is checked for having done its work before its time
counts. Which request was the last is known when the controller rests and ZooKeeper has it all.
"""

from collections.abc import Sequence
from itertools import count
from time import monotonic
from typing import Final, TypeAlias

from benchmarks.duel.arena import VICTIM, Arena, partitions_with
from benchmarks.duel.duellists import Duellist
from benchmarks.duel.rounds import Contest
from benchmarks.live_cluster import BROKERS
from regent.client.connection import Connection
from regent.client.patience import Patience
from regent.core.state import Partition
from regent.model.admin_requests import ControlledShutdown, CreateTopics, NewTopic
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId

REPLICAS: Final = 3
PATIENT: Final = Patience(answer_s=300.0)

Duel: TypeAlias = Contest[Duellist]


def failover(arena: Arena, partition_count: int) -> Duel:
    """Take office over a cluster of which one broker is dead."""
    bereft = partitions_with(VICTIM, partition_count)

    def play(duellist: Duellist) -> float:
        arena.set_back(bereft)
        before = arena.brokers.arrivals.count
        began_s = arena.put_in_office(duellist)
        ended_s = arena.wait_until_told(duellist, before, lambda: _has_left(arena, bereft))
        arena.settle()
        return ended_s - began_s

    timed = "/controller names it -> last request complete at the last of 11 stub brokers"
    return Contest(f"failover_{partition_count}", timed, play)


def broker_death(arena: Arena, partition_count: int) -> Duel:
    """A broker goes while this controller is in office."""
    bereft = partitions_with(VICTIM, partition_count)

    def play(duellist: Duellist) -> float:
        before = _take_office(arena, duellist)
        began_s = monotonic()
        arena.brokers.go(VICTIM)
        ended_s = arena.wait_until_told(duellist, before, lambda: _has_left(arena, bereft))
        _bring_back(arena, bereft)
        return ended_s - began_s

    timed = "the broker ends its session -> last request complete at the last of 11 stub brokers"
    return Contest(f"broker_death_{partition_count // BROKERS}", timed, play)


def controlled_shutdown(arena: Arena, partition_count: int) -> Duel:
    """A broker asks this controller to take its leaderships away."""
    led = partitions_with(VICTIM, partition_count)

    def play(duellist: Duellist) -> float:
        _take_office(arena, duellist)
        request = ControlledShutdown(BrokerId(VICTIM), arena.brokers.epoch_of(VICTIM))
        connection = Connection.open(duellist.address, PATIENT)
        try:
            began_s = monotonic()
            answer = connection.ask(request)
            took_s = monotonic() - began_s
        finally:
            connection.close()
        assert answer.error is ErrorCode.NONE, answer.error
        assert not answer.remaining, "all leaders could move"
        assert all(each.leader != VICTIM for each in arena.leaderships(led)), "it is written, too"
        arena.brokers.go(VICTIM)
        _bring_back(arena, led)
        return took_s

    timed = "ControlledShutdown is sent -> it is answered, with no leader left behind"
    return Contest(f"controlled_shutdown_{partition_count // BROKERS}", timed, play)


def creation(
    arena: Arena, topic_count: int, partitions_per_topic: int, broker_ids: Sequence[int]
) -> Duel:
    """Topics are asked for in one request, with their replicas named."""
    turns = count()

    def play(duellist: Duellist) -> float:
        before = _take_office(arena, duellist)
        prefix = f"made-{next(turns)}"
        wanted = {
            f"{prefix}-{topic:05}": [
                tuple(
                    BrokerId(broker_ids[(topic + index + n) % len(broker_ids)])
                    for n in range(REPLICAS)
                )
                for index in range(partitions_per_topic)
            ]
            for topic in range(topic_count)
        }
        connection = Connection.open(duellist.address, PATIENT)
        try:
            began_s = monotonic()
            results = connection.ask(
                CreateTopics(
                    tuple(
                        NewTopic(name, assignments=tuple(enumerate(replicas)))
                        for name, replicas in wanted.items()
                    )
                )
            ).results
        finally:
            connection.close()
        refused = [r for r in results if r.error is not ErrorCode.NONE]
        assert not refused, f"all can be created: {refused[:1]}"
        made = [
            Partition(name, index, Assignment(replicas))
            for name, each in wanted.items()
            for index, replicas in enumerate(each)
        ]
        ended_s = arena.wait_until_told(
            duellist, before, lambda: len(arena.leaderships(made)) == len(made)
        )
        return ended_s - began_s

    timed = "CreateTopics is sent -> last request complete at the last of 12 stub brokers"
    return Contest(f"creation_{topic_count}x{partitions_per_topic}", timed, play)


def _take_office(arena: Arena, duellist: Duellist) -> int:
    """Until it has told everybody everything and the other has resigned; what was told so far."""
    arena.put_in_office(duellist)
    arena.settle()
    return arena.brokers.arrivals.count


def _has_left(arena: Arena, bereft: Sequence[Partition]) -> bool:
    """The victim neither leads nor is in sync anywhere, and others lead."""
    return not any(VICTIM in each.isr or each.leader < 0 for each in arena.leaderships(bereft))


def _bring_back(arena: Arena, partitions: Sequence[Partition]) -> None:
    """The victim is there again, and leads what it led."""
    arena.brokers.come(VICTIM)
    arena.settle()
    arena.set_back(partitions)
