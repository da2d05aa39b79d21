"""Big synthetic journals: `python -m benchmarks.journal_generator DIR --events 1000000`.

A cluster of B brokers and P partitions with three replicas each, in topics of fifty, is ruled by
ten controllers one after the other. In each reign brokers die and come back, one at a time: their
partitions go offline and are elected anew, ISRs shrink and grow again, preferred leaders return,
and requests are sent and answered all the while. Every few deaths a topic is created, moved to
another broker and deleted. A reign ends with a few planted faults on topics of their own, so it is
known what the audit must find; the last reign has lost some records and no other fault.

After each death everything is as it was, under higher epochs, which follow from how often each
broker has died. So what a reign starts from needs no memory of the reigns before, and reigns are
written side by side. The same arguments give the same bytes.

P grows with the number of events and B with its root, so that a partition's history is about as
long, and requests are as frequent, at every size. The common records are made from templates; what
is rare goes through the journal's own encoder.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from benchmarks.small_topics import BY_DEATH, FAULTS, LIVES_OF, SmallTopic, passing_topic
from regent.journal.record import SCHEMA_VERSION, Record, encode
from regent.journal.writer import segment_name
from regent.model import facts
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch
from regent.model.states import PartitionState

CLUSTER: Final = "synthetic"
REIGNS: Final = 10
PARTITIONS_PER_TOPIC: Final = 50
#: A partition is told of so often, on average.
EVENTS_PER_PARTITION: Final = 150
BROKERS_AT_LEAST: Final = 6
SEGMENT_BYTES: Final = 64 * 1024 * 1024
#: How often each fault is planted.
PLANTED_EACH: Final = 3
RECORDS_LOST: Final = 5

START_MS: Final = 1_700_000_000_000
#: From one death to the next. No broker dies three times within ten minutes by itself.
DEATH_INTERVAL_MS: Final = 120_000
AWAY_MS: Final = 25_000
#: What a reign has for its faults, some of which are that something takes long.
PLANTING_MS: Final = 12 * 3_600_000
#: ISRs grow in so many portions.
PORTIONS: Final = 6
TOPIC_EVERY: Final = 4

BY_PREFERENCE: Final = "PreferredReplicaPartitionLeaderElectionStrategy"


class Shape(Struct, frozen=True):
    """What a journal is to look like."""

    events: int
    partitions: int
    brokers: int
    deaths: int
    seed: int

    @classmethod
    def of(cls, events: int, seed: int = 0) -> "Shape":
        """The shape of a journal with about so many events."""
        partitions = max(1, round(events / EVENTS_PER_PARTITION / 50)) * PARTITIONS_PER_TOPIC
        brokers = max(BROKERS_AT_LEAST, round(100 * (events / 15_000_000) ** 0.5))
        # Of each death: six records of each partition that the broker led and four of the others,
        # and some rounds of requests and answers.
        each = 14 * partitions / brokers + (2 * PORTIONS + 14) * brokers
        return cls(events, partitions, brokers, max(REIGNS, round(events / each)), seed)


class Reign(Struct, frozen=True):
    """One controller's time in office, and what came before it."""

    epoch: int
    controller_id: int
    start_ms: int
    #: The brokers that die, in their order.
    deaths: tuple[int, ...]
    #: The faults that are planted in the end.
    faults: tuple[str, ...]
    #: How often each broker has died before, by its number from 0.
    died_before: tuple[int, ...]
    #: How often it has been registered before, which faults do too.
    lives_before: tuple[int, ...]


class Written(Struct, frozen=True):
    """What came of it."""

    events: int
    bytes: int
    files: int
    partitions: int
    brokers: int
    reigns: int
    #: How many findings of each rule the audit must give, and no others.
    planted: Mapping[str, int]


def generate(directory: Path, events: int, *, seed: int = 0, processes: int = 2) -> Written:
    """Write a journal into `directory/synthetic`."""
    shape = Shape.of(events, seed)
    folder = directory / CLUSTER
    folder.mkdir(parents=True)
    reigns = plan(shape)
    with ProcessPoolExecutor(processes) as pool:
        written = list(pool.map(write_reign, reigns, [shape] * REIGNS, [folder] * REIGNS))
    planted = Counter(fault for reign in reigns for fault in reign.faults)
    return Written(
        events=sum(written),
        bytes=sum(file.stat().st_size for file in folder.iterdir()),
        files=len(list(folder.iterdir())),
        partitions=shape.partitions,
        brokers=shape.brokers,
        reigns=REIGNS,
        planted=dict(sorted(planted.items())),
    )


def plan(shape: Shape) -> list[Reign]:
    """Who rules when, who dies then, and which faults are planted where."""
    dice = random.Random(shape.seed)
    order: list[int] = []
    while len(order) < shape.deaths + REIGNS * shape.brokers:
        order += dice.sample(range(shape.brokers), shape.brokers)
    coming = iter(order)
    died, lives = [0] * shape.brokers, [0] * shape.brokers
    now_ms = START_MS
    reigns = []
    for number in range(REIGNS):
        controller = number % shape.brokers
        share = shape.deaths * (number + 1) // REIGNS - shape.deaths * number // REIGNS
        # A controller does not live to tell of its own broker's death.
        deaths = tuple(next(b for b in coming if b != controller) for _ in range(share))
        faults = faults_of(number)
        reigns.append(
            Reign(number + 1, controller + 1, now_ms, deaths, faults, tuple(died), tuple(lives))
        )
        for broker in deaths:
            died[broker] += 1
            lives[broker] += 1
        for fault in faults:
            for broker, times in LIVES_OF.get(fault, {}).items():
                lives[broker - 1] += times
        now_ms += share * DEATH_INTERVAL_MS + PLANTING_MS
    return reigns


def faults_of(number: int) -> tuple[str, ...]:
    """The faults of a reign, by its number from 0. What is lost proves nothing beside it."""
    if number == REIGNS - 1:
        return ("records_lost",)
    return tuple(
        name
        for index, name in enumerate(FAULTS)
        for copy in range(PLANTED_EACH)
        if (index + copy) % (REIGNS - 1) == number
    )


def write_reign(reign: Reign, shape: Shape, folder: Path) -> int:
    """Write the segments of one reign; gives the number of records."""
    with JournalPen(reign, folder) as pen:
        Rule(reign, shape, pen).write()
        return pen.written


# --- the pen --------------------------------------------------------------------------------------


class JournalPen:
    """The segments of one process, and the envelope around each fact."""

    def __init__(self, reign: Reign, folder: Path) -> None:
        self._reign = reign
        self._folder = folder
        self._buffer = BytesIO()
        self._segments = 0
        self._middle = (
            f',"controller_id":{reign.controller_id},"controller_epoch":{reign.epoch},"cause":"'
        )
        self._causes = 0
        self._cause = ""
        self.sequence = 0
        self.written = 0
        self.now_ms = reign.start_ms
        self.controller_epoch = ControllerEpoch(reign.epoch)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_segment()

    def because(self, event: str, after_ms: int = 20) -> None:
        """Another event is handled, some time later."""
        self._causes += 1
        self._cause = f"{event}#{self._causes}"
        self.now_ms += after_ms

    def write(self, bodies: Iterator[str]) -> None:
        """Records of facts that are JSON already, all at the same time and for the same cause."""
        first = self.sequence + 1
        tail = f',"at_ms":{self.now_ms}{self._middle}{self._cause}","fact":{{'
        head = f'{{"v":{SCHEMA_VERSION},"seq":'
        lines = [f"{head}{seq}{tail}{body}}}}}\n" for seq, body in enumerate(bodies, first)]
        self.sequence += len(lines)
        self._put("".join(lines).encode(), len(lines))

    def say(self, *said: facts.Fact) -> None:
        """Records of facts, by the journal's own encoder."""
        for fact in said:
            self.sequence += 1
            record = Record(
                SCHEMA_VERSION,
                self.sequence,
                self.now_ms,
                BrokerId(self._reign.controller_id),
                self.controller_epoch,
                self._cause,
                fact,
            )
            self._put(encode(record) + b"\n", 1)

    def _put(self, lines: bytes, count: int) -> None:
        self._buffer.write(lines)
        self.written += count
        if self._buffer.tell() >= SEGMENT_BYTES:
            self._close_segment()

    def _close_segment(self) -> None:
        if self._buffer.tell():
            self._segments += 1
            number = self._reign.epoch * 1_000 + self._segments
            name = segment_name(BrokerId(self._reign.controller_id), number)
            (self._folder / name).write_bytes(self._buffer.getbuffer())
            self._buffer = BytesIO()


# --- a reign --------------------------------------------------------------------------------------


class Rule:
    """What a controller does from its election to its resignation."""

    def __init__(self, reign: Reign, shape: Shape, pen: JournalPen) -> None:
        self._reign, self._shape, self._pen = reign, shape, pen
        self._died = list(reign.died_before)
        self._lives = list(reign.lives_before)
        # By partition: its replicas, numbered from 0, and where it is in JSON.
        self._replicas = [replicas_of(p, shape) for p in range(shape.partitions)]
        self._where = [
            f'"topic":"{topic_name(p // PARTITIONS_PER_TOPIC)}","partition":'
            f"{p % PARTITIONS_PER_TOPIC},"
            for p in range(shape.partitions)
        ]
        self._hosted: list[list[int]] = [[] for _ in range(shape.brokers)]
        for partition, replicas in enumerate(self._replicas):
            for broker in replicas:
                self._hosted[broker].append(partition)

    def write(self) -> None:
        """All of it."""
        self._take_office()
        topics = 0
        for number, broker in enumerate(self._reign.deaths):
            began_ms = self._pen.now_ms
            self._die(broker)
            self._return(broker, began_ms + AWAY_MS)
            if number % TOPIC_EVERY == 0:
                topics += 1
                passing_topic(self._pen, f"passing-{self._reign.epoch}-{topics}")
            self._pen.now_ms = began_ms + DEATH_INTERVAL_MS
        self._plant()
        self._resign()

    def _take_office(self) -> None:
        pen, shape = self._pen, self._shape
        pen.because("ControllerChanged", 50)
        pen.say(facts.ControllerElected())
        pen.now_ms += 100
        pen.write(
            f'"kind":"broker_up","broker_id":{b + 1},"broker_epoch":{self._broker_epoch(b)},'
            '"loaded":true'
            for b in range(shape.brokers)
        )
        pen.now_ms += 200
        topics = range(shape.partitions // PARTITIONS_PER_TOPIC)
        pen.write(
            f'"kind":"topic_loaded","topic":"{topic_name(topic)}","partitions":['
            f'{",".join(map(self._loaded, self._members(topic)))}],"topic_id":"id-{topic:06d}"'
            for topic in topics
        )
        pen.now_ms += 50
        self._tell_all("UpdateMetadata", 0)
        pen.write(f'"kind":"replicas_started","topic":"{topic_name(topic)}"' for topic in topics)
        pen.write(f'"kind":"partitions_started","topic":"{topic_name(topic)}"' for topic in topics)
        self._exchange(range(shape.brokers), shape.partitions)

    @staticmethod
    def _members(topic: int) -> range:
        return range(topic * PARTITIONS_PER_TOPIC, (topic + 1) * PARTITIONS_PER_TOPIC)

    def _loaded(self, partition: int) -> str:
        replicas = self._replicas[partition]
        epoch, version = self._epochs(replicas)
        isr = in_json(replicas)
        return (
            f'{{"partition":{partition % PARTITIONS_PER_TOPIC},"replicas":{isr},'
            f'"leader":{replicas[0] + 1},"leader_epoch":{epoch},"isr":{isr},'
            f'"controller_epoch":{max(1, self._reign.epoch - 1)},"zk_version":{version}}}'
        )

    def _epochs(self, replicas: Sequence[int]) -> tuple[int, int]:
        """The leader epoch and version that so many deaths have led to."""
        leader, *followers = (self._died[broker] for broker in replicas)
        return 2 * leader + sum(followers), 3 * leader + 2 * sum(followers)

    def _broker_epoch(self, broker: int) -> int:
        return 1_000 * (self._lives[broker] + 1) + broker

    def _die(self, broker: int) -> None:
        pen = self._pen
        hosted = self._hosted[broker]
        led = [p for p in hosted if self._replicas[p][0] == broker]
        others = [p for p in hosted if self._replicas[p][0] != broker]
        pen.because("BrokersChanged")
        pen.say(facts.BrokerDown(BrokerId(broker + 1), BrokerEpoch(self._broker_epoch(broker))))
        pen.write(
            f'"kind":"partition_moved",{self._where[p]}'
            '"before":"OnlinePartition","after":"OfflinePartition"'
            for p in led
        )
        pen.now_ms += 20 + len(led) // 50
        pen.write(self._elections(led, broker, is_return=False))
        self._exchange(self._others(broker), len(led))
        pen.because("BrokersChanged")
        pen.write(
            f'"kind":"replica_moved",{self._where[p]}"broker_id":{broker + 1},'
            '"replica_before":"OnlineReplica","replica_after":"OfflineReplica"'
            for p in hosted
        )
        pen.now_ms += 20 + len(others) // 50
        pen.write(self._isrs("isr_shrunk", others, broker))
        self._exchange(self._others(broker), len(others))

    def _return(self, broker: int, at_ms: int) -> None:
        pen = self._pen
        hosted = self._hosted[broker]
        led = [p for p in hosted if self._replicas[p][0] == broker]
        pen.now_ms = at_ms
        pen.because("BrokersChanged")
        self._lives[broker] += 1
        pen.say(facts.BrokerUp(BrokerId(broker + 1), BrokerEpoch(self._broker_epoch(broker))))
        pen.write(
            f'"kind":"replica_moved",{self._where[p]}"broker_id":{broker + 1},'
            '"replica_before":"OfflineReplica","replica_after":"OnlineReplica"'
            for p in hosted
        )
        self._exchange([broker], len(hosted))
        for portion in range(PORTIONS):
            pen.because("IsrChangesRequested", 500)
            pen.write(self._isrs("isr_altered", hosted[portion::PORTIONS], broker))
            self._tell_all("UpdateMetadata", len(hosted) // PORTIONS)
        pen.because("BalanceDue", 10_000)
        pen.write(self._elections(led, broker, is_return=True))
        self._exchange(range(self._shape.brokers), len(led))
        self._died[broker] += 1

    def _elections(self, led: Sequence[int], broker: int, *, is_return: bool) -> Iterator[str]:
        """The next replica takes over from this one, or gives the leadership back."""
        strategy, before, more = (
            (BY_PREFERENCE, PartitionState.ONLINE.value, 2)
            if is_return
            else (BY_DEATH, PartitionState.OFFLINE.value, 1)
        )
        for partition in led:
            replicas = self._replicas[partition]
            epoch, version = self._epochs(replicas)
            leaders = (replicas[1] + 1, broker + 1) if is_return else (broker + 1, replicas[1] + 1)
            isr = in_json(replicas if is_return else replicas[1:])
            yield (
                f'"kind":"leader_elected",{self._where[partition]}"strategy":"{strategy}",'
                f'"before":"{before}","leader_before":{leaders[0]},"leader":{leaders[1]},'
                f'"leader_epoch":{epoch + more},"isr":{isr},'
                f'"zk_version":{version + (3 if is_return else 1)}'
            )

    def _isrs(self, kind: str, partitions: Sequence[int], broker: int) -> Iterator[str]:
        """The ISR without this broker, or with it again."""
        is_whole = kind == "isr_altered"
        for partition in partitions:
            replicas = self._replicas[partition]
            epoch, version = self._epochs(replicas)
            leader = replicas[1] if replicas[0] == broker else replicas[0]
            isr = in_json(replicas if is_whole else [r for r in replicas if r != broker])
            who = leader if is_whole else broker
            yield (
                f'"kind":"{kind}",{self._where[partition]}"broker_id":{who + 1},'
                f'"leader":{leader + 1},"leader_epoch":{epoch + 1},"isr":{isr},'
                f'"zk_version":{version + (2 if is_whole else 1)}'
            )

    # --- requests ---------------------------------------------------------------------------------

    def _others(self, broker: int) -> list[int]:
        return [b for b in range(self._shape.brokers) if b != broker]

    def _exchange(self, brokers: Sequence[int], partitions: int) -> None:
        """Leaders and followers hear of it, and then everybody does."""
        self._ask(brokers, "LeaderAndIsr", partitions)
        self._ask(brokers, "UpdateMetadata", partitions)

    def _tell_all(self, api: str, partitions: int) -> None:
        self._ask(range(self._shape.brokers), api, partitions)

    def _ask(self, brokers: Sequence[int], api: str, partitions: int) -> None:
        pen = self._pen
        pen.write(
            f'"kind":"request_sent","broker_id":{b + 1},"broker_epoch":{self._broker_epoch(b)},'
            f'"api":"{api}","partition_count":{partitions}'
            for b in brokers
        )
        for tenth in range(10):
            pen.because(f"{api}Answered", 1 + tenth % 3)
            pen.write(
                f'"kind":"request_answered","broker_id":{b + 1},"api":"{api}","error":0'
                for b in brokers[tenth::10]
            )

    # --- the end ----------------------------------------------------------------------------------

    def _plant(self) -> None:
        for number, fault in enumerate(self._reign.faults):
            self._pen.because("Planted", 900_000)
            plant = FAULTS.get(fault)
            if plant is None:
                self._pen.sequence += RECORDS_LOST
                continue
            name = f"planted-{self._reign.epoch}-{number}"
            for broker, times in LIVES_OF.get(fault, {}).items():
                self._bounce(broker, times, name)
            if fault not in LIVES_OF:
                topic = SmallTopic(self._pen, name)
                topic.create()
                plant(topic)

    def _bounce(self, broker_id: int, times: int, name: str) -> None:
        """A broker dies so often; when it is once, it is elected while it is dead."""
        pen = self._pen
        topic = SmallTopic(pen, name)
        for _ in range(times):
            epoch = BrokerEpoch(self._broker_epoch(broker_id - 1))
            pen.say(facts.BrokerDown(BrokerId(broker_id), epoch))
            if times == 1:
                topic.create(leader=broker_id)
            self._lives[broker_id - 1] += 1
            pen.now_ms += 1_000
            epoch = BrokerEpoch(self._broker_epoch(broker_id - 1))
            pen.say(facts.BrokerUp(BrokerId(broker_id), epoch))
            pen.now_ms += 1_000

    def _resign(self) -> None:
        pen = self._pen
        pen.because("ControllerChanged")
        pen.say(facts.ControllerResigned("/controller now names None"))


def replicas_of(partition: int, shape: Shape) -> tuple[int, int, int]:
    """Three brokers, from 0; leaders and pairs of brokers are spread evenly."""
    first = partition % shape.brokers
    step = 1 + (partition // shape.brokers) % (shape.brokers - 2)
    return first, (first + step) % shape.brokers, (first + step + 1) % shape.brokers


def topic_name(topic: int) -> str:
    """The name of one of the topics that stay."""
    return f"topic-{topic:05d}"


def in_json(brokers: Sequence[int]) -> str:
    """The ids of brokers that are numbered from 0."""
    return f"[{','.join([str(b + 1) for b in brokers])}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate and say what was planted."""
    parser = argparse.ArgumentParser(description="Write a synthetic journal.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="about so many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    written = generate(options.directory, options.events, seed=options.seed)
    print(json.dumps({name: getattr(written, name) for name in Written.__struct_fields__}))


if __name__ == "__main__":
    main()
