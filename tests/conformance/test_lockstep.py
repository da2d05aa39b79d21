"""Scenarios played together: who does what when."""

from tests.conformance.lockstep import ClusterRound, Part, TopicRound, rounds
from tests.conformance.steps import (
    CreateTopic,
    DeleteTopic,
    KillBroker,
    Scenario,
    StartBroker,
)

CREATE = CreateTopic("t", ((1,),))
DELETE = DeleteTopic("t")
KILL = KillBroker(1)
START = StartBroker(1)


def test_topic_steps_go_side_by_side_and_wait_for_cluster_steps() -> None:
    """Each step keeps its number in its own scenario, for the record."""
    busy = Scenario("busy", (CREATE, DELETE, KILL, CREATE, START))
    idle = Scenario("idle", (CREATE, KILL, START, DELETE))

    assert rounds((busy, idle)) == [
        TopicRound((Part(busy, 0, CREATE), Part(idle, 0, CREATE))),
        TopicRound((Part(busy, 1, DELETE),)),
        ClusterRound(KILL, ((busy, 2), (idle, 1))),
        TopicRound((Part(busy, 3, CREATE),)),
        ClusterRound(START, ((busy, 4), (idle, 2))),
        TopicRound((Part(idle, 3, DELETE),)),
    ]
