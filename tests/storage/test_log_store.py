"""All logs of a broker: found again, deleted for good, and failing one directory at a time."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from regent.errors import BadInput, CorruptLog, LogDirOffline
from regent.model.ids import BrokerId, TopicPartition
from regent.storage import log_store
from regent.storage.checkpoints import CheckpointFile, read_checkpoint, write_checkpoint
from regent.storage.log_config import LogConfig
from regent.storage.log_store import LogStore
from tests.storage.batches import T0, T1, add, batch_of, values_from

ONE = BrokerId(1)


def open_store(*paths: Path, broker_id: BrokerId = ONE, cluster_id: str = "c1") -> LogStore:
    return LogStore(paths, broker_id=broker_id, cluster_id=cluster_id)


def test_logs_are_found_again(tmp_path: Path) -> None:
    for close in (LogStore.close, LogStore.abandon):
        store = open_store(tmp_path)
        add(store.open(T0), batch_of(b"a"))
        store.open(T1)
        close(store)

    again = open_store(tmp_path)

    assert again.names() == (T0, T1)
    assert values_from(again.open(T0)) == [(0, b"a"), (1, b"a")]
    assert (again.has(T0), again.has(TopicPartition("orders", 2))) == (True, False)


def test_a_clean_end_counts_only_once(tmp_path: Path) -> None:
    """The crash after it must not be taken for another."""
    store = open_store(tmp_path)
    add(store.open(T0), batch_of(b"a"))
    store.close()
    store = open_store(tmp_path)
    add(store.open(T0), batch_of(b"b"))
    store.abandon()
    segment = tmp_path / str(T0) / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes()[:-1])

    again = open_store(tmp_path)

    assert values_from(again.open(T0)) == [(0, b"a")]


def test_checkpoints_survive_and_have_kafkas_form(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    add(store.open(T0), *[batch_of(b"a")] * 5)
    store.open(T0).flush()
    store.open(T0).delete_records(2, high_watermark=4)
    store.checkpoint(T0, 4)
    store.write_checkpoints()
    store.abandon()

    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 4\n"
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 0 5\n"
    again = open_store(tmp_path)
    assert (again.high_watermark(T0), again.high_watermark(T1)) == (4, 0)
    assert (again.open(T0).start_offset, again.open(T0).recovery_point) == (2, 5)


@pytest.mark.parametrize(
    "content",
    [b"", b"1\n0\n", b"0\n2\norders 0 4\n", b"0\n1\norders 0\n", b"0\n1\no 0 -4\n", b"\xff"],
)
def test_a_checkpoint_that_makes_no_sense_is_said_and_done_without(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Zero is always safe."""
    (tmp_path / CheckpointFile.REPLICATION_OFFSETS).write_bytes(content)

    assert read_checkpoint(tmp_path, CheckpointFile.REPLICATION_OFFSETS) == {}
    assert CheckpointFile.REPLICATION_OFFSETS in caplog.text


def test_a_checkpoint_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """A crash while it is written leaves the old one."""
    write_checkpoint(tmp_path, CheckpointFile.REPLICATION_OFFSETS, {T0: 1})
    os.link(tmp_path / CheckpointFile.REPLICATION_OFFSETS, tmp_path / "old")

    write_checkpoint(tmp_path, CheckpointFile.REPLICATION_OFFSETS, {T0: 2})

    assert (tmp_path / "old").read_text() == "0\n1\norders 0 1\n"
    assert read_checkpoint(tmp_path, CheckpointFile.REPLICATION_OFFSETS) == {T0: 2}


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """Two brokers on one folder would destroy it."""
    store = open_store(tmp_path)
    with pytest.raises(BadInput, match="in use by another process"):
        open_store(tmp_path)

    store.close()
    open_store(tmp_path).close()


def test_anothers_folder_is_refused(tmp_path: Path) -> None:
    """And is free again after the refusal."""
    open_store(tmp_path).close()

    with pytest.raises(BadInput, match=r"broker\.id=1, and this broker has 2"):
        open_store(tmp_path, broker_id=BrokerId(2))
    with pytest.raises(BadInput, match=r"cluster\.id=c1"):
        open_store(tmp_path, cluster_id="c2")
    assert "broker.id=1\ncluster.id=c1\n" in (tmp_path / "meta.properties").read_text()
    open_store(tmp_path).close()


def test_a_deleted_log_is_gone_and_its_name_is_free(tmp_path: Path) -> None:
    """A topic that is created again must not find the old records."""
    store = open_store(tmp_path)
    add(store.open(T0), batch_of(b"a"))
    store.checkpoint(T0, 1)

    store.delete(T0)
    store.delete(T0)

    assert (store.names(), store.high_watermark(T0)) == ((), 0)
    assert list(tmp_path.glob("orders*")) == []
    assert store.open(T0).end_offset == 0


def with_a_past(path: Path) -> LogStore:
    """T0 has records, some deleted, and all that is known of it is on disk."""
    store = open_store(path)
    add(store.open(T0), *[batch_of(b"old")] * 9)
    store.open(T0).flush()
    store.open(T0).delete_records(5, high_watermark=9)
    store.checkpoint(T0, 9)
    store.write_checkpoints()
    return store


def delete_and_go_on(store: LogStore, _path: Path) -> LogStore:
    store.delete(T0)
    return store


def delete_and_be_killed(store: LogStore, path: Path) -> LogStore:
    store.delete(T0)
    store.abandon()
    return open_store(path)


def delete_after_a_restart(store: LogStore, path: Path) -> LogStore:
    store.abandon()
    store = open_store(path)
    store.delete(T0)
    return store


def remove_the_folder(store: LogStore, path: Path) -> LogStore:
    store.abandon()
    shutil.rmtree(path / str(T0))
    return open_store(path)


def write_and_delete_twice(store: LogStore, _path: Path) -> LogStore:
    """The second one is known by its recovery point alone."""
    store.delete(T0)
    log = store.open(T0)
    add(log, *[batch_of(b"second")] * 4)
    log.flush()
    log.truncate_to(3)
    store.delete(T0)
    return store


@pytest.mark.parametrize(
    "delete",
    [
        delete_and_go_on,
        delete_and_be_killed,
        delete_after_a_restart,
        remove_the_folder,
        write_and_delete_twice,
    ],
)
def test_a_log_inherits_nothing_from_a_deleted_one_of_its_name(
    tmp_path: Path, delete: Callable[[LogStore, Path], LogStore]
) -> None:
    """It would begin, after a crash, where the old one did: without its first records."""
    store = delete(with_a_past(tmp_path), tmp_path)
    add(store.open(T0), batch_of(b"new"), batch_of(b"new"))
    store.abandon()

    for file in CheckpointFile:
        assert T0 not in read_checkpoint(tmp_path, file), file
    again = open_store(tmp_path)
    assert values_from(again.open(T0)) == [(0, b"new"), (1, b"new")]
    assert (again.high_watermark(T0), again.open(T0).recovery_point) == (0, 0)


def test_a_new_log_writes_checkpoints_only_if_they_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic may have thousands of partitions, and may be deleted and made again."""
    store = open_store(tmp_path)
    names = [TopicPartition("t", number) for number in range(10)]
    for name in names:
        store.open(name)
    store.write_checkpoints()
    written: list[CheckpointFile] = []

    def note_and_write(
        directory: Path, file: CheckpointFile, offsets: Mapping[TopicPartition, int]
    ) -> None:
        written.append(file)
        write_checkpoint(directory, file, offsets)

    monkeypatch.setattr(log_store, "write_checkpoint", note_and_write)

    for name in names:
        store.delete(name)
    assert written == []
    for name in names:
        store.open(name)

    assert sorted(written) == sorted(CheckpointFile), "each once, for all ten"


def test_an_interrupted_deletion_is_finished(tmp_path: Path) -> None:
    (tmp_path / "orders-0.0123456789abcdef-delete").mkdir(parents=True)
    (tmp_path / "lost+found").mkdir()

    assert open_store(tmp_path).names() == ()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["lost+found"]


def test_new_logs_go_where_fewest_are(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a", tmp_path / "b")
    for number in range(4):
        store.open(TopicPartition("t", number))

    assert [len(list((tmp_path / each).glob("t-*"))) for each in "ab"] == [2, 2]
    assert store.directory_of(TopicPartition("t", 0)) == tmp_path / "a"


def test_the_same_log_in_two_directories_is_refused(tmp_path: Path) -> None:
    for each in "ab":
        (tmp_path / each / "orders-0").mkdir(parents=True)

    with pytest.raises(BadInput, match="orders-0 is both in"):
        open_store(tmp_path / "a", tmp_path / "b")


def test_changed_settings_reach_open_logs(tmp_path: Path) -> None:
    configs = {"orders": LogConfig()}
    store = LogStore(
        [tmp_path], broker_id=ONE, cluster_id="c", config_of=lambda topic: configs[topic]
    )
    log = store.open(T0)

    configs["orders"] = LogConfig(batch_bytes_max=10)
    store.reconfigure("orders")

    assert log.config.batch_bytes_max == 10


def damage(path: Path) -> None:
    """Let the first of several segments have a wrong byte in what was synced."""
    store = LogStore(
        [path], broker_id=ONE, cluster_id="c1", config_of=lambda _: LogConfig(segment_bytes=200)
    )
    for name in (T0, T1):
        add(store.open(name), batch_of(b"x" * 20))
        store.open(name).flush()
        add(store.open(name), *[batch_of(b"x" * 20)] * 2)
    store.write_checkpoints()
    store.abandon()
    segment = path / str(T0) / f"{0:020d}.log"
    content = bytearray(segment.read_bytes())
    content[70] ^= 0xFF
    segment.write_bytes(content)


def test_a_damaged_log_is_refused_and_the_others_are_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One bad sector is no reason to lose a broker."""
    damage(tmp_path)

    store = open_store(tmp_path)

    assert (store.is_offline(T0), store.is_offline(T1), store.has(T0)) == (True, False, True)
    with pytest.raises(CorruptLog, match="not loaded"):
        store.open(T0)
    assert store.open(T1).end_offset == 3
    assert "orders-0 cannot be loaded" in caplog.text


def test_a_damaged_log_stays_refused_after_a_clean_restart(tmp_path: Path) -> None:
    """The files must not be taken at their word because the broker was stopped in order."""
    damage(tmp_path)
    write_checkpoint(tmp_path, CheckpointFile.LOG_START_OFFSETS, {T0: 1})
    open_store(tmp_path).close()

    again = open_store(tmp_path)

    assert list(again.refused) == [T0]
    starts = read_checkpoint(tmp_path, CheckpointFile.LOG_START_OFFSETS)
    assert starts == {T0: 1, T1: 0}, "what is known of it is not forgotten"
    again.delete(T0)
    assert again.open(T0).end_offset == 0


def test_damage_to_synced_records_stays_refused_too(tmp_path: Path) -> None:
    """The recovery point of a refused log must not be lost: it tells damage from a torn end."""
    store = open_store(tmp_path)
    add(store.open(T0), batch_of(b"a"), batch_of(b"b"))
    store.open(T0).flush()
    store.write_checkpoints()
    store.abandon()
    segment = tmp_path / str(T0) / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")

    for _ in range(3):
        again = open_store(tmp_path)
        assert list(again.refused) == [T0]
        again.close()


def test_a_failing_directory_goes_offline_and_the_other_goes_on(tmp_path: Path) -> None:
    """Requirement B5: it is reported once, and nothing more is promised there."""
    reports: list[tuple[Path, str]] = []
    store = LogStore(
        [tmp_path / "a", tmp_path / "b"],
        broker_id=ONE,
        cluster_id="c1",
        on_failure=lambda path, reason: reports.append((path, reason)),
    )
    bad, good = store.open(T0), store.open(T1)
    add(bad, batch_of(b"a"))
    # The descriptor is one that cannot be written: what an OSError looks like from here.
    descriptor = bad._segments.active._opened
    read_only = os.open(tmp_path / "a" / "meta.properties", os.O_RDONLY)
    os.dup2(read_only, descriptor)
    os.close(read_only)

    with pytest.raises(LogDirOffline):
        add(bad, batch_of(b"b"))
    with pytest.raises(LogDirOffline):
        bad.read(0, 100)

    assert [path for path, _ in reports] == [tmp_path / "a"]
    assert (bad.end_offset, store.is_offline(T0), store.is_offline(T1)) == (1, True, False)
    assert (store.failed, store.has_failed_directory) == (False, True)
    assert add(good, batch_of(b"c")) == 0
    assert store.directory_of(store.open(TopicPartition("t", 0)).name) == tmp_path / "b"
    store.close()
    again = open_store(tmp_path / "a", tmp_path / "b")
    assert values_from(again.open(T0)) == [(0, b"a")]
    assert values_from(again.open(T1)) == [(0, b"c")]


FILL_THE_DISK = """
import resource, sys
from pathlib import Path
from regent.errors import LogDirOffline
from regent.model.ids import BrokerId
from regent.storage.log_store import LogStore
from tests.storage.batches import T0, T1, add, batch_of

resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
path = Path(sys.argv[1])
reports = []
store = LogStore(
    [path / "a", path / "b"], broker_id=BrokerId(1), cluster_id="c1",
    on_failure=lambda directory, reason: reports.append(directory.name),
)
acknowledged = 0
try:
    while True:
        add(store.open(T0), batch_of(b"x" * 300))
        acknowledged += 1
except LogDirOffline as error:
    assert "File too large" in str(error), error
add(store.open(T1), batch_of(b"y"))
size = (path / "a" / str(T0) / f"{0:020d}.log").stat().st_size
store.close()
print(acknowledged, reports, size % len(batch_of(b"x" * 300)))
"""


def test_a_full_disk_keeps_exactly_what_was_acknowledged(tmp_path: Path) -> None:
    """The write that did not fit is undone, not left half-way."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", FILL_THE_DISK, str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    acknowledged, reports = done.stdout.split(" ", 1)

    assert reports == "['a'] 0\n"
    again = open_store(tmp_path / "a", tmp_path / "b")
    assert again.open(T0).end_offset == int(acknowledged) > 10
    assert [value for _, value in values_from(again.open(T1))] == [b"y"]


KILLED = """
import os, sys
from pathlib import Path
from regent.model.ids import BrokerId
from regent.storage.log_store import LogStore
from tests.storage.batches import T0, add, batch_of

store = LogStore([Path(sys.argv[1])], broker_id=BrokerId(1), cluster_id="c1")
while True:
    offset = add(store.open(T0), batch_of(b"x" * 300))
    os.write(1, b"%d\\n" % offset)
"""


def test_what_was_acknowledged_before_kill_nine_is_there(tmp_path: Path) -> None:
    """In a real process, killed for real."""
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", KILLED, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(200)]
        child.kill()
        lines += child.stdout.readlines()

    again = open_store(tmp_path)
    acknowledged = max(int(line) for line in lines if line.endswith(b"\n"))
    assert again.open(T0).end_offset > acknowledged >= 199
    assert len(values_from(again.open(T0))) == again.open(T0).end_offset


def test_retention_goes_by_the_high_watermark_last_told(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=100, retention_bytes=0)
    store = LogStore([tmp_path], broker_id=ONE, cluster_id="c1", config_of=lambda _: config)
    add(store.open(T0), *[batch_of(b"x" * 20)] * 3)

    assert store.apply_retention() == 0
    store.checkpoint(T0, 2)
    assert store.apply_retention() == 2
    assert store.open(T0).start_offset == 2


def test_retention_leaves_a_damaged_log_and_goes_on_with_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is met at every turn, and said once."""
    config = LogConfig(segment_bytes=100, retention_ms=1)
    names = [T0, T1, TopicPartition("orders", 2)]

    def open_again() -> LogStore:
        return LogStore([tmp_path], broker_id=ONE, cluster_id="c1", config_of=lambda _: config)

    store = open_again()
    for name in names:
        add(store.open(name), *[batch_of(b"x" * 20)] * 3)
        store.checkpoint(name, 3)
    store.close()
    with (tmp_path / str(T1) / f"{0:020d}.log").open("r+b") as segment:
        segment.seek(8)
        segment.write(b"\xff" * 4)
    store = open_again()
    assert store.refused == {}, "what was closed cleanly is not read"

    counts = [store.apply_retention() for _ in range(3)]

    assert counts == [6, 0, 0]
    assert [store.open(name).start_offset for name in names] == [3, 0, 3]
    assert caplog.text.count("orders-1 is damaged") == 1
    store.delete(T1)
    assert add(store.open(T1), batch_of(b"y")) == 0


def test_a_cut_below_the_start_is_no_deletion(tmp_path: Path) -> None:
    """What is written there afterwards would be taken for deleted after a crash."""
    store = open_store(tmp_path)
    log = store.open(T0)
    log.truncate_fully(50)
    store.write_checkpoints()
    log.truncate_to(20)
    add(log, batch_of(b"a"), batch_of(b"b"))
    store.abandon()

    assert values_from(open_store(tmp_path).open(T0)) == [(20, b"a"), (21, b"b")]


def test_of_which_topic_a_log_is_outlives_a_crash(tmp_path: Path) -> None:
    """In the file that Kafka has for it."""
    store = open_store(tmp_path)
    assert store.topic_id(T0) is None
    store.open(T0)
    assert store.topic_id(T0) is None
    store.note_topic_id(T0, "OW0IwXEfTUGoupXGi7b05Q")
    store.abandon()

    path = tmp_path / str(T0) / "partition.metadata"
    assert path.read_text() == "version: 0\ntopic_id: OW0IwXEfTUGoupXGi7b05Q\n"
    again = open_store(tmp_path)
    assert again.topic_id(T0) == "OW0IwXEfTUGoupXGi7b05Q"
    again.delete(T0)
    again.open(T0)
    assert again.topic_id(T0) is None


def test_a_file_that_does_not_say_of_which_topic_a_log_is_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    store.open(T0)
    (tmp_path / str(T0) / "partition.metadata").write_bytes(b"\xff\n")

    assert store.topic_id(T0) is None
    assert "does not say of which topic" in caplog.text


def test_what_is_set_aside_makes_room_and_is_not_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    add(store.open(T0), *[batch_of(b"old")] * 5)
    store.checkpoint(T0, 5)
    store.write_checkpoints()

    store.set_aside(T0)
    add(store.open(T0), batch_of(b"new"))
    store.abandon()

    again = open_store(tmp_path)
    assert values_from(again.open(T0)) == [(0, b"new")]
    assert again.high_watermark(T0) == 0
    (aside,) = tmp_path.glob("orders-0.*-stray")
    assert (aside / f"{0:020d}.log").stat().st_size > 0
    assert str(aside) in caplog.text
