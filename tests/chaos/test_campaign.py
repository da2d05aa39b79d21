"""Real brokers under real faults, with two clients that nobody here wrote: nothing is lost."""

from pathlib import Path

from tests.chaos.campaign import Orders, run_campaign
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = CLIENT_WARNINGS


def test_nothing_that_was_acknowledged_is_lost_under_faults(tmp_path: Path) -> None:
    """Nor doubled, nor out of order; and replicas, journals and metadata agree in the end."""
    orders = Orders(seed=6, folder=tmp_path / "cluster", faults=8, rest_s=(0.1, 1.0))

    outcome = run_campaign(orders)

    assert outcome.findings == []
    assert all(figures.acknowledged for figures in outcome.writers.values())
    assert outcome.journal.reigns > 1
