"""Kafka's faults around two controllers, lost sessions and starting up, brought back one by one."""

from typing import Final

from tests.mutants.mutant import Mutant

BROKER: Final = "regent.broker.broker_core"
BROKERS: Final = "regent.core.broker_changes"
CONTROLLER: Final = "regent.core.controller"
FAILOVER: Final = "regent.core.failover"
BALANCE: Final = "regent.core.leader_balance"
ISR: Final = "regent.core.isr_changes"
REGISTRATION: Final = "regent.zookeeper.registration"
EPHEMERALS: Final = "regent.zookeeper.ephemerals"
LINK: Final = "regent.sim.zookeeper_link"
PROCESS: Final = "regent.sim.process"

BY_HAND: Final = "tests/museum/test_a.py::"
LIVING: Final = "tests/museum/test_a_living.py::"

MUTANTS: Final = (
    # --- two controllers ----------------------------------------------------------------------
    Mutant(
        name="obey-any-controller",
        breaks="a broker obeys a controller that it knows to be deposed (KAFKA-532)",
        module=BROKER,
        old="if request.controller_epoch < self.controller_epoch:",
        new="if False:",
        test=LIVING + "test_what_a_thawed_controller_had_queued_is_refused_by_all_the_others",
        fault="F01",
    ),
    Mutant(
        name="adopt-the-newest-epoch",
        breaks="a controller stamps what it sends with the newest epoch there is (KAFKA-1096)",
        module=CONTROLLER,
        old="        procedure = ALWAYS.get(type(event))\n",
        new="        if self.state.is_active:\n"
        "            from regent.core.asks import ReadControllerEpoch, ask\n"
        "            newest = yield from ask(ReadControllerEpoch())\n"
        "            self.state.controller_epoch = newest.controller_epoch\n"
        "        procedure = ALWAYS.get(type(event))\n",
        test=BY_HAND + "test_a_thawed_controller_speaks_with_its_own_epoch_only",
        fault="F02",
    ),
    Mutant(
        name="handle-what-was-queued",
        breaks="events queued before a resignation are handled after it (KAFKA-4447)",
        module=CONTROLLER,
        old="            if not self.state.is_active:\n",
        new="            if False:\n",
        test=BY_HAND + "test_what_was_queued_before_a_resignation_changes_nothing_after_it",
        fault="F04",
    ),
    Mutant(
        name="keep-watching-after-resigning",
        breaks="a former controller keeps its watches (KAFKA-1578)",
        module=FAILOVER,
        old="    yield DropWatches()\n",
        new="",
        test=LIVING + "test_a_former_controller_watches_the_role_and_nothing_else",
        fault="F05",
    ),
    Mutant(
        name="zombie-fences-the-leader",
        breaks="a leader that is ahead of the controller is told that it is fenced (KAFKA-14154)",
        module=ISR,
        old="        return ErrorCode.NOT_CONTROLLER\n    if proposal.leader_epoch <",
        new="        return ErrorCode.FENCED_LEADER_EPOCH\n    if proposal.leader_epoch <",
        test="tests/unit/core/test_isr_changes.py::"
        "test_a_leader_ahead_of_us_means_that_we_are_the_zombie",
        fault="F07",
    ),
    Mutant(
        name="remember-the-last-controller",
        breaks="a controller that is gone is shown until there is another (KAFKA-16509)",
        module=FAILOVER,
        old="    state.active_id = holder\n    return holder\n",
        new="    state.active_id = holder or state.active_id\n    return holder\n",
        test=BY_HAND + "test_no_controller_is_shown_as_such",
        fault="F08",
    ),
    Mutant(
        name="unreadable-role-in-silence",
        breaks="nobody is told that the controller znode makes no sense (KAFKA-9267)",
        module=FAILOVER,
        old="        yield Journal([ZnodeIsolated(holder.path, holder.reason)])\n",
        new="",
        test=BY_HAND + "test_an_empty_role_that_nobody_holds_is_reported_and_freed_by_hand",
        fault="F10",
    ),
    # --- sessions -----------------------------------------------------------------------------
    Mutant(
        name="shut-down-for-ever",
        breaks="after an expired session nothing is heard in any later reign (KAFKA-928)",
        module=CONTROLLER,
        old="        procedure = ALWAYS.get(type(event))\n        if procedure is None:\n",
        new="        procedure = ALWAYS.get(type(event))\n"
        "        if isinstance(event, SessionExpired):\n"
        "            self.has_shut_down = True\n"
        "        if procedure is None:\n"
        '            if getattr(self, "has_shut_down", False):\n'
        "                return\n",
        test=BY_HAND + "test_a_second_reign_is_as_live_as_the_first",
        fault="F11",
    ),
    Mutant(
        name="balance-outlives-its-reign",
        breaks="the timer of the balance goes on when the controller resigns",
        module=FAILOVER,
        old="    yield CancelTimers()\n",
        new="",
        test=LIVING + "test_a_session_that_ends_under_the_balance_ends_the_reign_at_once",
        fault="F13",
    ),
    Mutant(
        name="unanswered-after-expiry",
        breaks="what was under way when the session ended is never answered (KAFKA-6517)",
        module=LINK,
        old="        self._answer_all(ZkError.SESSION_EXPIRED)\n",
        new="",
        test=LIVING + "test_everything_under_way_is_answered_when_the_session_ends",
        fault="F16",
    ),
    Mutant(
        name="own-registration-is-a-strangers",
        breaks="a registration that got through unanswered keeps the broker out (KAFKA-1387)",
        module=EPHEMERALS,
        old="if found is not None and found.stat.ephemeral_owner == session_id:",
        new="if False:",
        test="tests/unit/zookeeper/test_registration.py::"
        "test_a_registration_survives_a_lost_connection",
        fault="F17",
    ),
    Mutant(
        name="own-remains-keep-the-broker-out",
        breaks="the registration of a broker's last session blocks the next (KAFKA-7165)",
        module=EPHEMERALS,
        old="            if found.stat.ephemeral_owner != previous_session_id:\n",
        new="            if True:\n",
        test=BY_HAND + "test_a_broker_that_registers_over_its_own_remains_has_bounced",
        fault="F19",
    ),
    Mutant(
        name="stand-before-registering",
        breaks="in a new session a node stands for election before it registers (KAFKA-5473)",
        module=PROCESS,
        old="        self.link.run(ensure_paths(), lambda _done: register(), not_registered)\n",
        new="        self.put(SessionStarted(self.now_ms))\n"
        "        self.after_ms(10, register)\n"
        "        self.link.run(ensure_paths(), lambda _done: None, not_registered)\n",
        test=LIVING + "test_after_a_long_outage_everybody_registers_first_and_one_is_elected",
        fault="F20",
    ),
    Mutant(
        name="register-as-at-the-start",
        breaks="a broker registers in each session with the address it started with (KAFKA-6573)",
        module=PROCESS,
        old="                self.world.registration_of(self.broker_id),\n",
        new="                vars(self).setdefault(\n"
        '                    "first", self.world.registration_of(self.broker_id)\n'
        "                ),\n",
        test=LIVING + "test_a_broker_registers_again_as_it_is_and_not_as_it_was",
        fault="F22",
    ),
    Mutant(
        name="newcomers-unwatched",
        breaks="nobody watches the registration of a broker that came later",
        module=BROKERS,
        old="    yield from watch_brokers(state, arrived)\n",
        new="",
        test=BY_HAND + "test_every_broker_is_watched_however_they_came",
        fault="F23",
    ),
    # --- the order of starting up -------------------------------------------------------------
    Mutant(
        name="elections-before-the-machines",
        breaks="pending elections are held before either machine has started (KAFKA-840)",
        module=FAILOVER,
        old="    yield from start_replicas(state)\n",
        new="    yield from hold_pending_elections(state)\n    yield from start_replicas(state)\n",
        test=BY_HAND + "test_what_is_pending_waits_for_both_machines",
        fault="F25",
    ),
    Mutant(
        name="moves-before-the-machines",
        breaks="pending reassignments are resumed before either machine has started",
        module=FAILOVER,
        old="    yield from start_replicas(state)\n    yield from start_partitions(state)\n"
        "    yield from resume_reassignments(state)\n",
        new="    yield from resume_reassignments(state)\n    yield from start_replicas(state)\n"
        "    yield from start_partitions(state)\n",
        test=BY_HAND + "test_what_is_pending_waits_for_both_machines",
        fault="F25",
    ),
    Mutant(
        name="inherited-election-unheld",
        breaks="a new controller does not look for an election that was asked for (KAFKA-828)",
        module=FAILOVER,
        old="    yield from hold_pending_elections(state)\n",
        new="",
        test=BY_HAND + "test_no_election_znode_outlives_its_controller_and_blocks_the_next",
        fault="F26",
    ),
    Mutant(
        name="failed-election-stays",
        breaks="the election znode is removed only when every election succeeded",
        module=BALANCE,
        old="        yield from ask(DeleteElectionZnode(fence_of(state)))\n",
        new="        if any(r.error is not ErrorCode.NONE for r in results):\n"
        "            return\n"
        "        yield from ask(DeleteElectionZnode(fence_of(state)))\n",
        test=BY_HAND + "test_an_election_that_cannot_be_held_is_removed_too",
        fault="F26",
    ),
    Mutant(
        name="dead-brokers-queue-stays",
        breaks="what is queued for a broker stays when it dies (KAFKA-1134)",
        module=BROKERS,
        old="        yield CloseChannel(broker_id)\n",
        new="",
        test=BY_HAND + "test_changes_during_a_failover_are_handled_after_it_whenever_they_come",
        fault="F29",
    ),
    Mutant(
        name="inherited-deletions-wait",
        breaks="a new controller waits for an event before it goes on with deletions (KAFKA-1681)",
        module=FAILOVER,
        old="    yield from resume_deletions(state)\n",
        new="",
        test="tests/unit/core/test_topic_deletion_interrupted.py::"
        "test_a_new_controller_tries_what_is_pending_without_being_asked",
        fault="F31",
    ),
)
