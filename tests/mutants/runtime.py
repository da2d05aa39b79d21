"""Mutants of the real driver: what the simulator's driver must not do, done by the one in use."""

from typing import Final

from tests.mutants.mutant import Mutant

DRIVER: Final = "regent.runtime.driver"
INBOX: Final = "regent.runtime.inbox"
CHANNELS: Final = "regent.runtime.channels"
LIFELINE: Final = "regent.zookeeper.lifeline"

DRIVER_TESTS: Final = "tests/runtime/test_driver.py::"
INBOX_TESTS: Final = "tests/runtime/test_inbox.py::"
CHANNEL_TESTS: Final = "tests/runtime/test_channels.py::"
LIFELINE_TESTS: Final = "tests/zookeeper/test_lifeline.py::"

MUTANTS: Final = (
    # --- the end of a session ---------------------------------------------------------------
    Mutant(
        name="callers-forgotten-with-the-session",
        breaks="callers that wait when the session ends are never answered (KAFKA-6517)",
        module=DRIVER,
        old='before there can be another."""\n        for reply in self._inbox.void():\n'
        "            self._reply(reply)\n",
        new='before there can be another."""\n',
        test=DRIVER_TESTS + "test_a_session_that_ends_is_resigned_from_before_the_next_is_opened",
        fault="F16",
    ),
    Mutant(
        name="requests-forgotten-with-the-session",
        breaks="requests under way when the session ends keep their senders waiting (KAFKA-6517)",
        module=LIFELINE,
        old="                ticket.finish(FrameReply(ZkError.SESSION_EXPIRED))\n",
        new="                pass\n",
        test=LIFELINE_TESTS + "test_what_is_under_way_ends_with_the_session_and_only_once",
        fault="F16",
    ),
    Mutant(
        name="the-end-of-a-session-waits-its-turn",
        breaks="what waited for the old session is handled before its end is",
        module=INBOX,
        old="        if self._has_ended:\n",
        new="        if self._has_ended and not self._readings and not len(self.events):\n",
        test=INBOX_TESTS + "test_the_end_of_the_session_goes_before_everything",
    ),
    Mutant(
        name="an-old-session-ends-the-new-one",
        breaks="a late word of an earlier session ends the one of now",
        module=INBOX,
        old="            self._has_ended |= session_number == self._session_number\n",
        new="            self._has_ended |= session_number <= self._session_number\n",
        test=INBOX_TESTS + "test_the_end_of_an_earlier_session_is_no_news",
    ),
    Mutant(
        name="the-next-session-unresigned",
        breaks="a new session is opened in the office that the old one gave",
        module=DRIVER,
        old="            self._expire()\n            session.close()\n",
        new="            session.close()\n",
        test=DRIVER_TESTS + "test_a_session_that_ends_is_resigned_from_before_the_next_is_opened",
    ),
    # --- the next one -----------------------------------------------------------------------
    Mutant(
        name="stand-then-register",
        breaks="a controller stands for election in a new session before it registers (KAFKA-5473)",
        module=DRIVER,
        old="        try:\n"
        "            run(session, self._register(session.session_id))\n"
        "        except RegentError:\n"
        "            session.close()\n"
        "            raise\n"
        "        return session\n\n"
        "    def _serve(self, session: Session) -> None:\n"
        '        """Handle what comes until the session ends, or the node does."""\n'
        "        self._session = session\n"
        "        try:\n"
        "            self._handle(self._numbered(SessionStarted(now_ms())))\n",
        new="        return session\n\n"
        "    def _serve(self, session: Session) -> None:\n"
        '        """Handle what comes until the session ends, or the node does."""\n'
        "        self._session = session\n"
        "        try:\n"
        "            self._handle(self._numbered(SessionStarted(now_ms())))\n"
        "            run(session, self._register(session.session_id))\n",
        test=DRIVER_TESTS + "test_in_every_session_it_registers_as_what_it_is_and_only_then_stands",
        fault="F20",
    ),
    Mutant(
        name="one-try-for-a-session",
        breaks="a ZooKeeper that cannot be reached at once is given up (KAFKA-5473)",
        module=DRIVER,
        old="if isinstance(error, BadInput) and not has_served:",
        new="if not has_served:",
        test=DRIVER_TESTS + "test_a_zookeeper_that_cannot_be_reached_is_tried_again",
        fault="F20",
    ),
    Mutant(
        name="registered-in-the-first-session",
        breaks="a controller registers in each session with what it had in the first (KAFKA-6573)",
        module=DRIVER,
        old="run(session, self._register(session.session_id))",
        new='run(session, self._register(vars(self).setdefault("first", session.session_id)))',
        test=DRIVER_TESTS + "test_in_every_session_it_registers_as_what_it_is_and_only_then_stands",
        fault="F22",
    ),
    # --- addresses --------------------------------------------------------------------------
    Mutant(
        name="told-of-at-its-first-address",
        breaks="brokers are told of a broker at the address that it had first (KAFKA-6573)",
        module=CHANNELS,
        old="{**self._endpoints, broker.broker_id: told}",
        new="{broker.broker_id: told, **self._endpoints}",
        test=CHANNEL_TESTS + "test_a_broker_that_moved_is_reached_and_told_of_where_it_is_now",
        fault="F22",
    ),
    Mutant(
        name="reached-at-its-first-address",
        breaks="a broker that has moved is called where it was (KAFKA-6573)",
        module=CHANNELS,
        old="        self._close(broker_id)\n        self._channels[broker_id] = BrokerChannel(\n",
        new="        before = self._channels.get(broker_id)\n"
        "        endpoint = endpoint if before is None else before.endpoint\n"
        "        self._close(broker_id)\n        self._channels[broker_id] = BrokerChannel(\n",
        test=CHANNEL_TESTS + "test_a_broker_that_moved_is_reached_and_told_of_where_it_is_now",
        fault="F22",
    ),
    # --- failures ---------------------------------------------------------------------------
    Mutant(
        name="failed-calls-dropped",
        breaks="a call that could not be carried out is never answered (KAFKA-10193)",
        module=DRIVER,
        old="        self._refuse(event)\n",
        new="",
        test=DRIVER_TESTS + "test_who_waits_for_what_failed_hears_of_it",
        fault="F89",
    ),
    Mutant(
        name="every-failure-is-the-first",
        breaks="a controller that fails again and again stands again at once each time",
        module=DRIVER,
        old="            if self.controller.state.is_active:\n",
        new="            if True:\n",
        test=DRIVER_TESTS + "test_a_failure_that_comes_back_is_met_with_patience",
    ),
)
