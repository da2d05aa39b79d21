"""How the demo's clients are set up: confluent-kafka, unmodified."""

from typing import Final

#: For what is under way when clients are told to stop, on a machine that does ten other things.
PATIENCE_S: Final = 90.0
GROUP: Final = "demo"

# fmt: off
COMMON: Final = {
    # A client complains of every connection that breaks, and here that is the point.
    "log_level":                                0,
    # To notice a new leader as soon as there is one; by default a client takes its time.
    "reconnect.backoff.ms":                     20,
    "reconnect.backoff.max.ms":                 200,
    "topic.metadata.refresh.sparse":            False,
    "topic.metadata.refresh.fast.interval.ms":  20,
    "retry.backoff.ms":                         20,
}
PRODUCER: Final = {
    "acks":                                     "all",
    "enable.idempotence":                       True,
    "linger.ms":                                2,
}
CONSUMER: Final = {
    "group.id":                                 GROUP,
    "auto.offset.reset":                        "earliest",
    "session.timeout.ms":                       6_000,
    "heartbeat.interval.ms":                    500,
    "fetch.error.backoff.ms":                   20,
}
# fmt: on
