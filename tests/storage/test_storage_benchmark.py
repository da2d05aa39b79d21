"""The benchmark runs, and says what it promises to say. How fast is not a test's business."""

import msgspec
import pytest

from benchmarks import storage


def test_storage_is_measured_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    storage.main(["--json", "--quick", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "storage"
    assert [size["batch_bytes"] // 200 for size in figures["sizes"]] == [1, 81, 5242]
    for size in figures["sizes"]:
        assert set(size) >= {
            "appends_per_s",
            "append_cpu_us",
            "append_mb_per_s",
            "append_ratio",
            "replicated_mb_per_s",
            "read_mb_per_s",
            "read_ratio",
            "tail_reads_per_s",
            "recovery_mb_per_s",
        }
