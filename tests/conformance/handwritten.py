"""One scenario at least for every procedure of a controller, written by hand."""

from typing import Final

from regent.model.admin_requests import ElectionType
from tests.conformance.steps import (
    AddPartitions,
    BounceBroker,
    CancelMove,
    Configure,
    CreateTopic,
    DeleteTopic,
    Elect,
    KillBroker,
    LeaveDeletion,
    LeaveElection,
    LeavePlan,
    LeaveTopic,
    MoveController,
    Reassign,
    Scenario,
    StartBroker,
    StopBroker,
)

PREFERRED: Final = ElectionType.PREFERRED
UNCLEAN: Final = ElectionType.UNCLEAN
_UNCLEAN_ALLOWED: Final = ("unclean.leader.election.enable", "true")

_TOPICS: Final = (
    Scenario(
        "created",
        (
            CreateTopic("t", ((1, 2), (2, 3), (3, 1)), (("retention.ms", "60000"),)),
            CreateTopic("uneven", ((1,), (2, 3))),
            CreateTopic("t", ((1,),)),
            CreateTopic("twice", ((1, 1),)),
        ),
    ),
    Scenario(
        "grown",
        (
            CreateTopic("t", ((1, 2),)),
            AddPartitions("t", 3, ((2, 3), (3, 1))),
            AddPartitions("t", 3, ((1, 2),)),
            AddPartitions("t", 4, ((2, 1, 3),)),
            AddPartitions("t", 4, ((2, 1),)),
        ),
    ),
    Scenario(
        "deleted",
        (
            CreateTopic("t", ((1, 2, 3), (2, 1, 3)), (("retention.ms", "60000"),)),
            CreateTopic("single", ((2,),)),
            DeleteTopic("single"),
            DeleteTopic("t"),
            DeleteTopic("t"),
            CreateTopic("t", ((3, 2),)),
        ),
    ),
    Scenario(
        "configured",
        (
            CreateTopic("t", ((1, 2),)),
            Configure("t", "retention.ms", "60000"),
            Configure("t", *_UNCLEAN_ALLOWED),
            DeleteTopic("t"),
        ),
    ),
    Scenario(
        "by-znodes",
        (
            LeaveTopic("t", ((1, 2), (2, 3))),
            AddPartitions("t", 3, ((3, 1),)),
            LeaveDeletion("t"),
            CreateTopic("kept", ((1,),)),
            LeaveDeletion("kept"),
        ),
    ),
)

_MOVES: Final = (
    Scenario(
        "moved",
        (
            CreateTopic("t", ((1, 2),)),
            CreateTopic("single", ((3,),)),
            Reassign("t", 0, (3, 2)),
            Reassign("single", 0, (1,)),
            Reassign("t", 0, (3, 2)),
        ),
    ),
    Scenario(
        "moved-keeping-its-leader",
        (CreateTopic("t", ((1, 2),)), Reassign("t", 0, (2, 1)), Reassign("t", 0, (3, 1))),
    ),
    Scenario(
        "more-and-fewer-replicas",
        (
            CreateTopic("t", ((2,),)),
            Reassign("t", 0, (1, 2, 3)),
            Reassign("t", 0, (3, 1)),
            Reassign("t", 0, (1,)),
        ),
    ),
    Scenario(
        "refused-moves",
        (
            CreateTopic("t", ((1, 2),)),
            Reassign("t", 0, ()),
            Reassign("t", 0, (1, 1)),
            Reassign("t", 0, (1, 77)),
            Reassign("t", 5, (1, 2)),
            Reassign("t", 5, (1, 77)),
            CancelMove("t", 0),
            CancelMove("t", 5),
        ),
    ),
    Scenario("planned-by-a-znode", (CreateTopic("t", ((1, 2),)), LeavePlan("t", 0, (2, 3)))),
)

_ELECTIONS: Final = (
    Scenario(
        "needless-elections",
        (
            CreateTopic("t", ((1, 2),)),
            Elect("t", 0, PREFERRED),
            Elect("t", 0, UNCLEAN),
            Elect("t", 7, PREFERRED),
            LeaveElection("t", 0),
        ),
    ),
    Scenario(
        "preferred-after-a-change-of-order",
        (
            CreateTopic("t", ((1, 2, 3), (1, 2, 3))),
            Reassign("t", 0, (3, 1, 2)),
            Elect("t", 0, PREFERRED),
            Reassign("t", 1, (2, 1, 3)),
            LeaveElection("t", 1),
        ),
    ),
)

_KILLED: Final = (
    Scenario(
        "leader-killed",
        (
            CreateTopic("t", ((1, 2, 3), (2, 3, 1), (3, 1, 2))),
            CreateTopic("two", ((1, 2), (2, 1), (3, 2))),
            KillBroker(1),
            StartBroker(1),
            Elect("t", 0, PREFERRED),
            LeaveElection("two", 0),
        ),
    ),
    Scenario(
        "preferred-leader-dead",
        (
            CreateTopic("t", ((1, 2),)),
            KillBroker(1),
            Elect("t", 0, PREFERRED),
            StartBroker(1),
            LeaveElection("t", 0),
        ),
    ),
    Scenario(
        "deletion-waits",
        (
            CreateTopic("t", ((1, 2), (2, 3), (3, 1))),
            CreateTopic("single", ((1,), (2,))),
            KillBroker(1),
            DeleteTopic("t"),
            DeleteTopic("single"),
            StartBroker(1),
        ),
    ),
    Scenario(
        "move-waits",
        (
            CreateTopic("t", ((1, 2), (2, 1))),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            Reassign("t", 1, (1, 3)),
            StartBroker(1),
        ),
    ),
    Scenario(
        "waiting-move-cancelled",
        (
            CreateTopic("t", ((2, 1), (1, 2))),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            CancelMove("t", 0),
            Reassign("t", 1, (1, 3)),
            CancelMove("t", 1),
            StartBroker(1),
        ),
    ),
    Scenario(
        "waiting-move-replaced",
        (
            CreateTopic("t", ((2, 1),)),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            Reassign("t", 0, (3, 2)),
            StartBroker(1),
        ),
    ),
    Scenario(
        "moved-off-the-dead",
        (
            CreateTopic("t", ((1, 2), (2, 1), (1, 3))),
            KillBroker(1),
            Reassign("t", 0, (3, 2)),
            Reassign("t", 1, (2, 3)),
            Reassign("t", 2, (3,)),
            StartBroker(1),
        ),
    ),
    Scenario(
        "moves-to-the-dead",
        (
            CreateTopic("t", ((2, 3),)),
            KillBroker(1),
            Reassign("t", 0, (1, 2)),
            AddPartitions("t", 2, ((1, 3),)),
            StartBroker(1),
            Reassign("t", 0, (1, 2)),
        ),
    ),
    Scenario(
        "created-on-the-dead",
        (
            CreateTopic("before", ((1,),)),
            KillBroker(1),
            CreateTopic("t", ((1, 2),)),
            CreateTopic("sound", ((3, 2),)),
            StartBroker(1),
        ),
    ),
    Scenario(
        "deleted-while-it-waits-to-move",
        (
            CreateTopic("t", ((2, 1),)),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            DeleteTopic("t"),
            StartBroker(1),
        ),
    ),
    Scenario(
        "only-replica-killed",
        (
            CreateTopic("t", ((1,),)),
            KillBroker(1),
            Elect("t", 0, UNCLEAN),
            Elect("t", 0, PREFERRED),
            StartBroker(1),
        ),
    ),
    Scenario(
        "asked-of-what-is-being-deleted",
        (
            CreateTopic("t", ((1, 2), (2, 1))),
            KillBroker(1),
            DeleteTopic("t"),
            Reassign("t", 0, (3, 2)),
            AddPartitions("t", 3, ((2, 3),)),
            Elect("t", 1, PREFERRED),
            DeleteTopic("t"),
            CreateTopic("t", ((2, 3),)),
            StartBroker(1),
        ),
    ),
    Scenario(
        "left-on-the-dead",
        (
            CreateTopic("other", ((2, 1),)),
            KillBroker(1),
            LeaveTopic("t", ((1,), (1, 2))),
            LeavePlan("other", 0, (1, 3)),
            StartBroker(1),
        ),
    ),
)

_STOPPED: Final = (
    Scenario(
        "stopped-in-order",
        (
            CreateTopic("t", ((2, 1, 3), (1, 2, 3), (3, 2, 1))),
            CreateTopic("single", ((2,), (1,))),
            StopBroker(2),
            StartBroker(2),
            Elect("t", 0, PREFERRED),
        ),
    ),
    Scenario(
        "moved-while-it-is-stopped",
        (
            CreateTopic("t", ((2, 1),)),
            StopBroker(2),
            Reassign("t", 0, (1, 3)),
            StartBroker(2),
        ),
    ),
)

_BOUNCED: Final = (
    Scenario(
        "bounced-unseen",
        (
            CreateTopic("t", ((1, 2, 3), (2, 1, 3))),
            CreateTopic("single", ((1,), (2,))),
            BounceBroker(1),
            Elect("t", 0, PREFERRED),
        ),
    ),
)

_LAST_STOPPED: Final = (
    Scenario(
        "last-in-sync-stopped",
        (
            CreateTopic("t", ((1, 2), (2, 1))),
            KillBroker(1),
            StopBroker(2),
            StartBroker(1),
            Elect("t", 0, UNCLEAN),
            StartBroker(2),
        ),
    ),
    Scenario(
        "moves-wait-for-two",
        (
            CreateTopic("t", ((3, 1, 2), (1, 2, 3))),
            KillBroker(1),
            Reassign("t", 0, (2, 1)),
            StopBroker(2),
            CancelMove("t", 0),
            Reassign("t", 1, (3,)),
            StartBroker(1),
            StartBroker(2),
        ),
    ),
)

_MOST_KILLED: Final = (
    Scenario(
        "last-in-sync-killed",
        (
            CreateTopic("t", ((1, 2), (2, 1), (3, 1))),
            CreateTopic("three", ((1, 2, 3), (2, 1, 3))),
            KillBroker(1),
            KillBroker(2),
            StartBroker(1),
            Elect("t", 0, UNCLEAN),
            Elect("t", 1, UNCLEAN),
            StartBroker(2),
        ),
    ),
    Scenario(
        "only-what-comes-is-in-sync",
        (
            CreateTopic("t", ((2, 1),)),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            KillBroker(2),
            CancelMove("t", 0),
            StartBroker(1),
            StartBroker(2),
        ),
    ),
    Scenario(
        "what-comes-leads-and-is-dropped",
        (
            CreateTopic("t", ((1, 2),)),
            KillBroker(1),
            Reassign("t", 0, (3, 1, 2)),
            KillBroker(2),
            StartBroker(1),
            CancelMove("t", 0),
            StartBroker(2),
        ),
    ),
    Scenario(
        "unclean-by-its-config",
        (
            CreateTopic("t", ((1, 2), (2, 1)), (_UNCLEAN_ALLOWED,)),
            KillBroker(1),
            KillBroker(2),
            StartBroker(1),
            StartBroker(2),
        ),
    ),
    Scenario(
        "unclean-by-a-later-config",
        (
            CreateTopic("t", ((1, 2),)),
            KillBroker(1),
            KillBroker(2),
            StartBroker(1),
            Configure("t", *_UNCLEAN_ALLOWED),
            StartBroker(2),
        ),
    ),
)

_FAILOVERS: Final = (
    Scenario(
        "move-waits-over-a-failover",
        (
            CreateTopic("t", ((2, 1),)),
            KillBroker(1),
            Reassign("t", 0, (3, 1)),
            MoveController(),
            StartBroker(1),
        ),
    ),
    Scenario(
        "deletion-waits-over-a-failover",
        (
            CreateTopic("t", ((1, 2), (3, 2))),
            KillBroker(1),
            DeleteTopic("t"),
            MoveController(),
            StartBroker(1),
        ),
    ),
    Scenario(
        "led-over-a-failover",
        (
            CreateTopic("t", ((1, 2, 3), (3, 1, 2))),
            CreateTopic("single", ((1,), (2,))),
            KillBroker(1),
            MoveController(),
            Elect("t", 0, PREFERRED),
            StartBroker(1),
            Elect("t", 0, PREFERRED),
        ),
    ),
)

HANDWRITTEN: Final = (
    *_TOPICS,
    *_MOVES,
    *_ELECTIONS,
    *_KILLED,
    *_STOPPED,
    *_BOUNCED,
    *_LAST_STOPPED,
    *_MOST_KILLED,
    *_FAILOVERS,
)
