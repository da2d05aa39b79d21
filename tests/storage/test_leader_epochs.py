"""Leader epochs on disk answer as the simulated ones do."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regent.broker.log import LogEntry, MemoryLog
from regent.model.ids import LeaderEpoch
from regent.storage.leader_epochs import EPOCH_FILE_NAME, LeaderEpochs


def epochs_of(directory: Path, *pairs: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs(directory)
    for epoch, start in pairs:
        epochs.begin(LeaderEpoch(epoch), start)
    return epochs


def reloaded(directory: Path) -> LeaderEpochs:
    epochs = LeaderEpochs(directory)
    assert epochs.load()
    return epochs


def test_the_file_has_kafkas_form(tmp_path: Path) -> None:
    """Others can read it, and a Kafka broker could go on with it."""
    epochs_of(tmp_path, (1, 0), (4, 17))

    assert (tmp_path / EPOCH_FILE_NAME).read_text() == "0\n2\n1 0\n4 17\n"
    assert reloaded(tmp_path).entries == ((1, 0), (4, 17))


def test_an_epoch_ends_where_the_next_begins(tmp_path: Path) -> None:
    """It is the whole of what a leader tells a follower."""
    epochs = epochs_of(tmp_path, (1, 0), (3, 2), (6, 5))

    answers = [tuple(epochs.end_offset_for(LeaderEpoch(epoch), 9)) for epoch in (0, 1, 2, 3, 6, 8)]

    assert answers == [(0, 0), (1, 2), (1, 2), (3, 5), (6, 9), (6, 9)]
    assert LeaderEpochs(tmp_path).end_offset_for(LeaderEpoch(1), 0) == (-1, -1)


def test_epochs_go_with_the_records_at_either_end(tmp_path: Path) -> None:
    """A follower must not be asked about, or ask about, what is gone."""
    epochs = epochs_of(tmp_path, (1, 0), (3, 10), (6, 20))

    epochs.forget_before(15)
    assert reloaded(tmp_path).entries == ((3, 15), (6, 20))
    epochs.forget_from(20)
    assert reloaded(tmp_path).entries == ((3, 15),)
    assert [epochs.epoch_at(offset) for offset in (14, 15, 99)] == [-1, 3, 3]


@pytest.mark.parametrize(
    "content",
    ["", "0\n", "1\n1\n1 0\n", "0\n2\n1 0\n", "0\n2\n3 0\n2 5\n", "0\n1\nx y\n", "0\n1\n1\n"],
)
def test_a_file_that_makes_no_sense_is_not_believed(tmp_path: Path, content: str) -> None:
    """The epochs are then read from the batches."""
    (tmp_path / EPOCH_FILE_NAME).write_text(content)

    assert not LeaderEpochs(tmp_path).load()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(
    st.lists(st.tuples(st.sampled_from(["begin", "append", "cut"]), st.integers(0, 6)), max_size=20)
)
def test_they_are_those_of_the_simulated_log(tmp_path: Path, steps: list[tuple[str, int]]) -> None:
    """What the simulator proves of the broker's logic must hold for its disk."""
    twin, epochs = MemoryLog(), LeaderEpochs(tmp_path)
    epoch, end = LeaderEpoch(0), 0
    for step, number in steps:
        if step == "begin":
            epoch = LeaderEpoch(epoch + number)
            assert epochs.begin(epoch, end) == twin.begin_epoch(epoch)
        elif step == "append":
            if number:
                epochs.begin(epoch, end)
            twin.append_entries([LogEntry(epoch, "x")] * number)
            end += number
        else:
            end = max(end - number, 0)
            twin.truncate_to(end)
            epochs.forget_from(end)
        asked = [LeaderEpoch(each) for each in range(-1, epoch + 3)]
        assert epochs.latest == twin.latest_epoch
        assert [tuple(epochs.end_offset_for(each, end)) for each in asked] == [
            tuple(twin.end_offset_for(each)) for each in asked
        ]
    if epochs.entries:
        assert reloaded(tmp_path).entries == epochs.entries
