"""All logs of one broker, under one or several directories of which each may fail by itself.

It has the operations of the `LogDirectory` that the pure half of a broker works with, under the
same names. A log that is damaged is refused with a reason and the others are served. A directory
that fails takes its logs offline and is reported; the others go on.
"""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

from regent.errors import BadInput, CorruptLog, LogDirOffline
from regent.model.ids import BrokerId, TopicPartition
from regent.storage.checkpoints import CheckpointFile, read_checkpoint, write_checkpoint
from regent.storage.clock import Clock, wall_clock
from regent.storage.log_config import LogConfig
from regent.storage.log_dir import FailureListener, LogDir, ignore_failure
from regent.storage.log_loading import LastKnown
from regent.storage.meta_properties import check_owner
from regent.storage.partition_log import PartitionLog
from regent.storage.topic_id_file import read_topic_id, write_topic_id

#: The settings of a topic's logs.
ConfigOf: TypeAlias = Callable[[str], LogConfig]

_DELETE_SUFFIX: Final = "-delete"
#: As Kafka calls what nobody asks for any more.
_STRAY_SUFFIX: Final = "-stray"
_NAME_BYTES_MAX: Final = 255

logger = logging.getLogger(__name__)


def default_config(_topic: str) -> LogConfig:
    """Kafka's defaults, whatever the topic."""
    return LogConfig()


class LogStore:
    """The logs, all loaded when it is made, and their checkpoints."""

    def __init__(  # noqa: PLR0913 - who owns it, and what it needs from the node, each by name
        self,
        directories: Sequence[Path],
        *,
        broker_id: BrokerId,
        cluster_id: str,
        config_of: ConfigOf = default_config,
        on_failure: FailureListener = ignore_failure,
        clock: Clock = wall_clock,
    ) -> None:
        self._config_of = config_of
        self._clock = clock
        self._log_dirs = tuple(LogDir(path, on_failure) for path in directories)
        self._logs: dict[TopicPartition, PartitionLog] = {}
        #: Damaged logs, and what is wrong with each.
        self.refused: dict[TopicPartition, CorruptLog] = {}
        #: What their checkpoints said. It is kept, so that the next start refuses them as well.
        self._refused_known: dict[TopicPartition, LastKnown] = {}
        #: Logs that are served, and of which some part is known to be damaged.
        self._found_damaged: set[TopicPartition] = set()
        self._places: dict[TopicPartition, LogDir] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        #: Whom the checkpoint files of a directory may name, logs that are deleted by now included.
        self._checkpointed: dict[LogDir, set[TopicPartition]] = {d: set() for d in self._log_dirs}
        try:
            for log_dir in self._log_dirs:
                log_dir.claim()
                check_owner(log_dir.path, broker_id, cluster_id)
            for log_dir in self._log_dirs:
                with suppress(LogDirOffline):
                    self._load_all(log_dir)
        except BaseException:
            self.abandon()
            raise

    # --- logs ---------------------------------------------------------------------------------

    @property
    def failed(self) -> bool:
        """Whether there is no directory left that works."""
        return all(log_dir.trouble is not None for log_dir in self._log_dirs)

    @property
    def has_failed_directory(self) -> bool:
        """Whether a log that is not here may be on a directory that is offline."""
        return any(log_dir.trouble is not None for log_dir in self._log_dirs)

    def is_offline(self, name: TopicPartition) -> bool:
        """Whether the log is here but cannot be used: damaged, or on a failed directory."""
        log_dir = self._places.get(name)
        return name in self.refused or (log_dir is not None and log_dir.trouble is not None)

    def open(self, name: TopicPartition) -> PartitionLog:
        """The partition's log, made empty if it is not there."""
        if name in self.refused:
            raise self.refused[name]
        log = self._logs.get(name)
        if log is None:
            log_dir = self._emptiest()
            self._forget_predecessor(log_dir, name)
            log = self._logs[name] = self._open(log_dir, name, LastKnown())
        return log

    def has(self, name: TopicPartition) -> bool:
        """Whether there is a log of that name, be it damaged or offline."""
        return name in self._places

    def names(self) -> tuple[TopicPartition, ...]:
        """All logs, in order."""
        return tuple(sorted(self._places))

    def directory_of(self, name: TopicPartition) -> Path | None:
        """Which of the directories a log is in."""
        log_dir = self._places.get(name)
        return None if log_dir is None else log_dir.path

    def delete(self, name: TopicPartition) -> None:
        """Remove the log; one that is not there is no error.

        Once renamed it is gone for good: what a crash leaves of it is removed at the next start.
        The checkpoint files may name it until they are written next, which is before there can be
        another log of that name.
        """
        log_dir = self._places.get(name)
        if log_dir is not None:
            with log_dir:
                shutil.rmtree(self._rename(log_dir, name, _DELETE_SUFFIX))

    def set_aside(self, name: TopicPartition) -> None:
        """Make room for another log of that name; what was there is left for people to look at."""
        log_dir = self._places.get(name)
        if log_dir is not None:
            with log_dir:
                aside = self._rename(log_dir, name, _STRAY_SUFFIX)
            logger.warning(
                "%s is of another topic of that name, which is gone: see %s", name, aside
            )

    def _rename(self, log_dir: LogDir, name: TopicPartition, ending: str) -> Path:
        log = self._logs.pop(name, None)
        if log is not None:
            log.abandon()
        suffix = f".{uuid4().hex}{ending}"
        renamed = log_dir.path / (str(name)[: _NAME_BYTES_MAX - len(suffix)] + suffix)
        (log_dir.path / str(name)).rename(renamed)
        self.refused.pop(name, None)
        self._refused_known.pop(name, None)
        self._found_damaged.discard(name)
        self._high_watermarks.pop(name, None)
        del self._places[name]
        return renamed

    def topic_id(self, name: TopicPartition) -> str | None:
        """Of which topic the log is, if that was ever noted."""
        log_dir = self._places.get(name)
        if log_dir is None:
            return None
        with log_dir:
            return read_topic_id(log_dir.path / str(name))

    def note_topic_id(self, name: TopicPartition, topic_id: str) -> None:
        """Of which topic the log is, which must be there."""
        log_dir = self._places[name]
        with log_dir:
            write_topic_id(log_dir.path / str(name), topic_id)

    def reconfigure(self, topic: str) -> None:
        """A topic's settings have changed: let its open logs know."""
        config = self._config_of(topic)
        for name, log in self._logs.items():
            if name.topic == topic:
                log.config = config

    # --- checkpoints --------------------------------------------------------------------------

    def high_watermark(self, name: TopicPartition) -> int:
        """The last checkpoint, or 0, which is always safe."""
        return self._high_watermarks.get(name, 0)

    def checkpoint(self, name: TopicPartition, high_watermark: int) -> None:
        """Remember how far the partition was committed; `write_checkpoints` makes it last."""
        self._high_watermarks[name] = high_watermark

    def write_checkpoints(self) -> None:
        """Write high watermarks, recovery points and start offsets of every directory."""
        for log_dir in self._live():
            with suppress(LogDirOffline), log_dir:
                self._write_checkpoints(log_dir)

    # --- what time brings ---------------------------------------------------------------------

    def flush_due(self) -> None:
        """Sync what was promised to be synced by now."""
        for log in self._live_logs():
            with self._for_itself(log):
                log.flush_if_due()

    def flush_rolled(self) -> None:
        """Sync segments that no longer grow."""
        for log in self._live_logs():
            with self._for_itself(log):
                log.flush_rolled()

    def apply_retention(self) -> int:
        """Delete segments that may go, by the high watermarks last told; how many that were."""
        count = 0
        for log in self._live_logs():
            with self._for_itself(log):
                count += log.apply_retention(self.high_watermark(log.name))
        return count

    def close(self) -> None:
        """Close every log and leave the directories to the next process, which need not recover."""
        for log in self._logs.values():
            with self._for_itself(log):
                log.close()
        self.write_checkpoints()
        self._logs.clear()
        for log_dir in self._log_dirs:
            # A clean end would let the next start take a damaged log at its word.
            closed_cleanly = not any(self._refused_in(log_dir))
            log_dir.release(closed_cleanly=closed_cleanly)

    def abandon(self) -> None:
        """Let go of everything as it is, as a process does that is killed."""
        for log in self._logs.values():
            log.abandon()
        self._logs.clear()
        for log_dir in self._log_dirs:
            log_dir.release(closed_cleanly=False)

    # --- inside -------------------------------------------------------------------------------

    @contextmanager
    def _for_itself(self, log: PartitionLog) -> Iterator[None]:
        """Whatever befalls a log, the others are kept on. Damage is said once."""
        try:
            yield
        except LogDirOffline:
            # The directory has said so.
            return
        except CorruptLog as error:
            if log.name not in self._found_damaged:
                self._found_damaged.add(log.name)
                logger.error(  # noqa: TRY400 - all is said
                    "%s is damaged, so nothing of it is deleted by age: %s", log.name, error
                )

    def _load_all(self, log_dir: LogDir) -> None:
        with log_dir:
            points = read_checkpoint(log_dir.path, CheckpointFile.RECOVERY_POINTS)
            starts = read_checkpoint(log_dir.path, CheckpointFile.LOG_START_OFFSETS)
            marks = read_checkpoint(log_dir.path, CheckpointFile.REPLICATION_OFFSETS)
            self._checkpointed[log_dir] = {*points, *starts, *marks}
            for name in self._find(log_dir):
                self._high_watermarks[name] = marks.get(name, 0)
                known = LastKnown(
                    recovery_point=points.get(name, 0),
                    start_offset=starts.get(name, 0),
                    was_closed_cleanly=log_dir.was_closed_cleanly,
                )
                self._load(log_dir, name, known)

    def _find(self, log_dir: LogDir) -> Iterator[TopicPartition]:
        """The partitions that have a folder; what is left of deleted ones is removed."""
        for path in sorted(path for path in log_dir.path.iterdir() if path.is_dir()):
            if path.name.endswith(_DELETE_SUFFIX):
                shutil.rmtree(path)
                continue
            name = _parse_name(path.name)
            if name is None:
                logger.warning("%s is not the folder of a partition; it is left alone", path)
                continue
            if name in self._places:
                raise BadInput(
                    f"{name} is both in {self._places[name].path} and in {log_dir.path}; "
                    "keep the right one and move the other away"
                )
            yield name

    def _load(self, log_dir: LogDir, name: TopicPartition, known: LastKnown) -> None:
        try:
            self._logs[name] = self._open(log_dir, name, known)
        except CorruptLog as error:
            logger.error("%s cannot be loaded: %s", name, error)  # noqa: TRY400 - all is said
            self.refused[name] = error
            self._refused_known[name] = known

    def _open(self, log_dir: LogDir, name: TopicPartition, known: LastKnown) -> PartitionLog:
        self._places[name] = log_dir
        return PartitionLog(
            log_dir,
            name,
            self._config_of(name.topic),
            known=known,
            clock=self._clock,
            lower_checkpoints=lambda: self._write_trust(log_dir),
        )

    def _forget_predecessor(self, log_dir: LogDir, name: TopicPartition) -> None:
        """Let no checkpoint on disk name a log before it is made.

        After a crash it would begin where a deleted one of its name did, without its own records.
        """
        if name in self._checkpointed[log_dir]:
            with log_dir:
                self._write_checkpoints(log_dir)

    def _write_checkpoints(self, log_dir: LogDir) -> None:
        marks = {name: self.high_watermark(name) for name in self._names_in(log_dir)}
        write_checkpoint(log_dir.path, CheckpointFile.REPLICATION_OFFSETS, marks)
        self._write_trust(log_dir)
        self._checkpointed[log_dir] = set(marks)

    def _write_trust(self, log_dir: LogDir) -> None:
        """From where on logs need not be checked, and from where on they count at all."""
        points = {log.name: log.recovery_point for log in self._logs_in(log_dir)}
        points |= {name: known.recovery_point for name, known in self._refused_in(log_dir)}
        self._checkpointed[log_dir] |= points.keys()
        write_checkpoint(log_dir.path, CheckpointFile.RECOVERY_POINTS, points)
        starts = {log.name: log.start_offset for log in self._logs_in(log_dir)}
        starts |= {name: known.start_offset for name, known in self._refused_in(log_dir)}
        write_checkpoint(log_dir.path, CheckpointFile.LOG_START_OFFSETS, starts)

    def _emptiest(self) -> LogDir:
        live = list(self._live())
        if not live:
            first = self._log_dirs[0]
            raise LogDirOffline(str(first.path), first.trouble or "it is gone")
        return min(live, key=lambda log_dir: sum(d is log_dir for d in self._places.values()))

    def _live(self) -> Iterable[LogDir]:
        return (log_dir for log_dir in self._log_dirs if log_dir.trouble is None)

    def _live_logs(self) -> Iterable[PartitionLog]:
        return [log for log in self._logs.values() if log.log_dir.trouble is None]

    def _logs_in(self, log_dir: LogDir) -> Iterable[PartitionLog]:
        return (log for log in self._logs.values() if log.log_dir is log_dir)

    def _refused_in(self, log_dir: LogDir) -> Iterable[tuple[TopicPartition, LastKnown]]:
        return ((n, k) for n, k in self._refused_known.items() if self._places[n] is log_dir)

    def _names_in(self, log_dir: LogDir) -> Iterable[TopicPartition]:
        return (name for name, place in self._places.items() if place is log_dir)


def _parse_name(folder_name: str) -> TopicPartition | None:
    topic, dash, partition = folder_name.rpartition("-")
    if not (topic and dash and partition.isdecimal()):
        return None
    return TopicPartition(topic, int(partition))
