"""Before and after: what counts as a worry, and what as a change."""

from regent.dryrun.difference import Standing, Standings, Worries, find_changes, find_worries
from regent.model.ids import BrokerId, TopicPartition
from regent.model.states import PartitionState
from tests.support.builders import assignment, leadership, name

ONLINE = PartitionState.ONLINE


def standings(*, live: tuple[int, ...] = (1, 2, 3), **partitions: Standing) -> Standings:
    """Partition 0 of each topic."""
    named: dict[TopicPartition, Standing] = {name(t, 0): s for t, s in partitions.items()}
    return Standings(named, frozenset(map(BrokerId, live)), frozenset(), ())


def needs_one(_topic: str) -> int:
    return 1


def test_a_moving_partition_needs_as_many_in_sync_as_its_target_has() -> None:
    """Replicas that come and go are all in the list; counting them would raise false alarms."""
    moving = assignment(2, 3, 1, adding=(3,), removing=(1,))
    well = Standing(moving, leadership(1, (1, 2)), ONLINE)
    ill = Standing(moving, leadership(1, (1,)), ONLINE)

    worries = find_worries(standings(well=well, ill=ill), needs_one)

    assert worries == Worries({}, {name("ill", 0): None}, {})


def test_members_of_an_isr_that_are_dead_do_not_count() -> None:
    """The last of an ISR stays in it when its broker dies; it serves nobody."""
    last = Standing(assignment(3), leadership(-1, (3,)), PartitionState.OFFLINE)

    worries = find_worries(standings(t=last, live=(1,)), needs_one)

    only = {name("t", 0): None}
    assert worries == Worries(only, only, only)


def test_another_order_and_another_epoch_are_no_change() -> None:
    """Nobody would see the difference."""
    before = Standing(assignment(1, 2), leadership(1, (1, 2)), ONLINE)
    after = Standing(assignment(1, 2), leadership(1, (2, 1), leader_epoch=5, zk_version=5), ONLINE)

    assert find_changes(standings(t=before), standings(t=after)) == ()


def test_changes_are_in_the_order_of_names_and_include_what_comes_and_goes() -> None:
    """A partition that is not there has no state."""
    held = Standing(assignment(1), leadership(1, (1,)), ONLINE)

    changes = find_changes(standings(z=held), standings(a=held))

    assert [(c.name, c.state_before, c.state_after) for c in changes] == [
        (name("a", 0), None, ONLINE),
        (name("z", 0), ONLINE, None),
    ]
