"""Which watches live, in the order of what a server sends."""

from regent.zookeeper.store import WatchEvent, WatchKind
from regent.zookeeper.watch_table import PathWatch, WatchTable, WatchType

DATA_A = PathWatch(WatchType.DATA, "/a")
CHILDREN_A = PathWatch(WatchType.CHILDREN, "/a")
ABSENT_A = PathWatch(WatchType.ABSENT, "/a")
CREATED = WatchEvent(WatchKind.CREATED, "/a")
DELETED = WatchEvent(WatchKind.DELETED, "/a")
CHANGED = WatchEvent(WatchKind.DATA_CHANGED, "/a")
CHILDREN_CHANGED = WatchEvent(WatchKind.CHILDREN_CHANGED, "/a")


def table(*watches: PathWatch) -> WatchTable:
    made = WatchTable()
    for watch in watches:
        made.add(watch)
    return made


def test_a_watch_fires_once() -> None:
    """One-shot: what comes after belongs to nobody."""
    watches = table(DATA_A, CHILDREN_A)

    assert [watches.fire(event) for event in (CHANGED, CHANGED)] == [True, False]
    assert [watches.fire(event) for event in (CHILDREN_CHANGED, CHILDREN_CHANGED)] == [True, False]
    assert len(watches) == 0


def test_a_deletion_takes_all_watches_of_the_path() -> None:
    """The server tells it once to who watched both."""
    watches = table(DATA_A, CHILDREN_A)

    assert watches.fire(DELETED)
    assert len(watches) == 0


def test_an_absent_znode_is_watched_until_it_comes() -> None:
    """The next controller is waited for like this."""
    watches = table(ABSENT_A)

    assert watches.fire(CREATED)
    assert not watches.fire(CREATED)


def test_in_bulk_what_is_missing_is_not_watched_and_nobody_hears_of_it() -> None:
    """The server complains with an event before it answers; it must not look like news."""
    there, missing = PathWatch(WatchType.DATA, "/there"), DATA_A
    watches = table()

    watches.announce((there, missing))
    is_news = watches.fire(DELETED)
    watches.settle((there, missing))

    assert not is_news
    assert [chunk[WatchType.DATA] for chunk in watches.chunks(10)] == [["/there"]]


def test_an_old_watch_that_fires_while_a_new_one_is_on_its_way_leaves_the_new_one() -> None:
    """Otherwise the next change would be heard by the server's table only."""
    watches = table(DATA_A)

    watches.announce((DATA_A,))
    assert watches.fire(CHANGED)
    watches.settle((DATA_A,))

    assert watches.fire(CHANGED)


def test_an_old_watch_that_fires_and_then_a_complaint_are_two_things() -> None:
    """The znode was deleted: news for the old watch, and nothing to watch for the new one."""
    watches = table(DATA_A)

    watches.announce((DATA_A,))
    assert [watches.fire(DELETED), watches.fire(DELETED)] == [True, False]
    watches.settle((DATA_A,))

    assert len(watches) == 0


def test_what_was_lost_on_the_way_is_not_watched() -> None:
    """Whoever asked will ask again."""
    watches = table()

    watches.announce((DATA_A,))
    watches.forget((DATA_A,))
    watches.settle((DATA_A,))

    assert len(watches) == 0


def test_all_are_set_again_in_pieces() -> None:
    """By what they watch, as the server wants them."""
    watches = table(DATA_A, CHILDREN_A, ABSENT_A)

    chunks = list(watches.chunks(2))

    assert chunks == [
        {WatchType.DATA: ["/a"], WatchType.ABSENT: ["/a"], WatchType.CHILDREN: []},
        {WatchType.DATA: [], WatchType.ABSENT: [], WatchType.CHILDREN: ["/a"]},
    ]
