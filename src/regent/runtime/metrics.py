"""What a node shows to Prometheus: Kafka's own names where Kafka has one, and Regent's beside.

`kafka.controller:type=KafkaController,name=ActiveControllerCount` is here
`kafka_controller_KafkaController_ActiveControllerCount`. Everything is read when it is asked for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric

from regent.core.event_queue import EventQueue
from regent.core.gauges import QUEUE_GAUGES, Gauge, register
from regent.core.mutation_quotas import QuotaReading
from regent.core.state import ControllerState
from regent.model.ids import BrokerId
from regent.runtime.broker_channel import BrokerChannel
from regent.runtime.event_times import EventTimes
from regent.runtime.journal_thread import JournalThread

_CONTROLLER: Final = "kafka_controller_KafkaController"
_STATS: Final = "kafka_controller_ControllerStats"
_EVENTS: Final = "kafka_controller_ControllerEventManager"
_CHANNELS: Final = "kafka_controller_ControllerChannelManager"


class Readings(Struct, frozen=True):
    """What only the controller thread may read, read by it."""

    gauges: dict[str, int]
    controller_epoch: int
    #: The mutation quotas that somebody has used.
    quotas: Sequence[QuotaReading] = ()


def read_state(state: ControllerState, events: EventQueue, now_ms: int) -> Readings:
    """The core's gauges of the state; those of the queue are shown under names of their own."""
    registry: dict[str, Gauge] = {}
    register(registry, state, events)
    gauges = {name: read() for name, read in registry.items() if name not in QUEUE_GAUGES}
    quotas = () if state.mutation_quotas is None else state.mutation_quotas.readings(now_ms)
    return Readings(gauges, state.controller_epoch, quotas)


class Sources(Struct, frozen=True):
    """Where the figures come from."""

    events: EventQueue
    times: EventTimes
    journal: JournalThread
    channels: Mapping[BrokerId, BrokerChannel]
    is_connected: bool


def exposition(readings: Readings, sources: Sources) -> bytes:
    """All of it in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([*_families(readings, sources)]))
    return generate_latest(registry)


class _Collected:
    """Figures that have been gathered already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families

    def describe(self) -> Iterable[Metric]:
        return ()


def _families(readings: Readings, sources: Sources) -> Iterator[Metric]:
    for name, value in readings.gauges.items():
        yield GaugeMetricFamily(f"{_CONTROLLER}_{name}", f"Kafka's {name}.", value)
    yield GaugeMetricFamily(
        f"{_CONTROLLER}_ControllerState", "What it is doing; 0 is idle.", sources.times.state
    )
    yield from _event_families(sources)
    yield from _channel_families(sources.channels)
    yield from _quota_families(readings.quotas)
    yield GaugeMetricFamily(
        "regent_controller_epoch", "The epoch this node last won.", readings.controller_epoch
    )
    yield GaugeMetricFamily(
        "regent_zookeeper_connected", "Whether ZooKeeper answers.", int(sources.is_connected)
    )
    yield CounterMetricFamily(
        "regent_journal_records_dropped",
        "Records that never reached the disk.",
        sources.journal.dropped_count,
    )
    yield GaugeMetricFamily(
        "regent_journal_in_trouble",
        "Whether the journal cannot be written now.",
        int(sources.journal.trouble is not None),
    )


def _quota_families(quotas: Iterable[QuotaReading]) -> Iterator[Metric]:
    """Kafka shows what is left, and keeps to itself what is allowed."""
    labels = ("user", "client_id")
    tokens = GaugeMetricFamily(
        "kafka_server_ControllerMutation_tokens",
        "Partitions that may still be made or deleted at once; less than 0: wait.",
        labels=labels,
    )
    allowed = GaugeMetricFamily(
        "regent_controller_mutation_rate_allowed", "Partitions a second.", labels=labels
    )
    for quota in quotas:
        tokens.add_metric(quota.holder, quota.level)
        allowed.add_metric(quota.holder, quota.rate.per_second)
    yield from (tokens, allowed)


def _event_families(sources: Sources) -> Iterator[Metric]:
    events = sources.events
    yield GaugeMetricFamily(f"{_EVENTS}_EventQueueSize", "Events that wait.", len(events))
    yield SummaryMetricFamily(
        f"{_EVENTS}_EventQueueTimeMs",
        "How long events waited.",
        count_value=events.times.count,
        sum_value=events.times.total_ms,
    )
    for timer, timed in sources.times.by_timer.items():
        yield SummaryMetricFamily(
            f"{_STATS}_{timer}RateAndTimeMs",
            "How often, and how long in all.",
            count_value=timed.count,
            sum_value=timed.seconds * 1000,
        )


def _channel_families(channels: Mapping[BrokerId, BrokerChannel]) -> Iterator[Metric]:
    total = sum(map(len, channels.values()))
    yield GaugeMetricFamily(f"{_CHANNELS}_TotalQueueSize", "Requests that wait.", total)
    size = GaugeMetricFamily(
        f"{_CHANNELS}_QueueSize", "Requests that wait for one broker.", labels=("broker_id",)
    )
    waited = SummaryMetricFamily(
        f"{_CHANNELS}_RequestRateAndQueueTimeMs",
        "Requests answered, and how long they had waited.",
        labels=("broker_id",),
    )
    answered = SummaryMetricFamily(
        "regent_channel_answer_ms", "How long brokers took to answer.", labels=("broker_id",)
    )
    failed = CounterMetricFamily(
        "regent_channel_failures", "Broken exchanges with a broker.", labels=("broker_id",)
    )
    for broker_id, channel in channels.items():
        labels, times = (str(broker_id),), channel.times
        size.add_metric(labels, len(channel))
        waited.add_metric(labels, times.sent_count, times.queue_s * 1000)
        answered.add_metric(labels, times.sent_count, times.answer_s * 1000)
        failed.add_metric(labels, times.failed_count)
    yield from (size, waited, answered, failed)
