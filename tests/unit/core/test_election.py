"""Who is chosen, strategy by strategy (S1 to S4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.core.election import (
    Choice,
    choose_controlled_shutdown,
    choose_offline,
    choose_preferred,
    choose_reassigned,
    choose_unclean,
)
from regent.model.ids import BrokerId
from tests.support.builders import ids

B4, B9, B21, B25 = ids(4, 9, 21, 25)
NOBODY: frozenset[BrokerId] = frozenset()


@pytest.mark.behaviour("elc-001")
@pytest.mark.requirement("S1")
def test_the_first_live_in_sync_replica_leads() -> None:
    """What is dead leaves the ISR in the same step; only the living are told."""
    chosen = choose_offline(ids(21, 25), ids(21, 25), {B25})

    assert chosen == Choice(B25, isr=(B25,), recipients=(B25,))


@pytest.mark.behaviour("elc-002")
@pytest.mark.requirement("S1")
def test_a_replica_that_is_not_in_sync_does_not_lead() -> None:
    """It may lack acknowledged records."""
    assert choose_offline(ids(21, 25), ids(21), {B25}) is None


@pytest.mark.requirement("S1")
def test_candidates_are_tried_in_the_order_of_the_assignment() -> None:
    """The order of the ISR is an accident, and the ISR keeps it all the same."""
    chosen = choose_offline(ids(1, 2, 3), ids(3, 2), set(ids(1, 2, 3)))

    assert chosen == Choice(BrokerId(2), isr=ids(3, 2), recipients=ids(1, 2, 3))


@pytest.mark.requirement("S1")
def test_an_unclean_leader_is_the_first_live_replica_and_alone_in_the_isr() -> None:
    """Nobody can be in sync with a log that was chosen for want of a better one."""
    chosen = choose_unclean(ids(21, 25, 9), {B25, B9})

    assert chosen == Choice(B25, isr=(B25,), recipients=(B25, B9), is_unclean=True)


def test_nobody_leads_uncleanly_where_nobody_lives() -> None:
    """Unclean is not desperate."""
    assert choose_unclean(ids(21, 25), NOBODY) is None


@pytest.mark.behaviour("elc-004")
@pytest.mark.requirement("S2")
def test_a_reassignment_elects_from_its_target_and_keeps_the_isr() -> None:
    """The old replicas stay in sync until they are removed for good."""
    chosen = choose_reassigned(ids(21, 25), ids(21, 25), {B25})

    assert chosen == Choice(B25, isr=ids(21, 25), recipients=ids(21, 25))


def test_a_reassignment_elects_nobody_outside_the_target() -> None:
    """A leader that is about to be removed would have to be replaced again."""
    assert choose_reassigned(ids(21), ids(25), {B21, B25}) is None


@pytest.mark.behaviour("elc-007")
@pytest.mark.requirement("S3")
def test_the_preferred_leader_is_the_head_of_the_assignment() -> None:
    """The ISR stays, and every assigned replica is told."""
    chosen = choose_preferred(ids(21, 25), ids(21, 25), {B21, B25})

    assert chosen == Choice(B21, isr=ids(21, 25), recipients=ids(21, 25))


@pytest.mark.behaviour("elc-008", "elc-010")
@pytest.mark.requirement("S3")
@pytest.mark.parametrize(
    ("isr", "live"),
    [((21,), ()), ((), ()), ((25,), (21, 25)), ((21, 25), (25,))],
    ids=["all dead", "no isr", "preferred not in sync", "preferred dead"],
)
def test_a_preferred_election_does_not_fall_through(
    isr: tuple[int, ...], live: tuple[int, ...]
) -> None:
    """The head of the assignment or nobody: another leader would be no improvement."""
    assert choose_preferred(ids(21, 25), ids(*isr), ids(*live)) is None


@pytest.mark.behaviour("elc-012", "elc-013")
@pytest.mark.requirement("S4")
@pytest.mark.parametrize(("isr", "going"), [((21,), (21,)), ((21, 25), (21, 25))])
def test_a_shutdown_finds_no_leader_outside_the_isr_or_among_those_that_go(
    isr: tuple[int, ...], going: tuple[int, ...]
) -> None:
    """The broker is told that it still leads, and may ask again."""
    chosen = choose_controlled_shutdown(
        ids(21, 25), ids(*isr), reachable={B21, B25}, shutting_down=ids(*going)
    )

    assert chosen is None


@pytest.mark.behaviour("elc-014")
@pytest.mark.requirement("S4")
def test_a_shutdown_elects_in_assignment_order_and_keeps_the_order_of_the_isr() -> None:
    """9 leads although 4 is first in the ISR; those that go are still told."""
    chosen = choose_controlled_shutdown(
        ids(9, 8, 7, 6, 5, 4),
        ids(4, 6, 9),
        reachable=set(ids(4, 5, 6, 7, 8, 9)),
        shutting_down=ids(5, 6),
    )

    assert chosen == Choice(B9, isr=(B4, B9), recipients=ids(9, 8, 7, 6, 5, 4))


@pytest.mark.behaviour("elc-015")
@pytest.mark.requirement("S4")
def test_a_second_shutdown_leaves_the_dead_out_and_tells_those_that_go() -> None:
    """The old leader must hear that it no longer leads."""
    chosen = choose_controlled_shutdown(
        ids(9, 8, 7, 6, 5, 4),
        ids(4, 9),
        reachable=set(ids(4, 6, 7, 8, 9)),
        shutting_down=ids(6, 9),
    )

    assert chosen == Choice(B4, isr=(B4,), recipients=ids(9, 8, 7, 6, 4))


BROKERS = st.lists(st.integers(1, 6).map(BrokerId), unique=True).map(tuple)


@given(replicas=BROKERS, isr=BROKERS, live=BROKERS, going=BROKERS)
def test_whoever_is_chosen_is_alive_assigned_and_in_the_new_isr(
    replicas: tuple[BrokerId, ...],
    isr: tuple[BrokerId, ...],
    live: tuple[BrokerId, ...],
    going: tuple[BrokerId, ...],
) -> None:
    """Whatever the input, and for every strategy but the unclean one also in the old ISR."""
    clean = [
        choose_offline(replicas, isr, live),
        choose_reassigned(replicas, isr, live),
        choose_preferred(replicas, isr, live),
        choose_controlled_shutdown(replicas, isr, reachable=live, shutting_down=going),
    ]

    for choice in filter(None, [*clean, choose_unclean(replicas, live)]):
        assert choice.leader in replicas
        assert choice.leader in live
        assert choice.leader in choice.isr
    for choice in filter(None, clean):
        assert set(choice.isr) <= set(isr)
