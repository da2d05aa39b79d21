"""Kafka's clients for Python, as they are: untyped, and not without warnings of their own."""

import importlib
import warnings
from types import ModuleType
from typing import Any


def _imported(name: str) -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


kafka_python: Any = _imported("kafka")
kafka_python_admin: Any = _imported("kafka.admin")
kafka_python_errors: Any = _imported("kafka.errors")
confluent: Any = _imported("confluent_kafka")
confluent_admin: Any = _imported("confluent_kafka.admin")
