"""Options of topics as people type them: configurations and assignments."""

from collections.abc import Sequence

from regent.errors import BadInput
from regent.model.ids import BrokerId


def read_configs(given: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """`retention.ms=1000`, each key once."""
    configs: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key.strip() or not equals:
            raise BadInput(f"--config: {text!r} is no setting; write it like retention.ms=1000")
        if key.strip() in configs:
            raise BadInput(f"--config: {key.strip()} is given twice; leave one of them")
        configs[key.strip()] = value
    return tuple(configs.items())


def read_assignment(text: str) -> tuple[tuple[BrokerId, ...], ...]:
    """`1:2,2:3`: the replicas of each partition in turn, as kafka-topics takes them."""
    return tuple(_read_replicas(part, text) for part in text.split(","))


def _read_replicas(part: str, whole: str) -> tuple[BrokerId, ...]:
    numbers = [number.strip() for number in part.split(":")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise BadInput(
            f"--replica-assignment: {whole!r} is no assignment; write the brokers of partition 0,"
            " a comma, those of partition 1 and so on, like 1:2,2:3"
        )
    replicas = tuple(BrokerId(int(number)) for number in numbers)
    if len(set(replicas)) < len(replicas):
        raise BadInput(
            f"--replica-assignment: {part.strip()!r} names a broker twice; a broker holds one"
            " replica of a partition"
        )
    return replicas
