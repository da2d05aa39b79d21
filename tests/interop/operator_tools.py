"""What operators do to topics with Apache's own tools, whichever release, until it is done."""

import json
from pathlib import Path
from typing import Final

from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_tools import Tool

#: Before it, elections had a tool that knew one kind of them, and no options but where.
ELECTION_TYPES_SINCE: Final = (2, 4)


class Operator:
    """Whoever has the tools at hand; each call returns when what was asked for is so."""

    def __init__(self, apache: ApacheCluster) -> None:
        self._apache = apache

    def create(self, topic: str, partitions: int, replicas: int = 3) -> None:
        """Make a topic."""
        self._apache.tool(
            *(Tool.TOPICS, "--create", "--topic", topic),
            *("--partitions", str(partitions), "--replication-factor", str(replicas)),
        )
        self._apache.wait_until_led(topic, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Let a topic have so many partitions."""
        self._apache.tool(Tool.TOPICS, "--alter", "--topic", topic, "--partitions", str(partitions))
        self._apache.wait_until_led(topic, partitions)

    def delete(self, topic: str) -> None:
        """Remove a topic and its replicas."""
        self._apache.tool(Tool.TOPICS, "--delete", "--topic", topic)
        self.wait_until_gone(topic)

    def move(self, topic: str, replicas: tuple[int, ...]) -> None:
        """Put a topic's one partition on these brokers; the first is to be preferred."""
        plan = write_plan(self._apache.folder, topic, replicas)
        self._apache.tool(Tool.REASSIGN, "--execute", "--reassignment-json-file", plan)
        self.wait_until_moved(topic, replicas)

    def elect_preferred(self) -> None:
        """Let every partition's first replica lead that can; only asks."""
        has_types = self._apache.mode.release >= ELECTION_TYPES_SINCE
        which = ("--election-type", "preferred", "--all-topic-partitions") if has_types else ()
        self._apache.tool(Tool.ELECTION, *which)

    def wait_until_moved(self, topic: str, replicas: tuple[int, ...]) -> None:
        """Its one partition is there, in sync, and nothing is on the way any more."""

        def is_there() -> bool:
            assignment = self._apache.partition(topic).assignment
            is_moving = assignment.adding or assignment.removing
            return assignment.replicas == replicas and not is_moving

        self._apache.wait_for(is_there, f"{topic} to be on {replicas}")
        self._apache.wait_until_led(topic)

    def wait_until_gone(self, topic: str) -> None:
        """Neither ZooKeeper nor any broker knows of it, and no broker serves its replicas."""

        def is_gone() -> bool:
            if self._apache.partitions(topic):
                return False
            for broker_id in self._apache.broker_ids:
                seen = self._apache.seen_by(broker_id, topic)
                if seen is None or any(seen.partitions()):
                    return False
            return not any(self._served(topic))

        self._apache.wait_for(is_gone, f"{topic} to be gone")

    def _served(self, topic: str) -> list[str]:
        """The folders of its replicas, but for those that wait to be removed."""
        return [
            folder.name
            for broker_id in self._apache.broker_ids
            for log_dir in self._apache.broker(broker_id).log_dirs
            for folder in log_dir.glob(f"{topic}-*")
            if not folder.name.endswith("-delete")
        ]


def write_plan(folder: Path, topic: str, replicas: tuple[int, ...]) -> str:
    """Where the reassignment tool reads that a topic's one partition shall be on these brokers."""
    partitions = [{"topic": topic, "partition": 0, "replicas": list(replicas)}]
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(plan)
