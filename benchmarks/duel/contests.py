"""What is measured, seen from outside both: how each begins, and what shows that it has ended.

- `failover`: from `/controller` naming the new one to the last request of the failover being
  complete at the last broker.
- `broker_death`: from the end of the session of a broker that leads so many to the same.
- `controlled_shutdown`: from a broker's wish to go to the answer that it leads nothing any more.
- `creation`: from topics being asked for to the last request about them being complete at the last
  broker.

Each is checked for having done its work before its time counts. Whoever is not measured hangs.
"""

from collections.abc import Callable, Iterable
from time import monotonic, sleep
from typing import Final

from benchmarks.duel.arena import VICTIM, Arena, partitions_with
from benchmarks.duel.duellists import Duellist
from regent.client.connection import Connection
from regent.client.patience import Patience
from regent.core.state import Partition
from regent.model.admin_requests import ControlledShutdown, CreateTopics, NewTopic
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership

REPLICAS: Final = 3
PATIENT: Final = Patience(answer_s=300.0)
_RETRY_S: Final = 0.2

Contest = Callable[[Arena, Duellist], float]


def failover(partition_count: int) -> Contest:
    """Take office over a cluster of which one broker is dead."""
    bereft = partitions_with(VICTIM, partition_count)

    def contest(arena: Arena, duellist: Duellist) -> float:
        arena.set_back(bereft)
        before = arena.brokers.arrivals.count
        began_s = arena.put_in_office(duellist)
        ended_s = _wait_until_left(arena, bereft, before)
        arena.let_all_go_on()
        return ended_s - began_s

    return contest


def broker_death(partition_count: int) -> Contest:
    """A broker goes while this controller is in office."""
    bereft = partitions_with(VICTIM, partition_count)

    def contest(arena: Arena, duellist: Duellist) -> float:
        before = arena.brokers.arrivals.count
        arena.put_in_office(duellist)
        before = _quiet(arena, before)
        began_s = monotonic()
        arena.brokers.go(VICTIM)
        ended_s = _wait_until_left(arena, bereft, before)
        _bring_back(arena, bereft)
        arena.let_all_go_on()
        return ended_s - began_s

    return contest


def controlled_shutdown(partition_count: int) -> Contest:
    """A broker asks this controller to take its leaderships away."""
    led = partitions_with(VICTIM, partition_count)

    def contest(arena: Arena, duellist: Duellist) -> float:
        before = arena.brokers.arrivals.count
        arena.put_in_office(duellist)
        _quiet(arena, before)
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
        assert not _led_by(arena.leaderships(led), VICTIM), "it is written, too"
        arena.brokers.go(VICTIM)
        _bring_back(arena, led)
        arena.let_all_go_on()
        return took_s

    return contest


def creation(topic_count: int, partitions_per_topic: int, broker_ids: Iterable[int]) -> Contest:
    """Topics are asked for in one request, with their replicas named."""
    hosts = [BrokerId(broker_id) for broker_id in broker_ids]
    rounds = iter(range(1_000))

    def contest(arena: Arena, duellist: Duellist) -> float:
        before = arena.brokers.arrivals.count
        arena.put_in_office(duellist)
        before = _quiet(arena, before)
        prefix = f"made-{next(rounds)}"
        topics = tuple(
            NewTopic(
                f"{prefix}-{topic:05}",
                assignments=tuple(
                    (index, tuple(hosts[(topic + index + n) % len(hosts)] for n in range(REPLICAS)))
                    for index in range(partitions_per_topic)
                ),
            )
            for topic in range(topic_count)
        )
        connection = Connection.open(duellist.address, PATIENT)
        try:
            began_s = monotonic()
            results = connection.ask(CreateTopics(topics)).results
        finally:
            connection.close()
        refused = [r for r in results if r.error is not ErrorCode.NONE]
        assert not refused, f"all can be created: {refused[:1]}"
        ended_s = arena.brokers.arrivals.wait_for_quiet(before)
        arena.let_all_go_on()
        return ended_s - began_s

    return contest


def _quiet(arena: Arena, before: int) -> int:
    """Wait until a new controller has told everybody everything."""
    arena.brokers.arrivals.wait_for_quiet(before)
    return arena.brokers.arrivals.count


def _wait_until_left(arena: Arena, bereft: list[Partition], before: int) -> float:
    """When the last broker was told that the victim neither leads nor is in sync anywhere."""
    while True:
        ended_s = arena.brokers.arrivals.wait_for_quiet(before)
        if not any(VICTIM in each.isr or each.leader < 0 for each in arena.leaderships(bereft)):
            return ended_s
        sleep(_RETRY_S)


def _led_by(leaderships: Iterable[Leadership], broker_id: int) -> list[Leadership]:
    return [each for each in leaderships if each.leader == broker_id]


def _bring_back(arena: Arena, partitions: list[Partition]) -> None:
    """The victim is there again, and leads what it led."""
    before = arena.brokers.arrivals.count
    arena.brokers.come(VICTIM)
    arena.brokers.arrivals.wait_for_quiet(before)
    arena.set_back(partitions)
