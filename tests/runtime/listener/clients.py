"""Kafka's clients for Python, as they are: untyped, and not without warnings of their own."""

import importlib
import warnings
from types import ModuleType
from typing import Any, Final

import pytest

#: For tests of theirs, as a `pytestmark`.
CLIENT_WARNINGS: Final = [
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
    # kafka-python leaves sockets of brokers that are gone to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def _imported(name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


kafka_python: Any = _imported("kafka")
kafka_python_admin: Any = _imported("kafka.admin")
kafka_python_errors: Any = _imported("kafka.errors")
confluent: Any = _imported("confluent_kafka")
confluent_admin: Any = _imported("confluent_kafka.admin")
aiokafka: Any = _imported("aiokafka")
aiokafka_admin: Any = _imported("aiokafka.admin")
