"""How fast control requests become bytes: `python -m benchmarks.wire --json`.

What a controller sends when it takes office in a cluster of N partitions (three replicas, twelve
brokers, topics of fifty): one UpdateMetadata for all and a LeaderAndIsr for each of the brokers, in
the newest versions. Each figure is the best of several repetitions, in seconds of the processor.

For each size:

- `kio_update_metadata_s`, `kio_leader_and_isr_s`: one UpdateMetadata, and one of the twelve
  LeaderAndIsr, built and written the plain way through kio.
- `update_metadata_s`: ours, first time; `update_metadata_ratio` is how many times faster it is.
- `update_metadata_again_s`: the same partitions in a new batch, as told to a broker that returns.
- `update_metadata_others_s`: the other eleven brokers of a batch, together.
- `leader_and_isr_s`: all twelve LeaderAndIsr; `leader_and_isr_ratio` compares with twelve of kio's.
- `read_s`: one UpdateMetadata, read by the strict reader.
"""

import argparse
import gc
from collections.abc import Callable, Sequence
from time import thread_time
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.report import show
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    BrokerEntries,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    UpdateMetadata,
)
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from regent.wire import leader_and_isr, update_metadata
from regent.wire.apis import APIS, ApiKey
from regent.wire.bulk_encoder import LeaderAndIsrEncoder, UpdateMetadataEncoder
from regent.wire.payloads import encode_payload, request_schema
from regent.wire.strict_reader import read_payload

BROKERS: Final = tuple(
    Broker(BrokerId(b), (Endpoint(f"broker-{b}.example", 9092),)) for b in range(12)
)
ENDPOINTS: Final = {broker.broker_id: broker.endpoints[0] for broker in BROKERS}
PARTITIONS_PER_TOPIC: Final = 50
TOPIC_ID: Final = "Zm9vYmFyYmF6cXV1eDEyMw"
SIZES: Final = (10_000, 100_000)
UPDATE_METADATA_VERSION: Final = APIS[ApiKey.UPDATE_METADATA].last_version
LEADER_AND_ISR_VERSION: Final = APIS[ApiKey.LEADER_AND_ISR].last_version


class FirstBatch:
    """The requests of a controller that has just taken office."""

    def __init__(self, partition_count: int) -> None:
        self._entries = [self._entry(number) for number in range(partition_count)]
        topics = dict.fromkeys(entry.topic for entry in self._entries)
        self._topic_ids = tuple((topic, TOPIC_ID) for topic in topics)

    def _entry(self, number: int) -> LeaderAndIsrPartition:
        replicas = tuple(BrokerId((number + step) % len(BROKERS)) for step in (0, 1, 5))
        leadership = Leadership(
            replicas[0], LeaderEpoch(5), replicas, ControllerEpoch(7), ZkVersion(9)
        )
        topic, partition = divmod(number, PARTITIONS_PER_TOPIC)
        return LeaderAndIsrPartition(
            f"topic-{topic}", partition, leadership, Assignment(replicas), is_new=False
        )

    def update_metadata(self) -> UpdateMetadata:
        """With entries of its own, as each batch has them."""
        return UpdateMetadata(
            controller_id=BrokerId(0),
            controller_epoch=ControllerEpoch(8),
            broker_epoch=BrokerEpoch(100),
            partitions=tuple(map(_to_metadata, self._entries)),
            live_brokers=BROKERS,
            topic_ids=self._topic_ids,
        )

    def leader_and_isrs(self) -> list[LeaderAndIsr]:
        """One for each broker, with those partitions that it holds."""
        held: dict[BrokerId, list[int]] = {b.broker_id: [] for b in BROKERS}
        for place, entry in enumerate(self._entries):
            for broker_id in entry.assignment.replicas:
                held[broker_id].append(place)
        batch = tuple(self._entries)
        return [
            LeaderAndIsr(
                controller_id=BrokerId(0),
                controller_epoch=ControllerEpoch(8),
                broker_epoch=BrokerEpoch(100 + broker_id),
                partitions=BrokerEntries(batch, places),
                live_leaders=tuple(ENDPOINTS),
                topic_ids=self._topic_ids,
            )
            for broker_id, places in held.items()
        ]


def _to_metadata(entry: LeaderAndIsrPartition) -> PartitionMetadata:
    leadership = entry.leadership
    return PartitionMetadata(
        entry.topic,
        entry.partition,
        leadership.controller_epoch,
        leadership.leader,
        leadership.leader_epoch,
        leadership.isr,
        leadership.zk_version,
        entry.assignment.replicas,
    )


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and what came out."""
    gc.collect()
    start = thread_time()
    result = work()
    return thread_time() - start, result


def through_kio_update_metadata(request: UpdateMetadata) -> bytes:
    """The plain way, values and dataclasses included."""
    schema = request_schema(ApiKey.UPDATE_METADATA, UPDATE_METADATA_VERSION)
    return encode_payload(schema, update_metadata.request_values(request))


def through_kio_leader_and_isr(request: LeaderAndIsr) -> bytes:
    """The plain way, values and dataclasses included."""
    schema = request_schema(ApiKey.LEADER_AND_ISR, LEADER_AND_ISR_VERSION)
    return encode_payload(schema, leader_and_isr.request_values(request, ENDPOINTS))


def repeat(partition_count: int) -> dict[str, float]:
    """Every figure once, and the bytes compared."""
    batch = FirstBatch(partition_count)
    first, again, followers = batch.update_metadata(), batch.update_metadata(), BROKERS[1:]
    requests = batch.leader_and_isrs()
    encoder = UpdateMetadataEncoder(UPDATE_METADATA_VERSION)
    times: dict[str, float] = {}
    times["kio_update_metadata_s"], plain = timed(lambda: through_kio_update_metadata(first))
    times["update_metadata_s"], fast = timed(lambda: encoder.encode(first))
    assert b"".join(fast) == plain, "ours are kio's bytes"
    others = [replace(first, broker_epoch=BrokerEpoch(b.broker_id)) for b in followers]
    times["update_metadata_others_s"], _ = timed(lambda: [encoder.encode(r) for r in others])
    times["update_metadata_again_s"], _ = timed(lambda: encoder.encode(again))
    schema = request_schema(ApiKey.UPDATE_METADATA, UPDATE_METADATA_VERSION)
    times["read_s"], _ = timed(lambda: read_payload(schema, plain))
    times["kio_leader_and_isr_s"], plain = timed(lambda: through_kio_leader_and_isr(requests[0]))
    writer = LeaderAndIsrEncoder(LEADER_AND_ISR_VERSION)
    times["leader_and_isr_s"], all_parts = timed(
        lambda: [writer.encode(request, ENDPOINTS) for request in requests]
    )
    assert b"".join(all_parts[0]) == plain, "ours are kio's bytes"
    return times


def measure(partition_count: int, repetitions: int) -> dict[str, Any]:
    """Every figure for one size."""
    made = [repeat(partition_count) for _ in range(repetitions)]
    best = {name: min(times[name] for times in made) for name in made[0]}
    kio_leader_and_isr_s = best["kio_leader_and_isr_s"] * len(BROKERS)
    return {
        "partitions": partition_count,
        **{name: round(seconds, 6) for name, seconds in best.items()},
        "update_metadata_ratio": round(
            best["kio_update_metadata_s"] / best["update_metadata_s"], 1
        ),
        "leader_and_isr_ratio": round(kio_leader_and_isr_s / best["leader_and_isr_s"], 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the writing of control requests.")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--partitions",
        default=",".join(map(str, SIZES)),
        help="sizes to measure, smallest first (default: %(default)s)",
    )
    parser.add_argument("--repetitions", type=int, default=3, help="best of how many")
    options = parser.parse_args(arguments)
    sizes = [int(size) for size in options.partitions.split(",")]
    measured = [measure(size, options.repetitions) for size in sizes]
    show(
        {"benchmark": "wire", "repetitions": options.repetitions, "sizes": measured},
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
