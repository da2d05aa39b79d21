"""How many replicas topics want in sync: what a client of ours needs of DescribeConfigs."""

from collections.abc import Mapping, Sequence
from typing import Final

from regent.client.connection import Connection
from regent.model.config_requests import (
    ConfigQuestion,
    ConfigResource,
    DescribeConfigs,
    ResourceType,
)

MIN_ISR: Final = "min.insync.replicas"
#: So many topics in a request, so that a broker need not look up thousands while we wait.
TOPICS_AT_ONCE: Final = 500


def read_min_isr(connection: Connection, topics: Sequence[str]) -> Mapping[str, int]:
    """By topic; a topic whose configuration may not be seen is left out."""
    found: dict[str, int] = {}
    for start in range(0, len(topics), TOPICS_AT_ONCE):
        questions = tuple(
            ConfigQuestion(ConfigResource(ResourceType.TOPIC, topic), (MIN_ISR,))
            for topic in topics[start : start + TOPICS_AT_ONCE]
        )
        answer = connection.ask(DescribeConfigs(questions))
        found |= {
            description.resource.name: int(entry.value)
            for description in answer.results
            for entry in description.entries
            if entry.name == MIN_ISR and entry.value is not None and entry.value.isdecimal()
        }
    return found
