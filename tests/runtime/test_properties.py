"""Settings under Kafka's names."""

from pathlib import Path

import pytest

from regent.errors import BadInput
from regent.model.protocol_version import ProtocolVersion
from regent.runtime.properties import read_properties


def test_what_concerns_a_controller_is_taken_and_the_rest_is_named(tmp_path: Path) -> None:
    """A broker's own file can be given."""
    file = tmp_path / "server.properties"
    file.write_text(
        "# a broker's file\n\nbroker.id=3\n"
        "unclean.leader.election.enable = TRUE\n"
        "leader.imbalance.check.interval.seconds=60\n"
        "inter.broker.protocol.version=2.8-IV1\n"
        "zookeeper.session.timeout.ms=6000\n"
        "zookeeper.connection.timeout.ms=500\n"
        "inter.broker.listener.name=INSIDE\n"
        "control.plane.listener.name=CONTROL\n"
    )

    found = read_properties(file)

    assert found.controller.unclean_election_default is True
    assert found.controller.balance_interval_ms == 60_000
    assert found.controller.protocol == ProtocolVersion.from_text("2.8-IV1")
    assert (found.session_timeout_ms, found.connect_timeout_ms) == (6000, 500)
    assert (found.listener, found.control_listener) == ("INSIDE", "CONTROL")
    assert found.unused == ("broker.id",)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("num.partitions=0\n", "line 1: num.partitions=0: expected a whole number above 0"),
        ("\ndelete.topic.enable=yes\n", "line 2: .*expected true or false"),
        ("inter.broker.protocol.version=new\n", "not a protocol version"),
        ("nonsense\n", "line 1: expected name=value"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    """With its number and what was expected."""
    file = tmp_path / "server.properties"
    file.write_text(content)

    with pytest.raises(BadInput, match=complaint):
        read_properties(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """And nothing is assumed."""
    with pytest.raises(BadInput, match="nowhere"):
        read_properties(tmp_path / "nowhere")


def test_the_window_of_mutation_quotas_has_names_of_its_own(tmp_path: Path) -> None:
    """Those without `controller` are about the bytes of producers and consumers."""
    file = tmp_path / "server.properties"
    file.write_text(
        "controller.quota.window.num=8\ncontroller.quota.window.size.seconds=2\n"
        "quota.window.num=3\n"
    )

    found = read_properties(file)

    assert (found.controller.quota_samples, found.controller.quota_sample_s) == (8, 2)
    assert found.unused == ("quota.window.num",)
