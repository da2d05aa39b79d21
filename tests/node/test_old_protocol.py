"""Nodes of a protocol before AlterPartition: leaders write their ISRs themselves, and say so."""

from itertools import pairwise

import pytest
from confluent_kafka import Producer

from regent.journal.reader import read
from regent.model.facts import IsrAltered, LeadershipLearned
from regent.testing import Cluster


@pytest.mark.requirement("B6")
def test_leaders_write_the_isr_and_the_controller_hears_of_it() -> None:
    """A follower that is cut off leaves, and comes back; nobody asked the controller."""
    with Cluster(brokers=3, config={"inter.broker.protocol.version": "2.6"}) as cluster:
        cluster.create_topic("old")
        needed = {cluster.leader("old"), cluster.controller_id()}
        follower = next(each for each in cluster.broker_ids if each not in needed)

        cluster.cut(cluster.leader("old"), follower)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": 1})
        producer.produce("old", b"record")  # who has all there is, is in sync
        assert producer.flush(60) == 0
        cluster.wait_until(lambda: follower not in cluster.isr("old"), "a smaller ISR")
        cluster.heal()
        cluster.wait_until(lambda: set(cluster.isr("old")) == {1, 2, 3}, "all in sync")

        def heard() -> list[set[int]]:
            facts = [record.fact for record in read(cluster.journal_dir.iterdir())]
            assert not any(isinstance(fact, IsrAltered) for fact in facts)
            return [set(f.isr) for f in facts if isinstance(f, LeadershipLearned)]

        everybody = {1, 2, 3}
        left_and_back = (everybody - {follower}, everybody)
        cluster.wait_until(lambda: left_and_back in pairwise(heard()), "both notifications")
