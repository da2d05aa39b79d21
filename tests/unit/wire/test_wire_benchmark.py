"""The benchmark runs and says what it promises; it compares its bytes with kio's as it goes."""

import msgspec
import pytest

from benchmarks import wire


def test_writing_is_measured_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    wire.main(["--json", "--partitions", "50,120", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "wire"
    assert [size["partitions"] for size in figures["sizes"]] == [50, 120]
    for size in figures["sizes"]:
        assert set(size) >= {
            "kio_update_metadata_s",
            "update_metadata_s",
            "update_metadata_ratio",
            "update_metadata_again_s",
            "kio_leader_and_isr_s",
            "leader_and_isr_s",
            "leader_and_isr_ratio",
            "read_s",
        }
