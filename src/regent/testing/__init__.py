"""A Kafka cluster for tests: real brokers, real elections, and faults at will.

    from regent.testing import Cluster

Everything here is imported when it is used: a test run that starts no cluster pays nothing for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regent.testing.churn import Churn
    from regent.testing.cluster import LocalCluster as Cluster

__all__ = ["Churn", "Cluster"]


def __getattr__(name: str) -> Any:
    match name:
        case "Cluster":
            from regent.testing.cluster import LocalCluster  # noqa: PLC0415

            return LocalCluster
        case "Churn":
            from regent.testing.churn import Churn  # noqa: PLC0415

            return Churn
        case _:
            raise AttributeError(f"regent.testing has no {name}")
