"""The benchmark runs and says what it promises; it compares its bytes with kio's as it goes."""

import msgspec
import pytest

from benchmarks import client_codec


def test_every_exchange_is_measured_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    client_codec.main(["--json", "--rounds", "100", "--repetitions", "1"])

    figures = msgspec.json.decode(capsys.readouterr().out)
    assert figures["benchmark"] == "client_codec"
    for name in ("produce", "produce_many", "fetch", "fetch_many", "follow_many"):
        assert {f"{name}_us", f"kio_{name}_us", f"{name}_ratio"} <= set(figures)
