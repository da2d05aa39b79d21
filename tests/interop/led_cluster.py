"""Apache's brokers with Regent in office, and the load that shows whether anything is lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.model.admin_requests import NewTopic
from regent.model.error_codes import ErrorCode
from tests.chaos.judge import judge
from tests.chaos.ledger import Ledger
from tests.chaos.reading import read_topics
from tests.chaos.writers import ConfluentWriter
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_tools import Tool
from tests.interop.regent_controller import RegentController

OUTCOMES_WITHIN_S: Final = 240.0


class Load:
    """An idempotent producer with acks=all, and what it was told."""

    def __init__(self, apache: ApacheCluster, ledger: Ledger) -> None:
        self.ledger = ledger
        self._apache = apache

    @property
    def acknowledged(self) -> int:
        """How many records are safe, as far as the producer knows."""
        return len(self.ledger.acknowledged)

    def wait_for_progress(self) -> None:
        """Until records are acknowledged that were sent after this call."""
        sent = sum(self.ledger.sent)
        self._apache.wait_for(lambda: self.acknowledged > sent, "the producer to get on")

    def findings(self, record_property: Callable[[str, object], None]) -> list[str]:
        """All that is lost, doubled or out of order, as a consumer reads it in the end."""
        topic, count = self.ledger.topic, len(self.ledger.sent)
        reading = read_topics(self._apache.bootstrap, (topic,), count)
        values = {value for read in reading.values() for value in read.values.values()}
        lost = sum(note.to_value() not in values for note in self.ledger.acknowledged)
        record_property("lost", lost)
        record_property("acknowledged", self.acknowledged)
        record_property("longest_silence_s", round(self.ledger.longest_silence.seconds, 2))
        return judge(self.ledger, reading)


class LedCluster:
    """Entered with an open cluster: Regent takes office, then the brokers start."""

    def __init__(self, apache: ApacheCluster) -> None:
        self.apache = apache
        self.regent = RegentController(apache)

    def __enter__(self) -> Self:
        try:
            self.regent.start()
            self.regent.wait_for_office()
            self.apache.start()
        except BaseException:
            self.regent.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.regent.kill()

    def mend(self) -> None:
        """Bring back everybody who is down, and Regent into office."""
        self.apache.start()
        if not self.regent.is_running:
            self.regent.start("--take-over")
        self.regent.wait_for_office()
        self.apache.wait_until_followed(self.regent.node_id)

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> None:
        """On three brokers, by a client of ours; returns when all of it is in sync."""
        wish = NewTopic(name, partitions, 3, configs=tuple(configs.items()))
        with Cluster(parse_bootstrap(self.apache.bootstrap)) as asked:
            (result,) = Admin(asked).create([wish])
        assert result.error is ErrorCode.NONE, result
        self.apache.wait_until_led(name, partitions)

    def tool(self, tool: Tool, *arguments: str) -> str:
        """One of Apache's tools on this cluster; what it prints."""
        return self.apache.tool(tool, *arguments)

    @contextmanager
    def load(self, topic: str, partitions: int = 3) -> Iterator[Load]:
        """Write to a new topic all the while; at the end every record has an outcome."""
        self.create_topic(topic, partitions, **{"min.insync.replicas": "2"})
        ledger = Ledger("writer", topic, partitions)
        with ConfluentWriter(ledger, self.apache.bootstrap) as writer:
            yield Load(self.apache, ledger)
            writer.stop()
            writer.finish(OUTCOMES_WITHIN_S)
