"""Builders for the logs that tests are made of."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

START_MS = 1_714_564_800_000  # 2024-05-01 12:00:00 in UTC


def stamp(at_ms: int) -> str:
    """A time since the start of a test, as a node in UTC prints it."""
    at = datetime.fromtimestamp((START_MS + at_ms) / 1_000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1_000:03}"


def said(at_ms: int, sentence: str, level: str = "INFO") -> str:
    """A line of `state-change.log`."""
    return f"[{stamp(at_ms)}] {level} {sentence} (state.change.logger)"


def noted(at_ms: int, sentence: str, level: str = "INFO") -> str:
    """A line of `controller.log`."""
    return f"[{stamp(at_ms)}] {level} {sentence} (kafka.controller.KafkaController)"


def moved(at_ms: int, change: str, *, node: int = 1, epoch: int = 5) -> str:
    """A partition that changed its state: `t-0 Online Offline`."""
    partition, before, after = change.split()
    return said(
        at_ms,
        f"[Controller id={node} epoch={epoch}] Changed partition {partition} state from"
        f" {before}Partition to {after}Partition",
        "TRACE",
    )


def elected(at_ms: int, partition: str, leader: int, *isr: int, epoch: int = 5) -> str:
    """An election of Kafka 1.1, by controller 1."""
    members = ", ".join(map(str, isr))
    return said(
        at_ms,
        f"[Controller id=1 epoch={epoch}] Changed partition {partition} from OfflinePartition to"
        f" OnlinePartition with state LeaderAndIsr(leader={leader}, leaderEpoch=3,"
        f" isr=List({members}), zkVersion=4)",
        "TRACE",
    )


def write_log(path: Path, lines: Sequence[str]) -> Path:
    """A log of these lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
