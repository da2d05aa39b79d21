"""Three controllers as processes, over real ZooKeeper, and what can happen to the one in office.

Whatever happens: exactly one acts, epochs only grow, and nothing that was decided is lost.
"""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from regent.core.asks import ReadLeaderships, ReadTopics, TopicRead
from regent.core.state import Partition
from regent.errors import SessionLost
from regent.model.facts import ControllerResigned
from regent.model.ids import NO_LEADER, ControllerEpoch
from regent.model.leadership import Leadership
from regent.zookeeper.embedded import EmbeddedZooKeeper
from regent.zookeeper.exchange import run
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.performer import perform
from regent.zookeeper.session_ending import end_session
from tests.support.controllers import ControllerProcess, Controllers
from tests.support.obedient_broker import ObedientBroker, ObedientBrokers
from tests.support.tcp_proxy import TcpProxy
from tests.support.topics import write_topic
from tests.support.waiting import eventually

BROKERS = range(1, 4)


class Stage:
    """ZooKeeper, three brokers, a topic on all of them, and controllers to come."""

    def __init__(self, controllers: Controllers, brokers: ObedientBrokers) -> None:
        self.controllers = controllers
        self.brokers = brokers

    def leaderships(self) -> list[Leadership]:
        """What ZooKeeper says of every partition that has ever been led."""
        session = self.controllers.session
        (topic,) = run(session, perform(ReadTopics(("orders",)))).values()
        assert isinstance(topic, TopicRead)
        partitions = [Partition("orders", i, a) for i, a in topic.partitions.items()]
        read = run(session, perform(ReadLeaderships(partitions)))
        return [each for each in read if isinstance(each, Leadership)]

    def wait_until_led(self, *, without: int | None = None) -> list[Leadership]:
        """Every partition has a leader that is alive, and the dead one is in no ISR."""

        def look() -> list[Leadership] | None:
            self.brokers.register_again()
            try:
                self.controllers.holder()
                found = self.leaderships()
            except SessionLost:
                return None
            is_led = len(found) == 3 and all(
                each.leader != NO_LEADER and without not in each.isr for each in found
            )
            return found if is_led else None

        return eventually(look, f"all partitions led, not by {without}")

    def wait_until_told(self, epoch: int) -> None:
        """Every broker follows the controller of this epoch."""
        for broker in self.brokers.by_id.values():
            eventually(partial(_follows, broker, epoch), f"epoch {epoch} at {broker.broker_id}")

    def check_order(self) -> None:
        """Nobody shared an epoch, and no broker ever went back to an older one."""
        # Journals are written when there is time for it.
        eventually(lambda: self.controllers.reigns() or None, "a reign in the journals")
        for broker in self.brokers.by_id.values():
            epochs = [request.controller_epoch for request in broker.heard]
            assert epochs == sorted(epochs)


@pytest.fixture
def stage(zookeeper_options: ZooKeeperOptions, tmp_path: Path) -> Iterator[Stage]:
    with (
        ObedientBrokers(zookeeper_options, BROKERS) as brokers,
        Controllers(zookeeper_options, tmp_path) as controllers,
    ):
        write_topic(controllers.session, "orders", {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)})
        yield Stage(controllers, brokers)


def three(stage: Stage) -> tuple[ControllerProcess, ControllerEpoch]:
    """Three controllers; the one in office and its epoch, everything led and told."""
    for node_id in (101, 102, 103):
        stage.controllers.start(node_id)
    holder = stage.controllers.elected()
    stage.wait_until_led()
    stage.wait_until_told(holder.controller_epoch)
    return stage.controllers.by_id[holder.node_id], holder.controller_epoch


def someone_else_leads(stage: Stage, before: ControllerProcess, epoch: int) -> ControllerEpoch:
    """Another node is in office, in a later epoch, and has told everybody."""
    holder = stage.controllers.elected(after=epoch)
    assert holder.node_id != before.node_id
    stage.wait_until_told(holder.controller_epoch)
    return holder.controller_epoch


@pytest.mark.requirement("E2", "E3", "E5")
def test_when_the_leader_is_killed_another_takes_over_and_goes_on(stage: Stage) -> None:
    """What it decides next, it decides for the same topics."""
    leader, epoch = three(stage)

    leader.kill()
    later = someone_else_leads(stage, leader, epoch)
    stage.brokers.kill(1)

    led = stage.wait_until_led(without=1)
    assert {each.controller_epoch for each in led} >= {later}
    stage.check_order()


@pytest.mark.requirement("E5")
def test_a_leader_that_wakes_after_its_time_changes_nothing(stage: Stage) -> None:
    """Frozen past its session; a broker dies meanwhile, so it wakes with work to do."""
    leader, epoch = three(stage)
    leader.signal(signal.SIGSTOP)
    later = someone_else_leads(stage, leader, epoch)
    stage.brokers.kill(1)
    decided = stage.wait_until_led(without=1)

    leader.signal(signal.SIGCONT)
    eventually(lambda: resigned(leader), "its resignation")

    assert stage.leaderships() == decided
    assert stage.controllers.elected().controller_epoch == later
    stage.check_order()


@pytest.mark.requirement("E4")
def test_a_leader_whose_session_is_ended_under_it_resigns_and_stands_by(stage: Stage) -> None:
    """As ZooKeeper does it when a session expires."""
    for node_id in (101, 102, 103):
        stage.controllers.start(node_id)
    holder = stage.controllers.elected()
    leader = stage.controllers.by_id[holder.node_id]
    credentials = leader.credentials()

    end_session(stage.controllers.zookeeper, credentials.session_id, credentials.password, tries=10)

    stage.controllers.elected(after=holder.controller_epoch)
    eventually(lambda: resigned(leader), "its resignation")
    assert leader.credentials().session_id != credentials.session_id
    stage.wait_until_led()
    stage.check_order()


@pytest.mark.requirement("E4", "E5")
def test_a_leader_that_is_cut_off_fences_itself_and_comes_back_as_a_standby(stage: Stage) -> None:
    """It hears nothing any more, not even that its session is over."""
    connect = stage.controllers.zookeeper.connect
    address, _, chroot = connect.partition("/")
    host, _, port = address.partition(":")
    with TcpProxy((host, int(port))) as way:
        leader = stage.controllers.start(101, connect=f"{way.address}/{chroot}")
        epoch = stage.controllers.elected().controller_epoch
        stage.wait_until_led()
        for node_id in (102, 103):
            stage.controllers.start(node_id)

        way.part()
        later = someone_else_leads(stage, leader, epoch)
        eventually(lambda: resigned(leader), "its resignation, without a word from ZooKeeper")
        way.heal()

        way_back = leader.credentials()
        assert leader.credentials().session_id != way_back.session_id
        assert stage.controllers.elected().controller_epoch == later
    stage.check_order()


@pytest.mark.requirement("E4")
def test_a_restart_of_zookeeper_leaves_one_in_office(tmp_path: Path) -> None:
    """Sessions may outlive it or not; either way one acts, and decides what comes next."""
    with EmbeddedZooKeeper(tmp_path / "zookeeper") as server:
        options = ZooKeeperOptions(connect=f"{server.address}/kafka", creates_chroot=True)
        with (
            ObedientBrokers(options, BROKERS) as brokers,
            Controllers(options, tmp_path) as controllers,
        ):
            assignment = {0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
            write_topic(controllers.session, "orders", assignment)
            stage = Stage(controllers, brokers)
            _, epoch = three(stage)

            server.restart()

            eventually(lambda: _is_back(controllers, epoch), "a controller after the restart")
            brokers.kill(2)
            led = stage.wait_until_led(without=2)
            assert max(each.controller_epoch for each in led) >= epoch
            stage.check_order()


@pytest.mark.requirement("E9")
def test_sigterm_hands_over_at_once_and_ends_well(stage: Stage) -> None:
    """The session's timeout has nothing to do with it: it is given up, not lost."""
    leader, epoch = three(stage)

    leader.signal(signal.SIGTERM)

    assert leader.process.wait(timeout=60) == 0
    someone_else_leads(stage, leader, epoch)
    (fact,) = [r.fact for r in leader.records() if isinstance(r.fact, ControllerResigned)]
    assert fact.reason == "asked to resign"
    stage.check_order()


def _is_back(controllers: Controllers, epoch: int) -> bool:
    """A session may end while it is used, by this very restart: then it is looked at again."""
    try:
        holder = controllers.holder()
    except SessionLost:
        return False
    return holder is not None and holder.controller_epoch >= epoch


def _follows(broker: ObedientBroker, epoch: int) -> bool:
    return broker.controller_epoch >= epoch


def resigned(process: ControllerProcess) -> bool:
    """Whether its journal says that it gave the role up."""
    return any(isinstance(record.fact, ControllerResigned) for record in process.records())
