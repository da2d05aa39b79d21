"""A cluster's configuration, under Kafka's names, as the file of properties that its nodes read."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from regent.errors import BadInput

Setting: TypeAlias = str | int | float | bool

#: No more copies of `__consumer_offsets` than Kafka's own default.
OFFSETS_COPIES_MAX: Final = 3

#: What suits a cluster that lives for one test; each can be given otherwise.
# fmt: off
FOR_TESTS: Final[Mapping[str, Setting]] = {
    # A broker that hangs is found dead soon. One that is killed is found dead at once anyway.
    "zookeeper.session.timeout.ms":     3_000,
    "replica.lag.time.max.ms":          3_000,
    # A follower hears of a new leadership while its fetch waits, and asks for it with the next one.
    "replica.fetch.wait.max.ms":        100,
    # A group of consumers does not wait for members to come.
    "group.initial.rebalance.delay.ms": 0,
    # Fifty partitions of it take longer to make than most tests last.
    "offsets.topic.num.partitions":     4,
}
# fmt: on


def to_properties(given: Mapping[str, Setting], *, broker_count: int, for_tests: bool) -> str:
    """The text of the file."""
    settings: dict[str, Setting] = {
        "offsets.topic.replication.factor": min(broker_count, OFFSETS_COPIES_MAX),
        # The last broker to stop has nobody to hand over to, and asks a few times all the same.
        "controlled.shutdown.retry.backoff.ms": 500,
        **(FOR_TESTS if for_tests else {}),
        **given,
    }
    return "".join(f"{_checked(name)}={_to_text(name, settings[name])}\n" for name in settings)


def _checked(name: str) -> str:
    if not name or any(sign in name for sign in "=#!\n\r ") or not name.isascii():
        raise BadInput(f"{name!r} is no name of a setting; write them like num.partitions")
    return name


def _to_text(name: str, value: Setting) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "\n" in text or "\r" in text:
        raise BadInput(f"the value of {name} must be one line")
    return text
