"""How fast records come in and go out as messages: `python -m benchmarks.client_codec --json`.

Each figure is microseconds of the processor for one exchange, best of several repetitions: the
request is read from its bytes into the model, and its answer written from the model. The same is
done through kio, whose native reader is fast and whose writer is not; `_ratio` is how many times
faster ours is. Frames, headers and logs are not in it.

- `produce`: 200 bytes of records for one partition, acknowledged.
- `produce_many`: the same for each of a hundred partitions in ten topics.
- `fetch`: one megabyte of records of one partition, for a consumer.
- `fetch_many`: a follower asks for a hundred partitions of which each has 1 KB of news.
- `follow_many`: that follower's side: the request is written, and the answer read.
"""

import argparse
from collections.abc import Callable, Sequence
from time import thread_time
from typing import Any, Final

from benchmarks.plain_records import read_plain_answer, read_plain_request, write_plain
from benchmarks.report import show
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId, LeaderEpoch, TopicPartition
from regent.model.record_requests import (
    Acks,
    AppendResult,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionRecords,
    PartitionToFetch,
    Produce,
    ProduceAnswer,
)
from regent.wire import fetch_codec, produce_codec
from regent.wire.apis import APIS, ApiKey

PRODUCE_VERSION: Final = APIS[ApiKey.PRODUCE].last_version
FETCH_VERSION: Final = APIS[ApiKey.FETCH].last_version
ONE: Final = (TopicPartition("orders", 3),)
MANY: Final = tuple(
    TopicPartition(f"topic-{topic}", partition) for topic in range(10) for partition in range(10)
)


def produce(names: tuple[TopicPartition, ...]) -> tuple[Produce, ProduceAnswer]:
    """A small append to each of these partitions, and its answer."""
    return (
        Produce(Acks.ALL, 30_000, tuple(PartitionRecords(name, bytes(200)) for name in names)),
        ProduceAnswer(tuple(AppendResult(name, ErrorCode.NONE, 5_000, -1, 0) for name in names)),
    )


def fetch(
    names: tuple[TopicPartition, ...], size_bytes: int, replica_id: int
) -> tuple[FetchRecords, FetchRecordsAnswer]:
    """A fetch from each of these partitions, and its answer with so many bytes of each."""
    records = bytes(size_bytes)
    return (
        FetchRecords(
            tuple(PartitionToFetch(name, 5_000, 1_048_576, LeaderEpoch(7), 0) for name in names),
            max_wait_ms=500,
            min_bytes=1,
            replica_id=BrokerId(replica_id),
        ),
        FetchRecordsAnswer(
            partitions=tuple(
                FetchedRecords(name, ErrorCode.NONE, 6_000, 6_000, 0, records=records)
                for name in names
            )
        ),
    )


def produce_ways(names: tuple[TopicPartition, ...]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A broker answers Produce: by our codec, and through kio."""
    request, answer = produce(names)
    content = write_plain(request, PRODUCE_VERSION)

    def ours() -> bytes:
        produce_codec.read_request(content, 0, PRODUCE_VERSION)
        return b"".join(produce_codec.write_answer(answer, PRODUCE_VERSION))

    def plain() -> bytes:
        read_plain_request(ApiKey.PRODUCE, PRODUCE_VERSION, content)
        return write_plain(answer, PRODUCE_VERSION)

    assert ours() == plain(), "ours are kio's bytes"
    return ours, plain


def fetch_ways(
    names: tuple[TopicPartition, ...], size_bytes: int, replica_id: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A broker answers Fetch; ours leaves the answer in parts, as `writelines` takes it."""
    request, answer = fetch(names, size_bytes, replica_id)
    content = write_plain(request, FETCH_VERSION)

    def ours() -> list[Any]:
        fetch_codec.read_request(content, 0, FETCH_VERSION)
        return fetch_codec.write_answer(answer, FETCH_VERSION)

    def plain() -> bytes:
        read_plain_request(ApiKey.FETCH, FETCH_VERSION, content)
        return write_plain(answer, FETCH_VERSION)

    assert b"".join(ours()) == plain(), "ours are kio's bytes"
    return ours, plain


def follow_ways(
    names: tuple[TopicPartition, ...], size_bytes: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A follower asks and hears."""
    request, answer = fetch(names, size_bytes, replica_id=3)
    content = write_plain(answer, FETCH_VERSION)

    def ours() -> Any:
        fetch_codec.write_request(request, FETCH_VERSION)
        return fetch_codec.read_answer(content, 0, FETCH_VERSION)

    def plain() -> Any:
        write_plain(request, FETCH_VERSION)
        return read_plain_answer(ApiKey.FETCH, FETCH_VERSION, content)

    assert ours() == plain(), "ours are kio's values"
    return ours, plain


def best_us(work: Callable[[], Any], rounds: int, repetitions: int) -> float:
    """Microseconds for one round, in the best repetition."""
    best = float("inf")
    for _ in range(repetitions):
        start = thread_time()
        for _ in range(rounds):
            work()
        best = min(best, thread_time() - start)
    return best / rounds * 1e6


def measure(rounds: int, repetitions: int) -> dict[str, float]:
    """Every figure; exchanges of a hundred partitions have a hundredth of the rounds."""
    cases = {
        "produce": (produce_ways(ONE), rounds),
        "produce_many": (produce_ways(MANY), max(1, rounds // 100)),
        "fetch": (fetch_ways(ONE, 1_048_576, replica_id=-1), max(1, rounds // 10)),
        "fetch_many": (fetch_ways(MANY, 1_024, replica_id=3), max(1, rounds // 100)),
        "follow_many": (follow_ways(MANY, 1_024), max(1, rounds // 100)),
    }
    figures: dict[str, float] = {}
    for name, ((ours, plain), count) in cases.items():
        ours_us, plain_us = best_us(ours, count, repetitions), best_us(plain, count, repetitions)
        figures[f"{name}_us"] = round(ours_us, 2)
        figures[f"kio_{name}_us"] = round(plain_us, 2)
        figures[f"{name}_ratio"] = round(plain_us / ours_us, 1)
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the codecs of Produce and Fetch.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=5_000, help="exchanges in a repetition")
    parser.add_argument("--repetitions", type=int, default=5, help="best of how many")
    options = parser.parse_args(arguments)
    figures = measure(options.rounds, options.repetitions)
    show({"benchmark": "client_codec", "rounds": options.rounds, **figures}, as_json=options.json)


if __name__ == "__main__":
    main()
