"""Mutants that bring faults F64 to F95 of the catalogue back."""

from typing import Final

from tests.mutants.mutant import Mutant

DELETION: Final = "regent.core.topic_deletion"
SHUTDOWN: Final = "regent.core.controlled_shutdown"
BALANCE: Final = "regent.core.leader_balance"
ELECTION: Final = "regent.core.election"
ELECTIONS: Final = "regent.core.leader_elections"
BATCH: Final = "regent.core.request_batch"
PAGES: Final = "regent.core.broker_pages"
BROKERS: Final = "regent.core.broker_changes"
TOPICS: Final = "regent.core.topic_changes"
MOVES: Final = "regent.core.reassignment_phases"
ISR: Final = "regent.core.isr_changes"
STATE: Final = "regent.core.state"
GAUGES: Final = "regent.core.gauges"
QUEUE: Final = "regent.core.event_queue"
QUOTAS: Final = "regent.core.mutation_quotas"
CONTROLLER: Final = "regent.core.controller"
BROKER: Final = "regent.broker.broker_core"
PROCESS: Final = "regent.sim.process"

MUSEUM: Final = "tests/museum/test_c.py"
METADATA: Final = "tests/museum/test_c_metadata.py"
DELETION_TESTS: Final = "tests/unit/core/test_topic_deletion.py"
BALANCE_TESTS: Final = "tests/unit/core/test_leader_balance.py"
SHUTDOWN_TESTS: Final = "tests/unit/core/test_controlled_shutdown.py"

MUTANTS: Final = (
    # --- deletions --------------------------------------------------------------------------
    Mutant(
        "conflicts-noted-too-late",
        "a deletion may start before the reassignment that forbids it is noted (KAFKA-1558)",
        DELETION,
        "        yield from mark_ineligible(state, moving, IS_REASSIGNING)\n",
        "        yield from resume_deletions(state)\n"
        "        yield from mark_ineligible(state, moving, IS_REASSIGNING)\n",
        test=f"{DELETION_TESTS}::test_a_topic_under_reassignment_waits_for_its_end",
        fault="F64",
    ),
    Mutant(
        "one-skipped-election-skips-the-rest",
        "an election that is not held ends the whole list (KAFKA-1558)",
        BALANCE,
        "        results[name] = refused or PartitionResult(*name)\n",
        "        results[name] = refused or PartitionResult(*name)\n"
        "        if refused is not None:\n            break\n",
        test=f"{MUSEUM}::test_an_election_that_is_skipped_skips_no_other",
        fault="F64",
    ),
    Mutant(
        "forget-only-what-comes-first",
        "a topic's replicas are forgotten only while they stand first in the index (KAFKA-1742)",
        STATE,
        "                replicas.pop(partition, None)\n",
        "                if next(iter(replicas), None) is partition:\n"
        "                    replicas.pop(partition, None)\n",
        test=f"{MUSEUM}::test_one_of_fifty_topics_goes_and_leaves_no_trace",
        fault="F65",
    ),
    Mutant(
        "marker-stays-where-nothing-is-deleted",
        "with deletion off the marker stays and its topic counts as being deleted (KAFKA-3175)",
        DELETION,
        "        yield from ask(DeleteTopicMarkers(fence_of(state), marked))\n        return []\n",
        "        state.queue_deletions(marked)\n        return []\n",
        test=f"{MUSEUM}::test_with_deletion_off_a_marked_topic_is_served_on",
        fault="F67",
    ),
    Mutant(
        "grow-while-being-deleted",
        "partitions added to a topic that is being deleted are served (KAFKA-6612)",
        TOPICS,
        "    if state.is_being_deleted(topic.name):\n",
        "    if False:\n",
        test=f"{MUSEUM}::test_partitions_added_to_a_suspended_deletion_bring_nothing_back",
        fault="F68",
    ),
    Mutant(
        "plain-stop-taken-for-a-delete",
        "the answer to a stop without deletion confirms a deletion (KAFKA-9946)",
        DELETION,
        "    for name in event.deleted:\n",
        "    for name in errors:\n",
        test=f"{DELETION_TESTS}::test_the_answer_to_a_plain_stop_confirms_nothing",
        fault="F70",
    ),
    Mutant(
        "deleted-topics-block-shutdowns",
        "a broker that leads a topic being deleted cannot go (KAFKA-2937)",
        SHUTDOWN,
        "        and not state.is_being_deleted(partition.topic)\n",
        "",
        test=f"{MUSEUM}::test_a_topic_that_is_deleted_does_not_keep_its_last_replica_from_going",
        fault="F71",
    ),
    Mutant(
        "cleaned-again-with-each-announcement",
        "a topic leaves the count of imbalance each time the deletions are announced (KAFKA-13572)",
        DELETION,
        "    new = [t for t in marked if t in state.topics and t not in state.topics_to_delete]\n",
        "    new = [t for t in marked if t in state.topics and t not in state.topics_to_delete]\n"
        "    for again in (t for t in marked if t in state.topics_to_delete):\n"
        "        for p in state.topics[again].partitions.values():\n"
        "            if state.leader_of(p) != p.assignment.replicas[0]:\n"
        "                state.preferred_imbalance_count -= 1\n",
        test=f"{MUSEUM}::test_no_counter_falls_below_zero_however_often_deletions_are_announced",
        fault="F73",
    ),
    Mutant(
        "requests-for-each-deleted-topic",
        "deletions that start together have requests of their own each (KAFKA-9499)",
        DELETION,
        "    yield from _start(state, ready)\n",
        "    for each in ready:\n        yield from _start(state, [each])\n",
        test=f"{DELETION_TESTS}::test_two_hundred_topics_cost_a_broker_as_many_requests_as_one",
        fault="F74",
    ),
    # --- shutdowns and elections ------------------------------------------------------------
    Mutant(
        "unfollowed-while-shutting-down",
        "replicas are not told of a leader that is shutting down (KAFKA-705)",
        BATCH,
        "            if known:\n",
        "            if known and leadership.leader not in state.shutting_down:\n",
        test=f"{SHUTDOWN_TESTS}"
        "::test_a_replica_that_comes_back_is_told_to_follow_a_leader_that_is_going",
        fault="F76",
    ),
    Mutant(
        "no-address-while-shutting-down",
        "a leader that is shutting down is not among the live leaders in a request (KAFKA-999)",
        PAGES,
        "live_leaders=tuple(sorted(b for b in page.leaders if b in state.brokers)),",
        "live_leaders=tuple(sorted(b for b in page.leaders if b in state.electable)),",
        test=f"{MUSEUM}::test_followers_that_restart_relieve_a_leader_that_is_going",
        fault="F77",
    ),
    Mutant(
        "nobody-joins-a-leader-that-goes",
        "the ISR of a leader that is shutting down cannot grow, so that nobody can take over",
        ISR,
        "others = (member for member in proposal.isr if member != request.broker_id)",
        "others = proposal.isr",
        test=f"{MUSEUM}::test_followers_that_restart_relieve_a_leader_that_is_going",
        fault="F77",
    ),
    Mutant(
        "shutdown-waits-for-zookeeper",
        "a broker that stops asks ZooKeeper first and waits for its answer (KAFKA-9189)",
        PROCESS,
        "        if controller_id is None:\n            outcome(None)\n        else:\n",
        "        def ask_controller(_found: Any) -> None:\n"
        "            self.world.wire.call(\n"
        "                self.as_caller, controller_id, handle, outcome, timeout_ms=3_000\n"
        "            )\n\n"
        "        if tries:\n"
        "            self.link.run(ensure_paths(), ask_controller, ask_controller)\n"
        "        else:\n",
        test=f"{MUSEUM}::test_a_broker_stops_within_a_bound_when_zookeeper_is_gone",
        fault="F79",
    ),
    Mutant(
        "shutdown-by-isr-order",
        "a shutdown gives its leaderships to the head of the ISR (KAFKA-3670)",
        ELECTION,
        "    leader = next((r for r in recipients if r in isr and r not in shutting_down), None)\n",
        "    leader = next((r for r in isr if r in recipients and r not in shutting_down), None)\n",
        test=f"{MUSEUM}::test_the_order_of_the_assignment_decides_and_not_that_of_the_isr",
        fault="F80",
    ),
    Mutant(
        "balance-the-impossible",
        "automatic balance tries elections that cannot succeed (KAFKA-9866)",
        BALANCE,
        "chosen = [p for p in astray if _can_be_preferred(state, p)]",
        "chosen = astray",
        test=f"{BALANCE_TESTS}::test_only_elections_that_can_succeed_are_tried",
        fault="F82",
    ),
    Mutant(
        "one-move-stops-all-balancing",
        "while anything is reassigned no leader goes back by itself (KAFKA-10149)",
        BALANCE,
        "    if movable:\n",
        "    if movable and not state.reassigning:\n",
        test=f"{BALANCE_TESTS}::test_a_stuck_reassignment_does_not_keep_others_from_being_balanced",
        fault="F83",
    ),
    Mutant(
        "unclean-uncounted",
        "unclean elections are not counted (KAFKA-6752)",
        ELECTIONS,
        "        state.unclean_election_count += 1\n",
        "        pass\n",
        test=f"{MUSEUM}::test_unclean_elections_are_counted_once_and_clean_ones_never",
        fault="F85",
    ),
    Mutant(
        "clean-counted-as-unclean",
        "every election is counted as an unclean one",
        ELECTIONS,
        "    if choice.is_unclean:\n        state.unclean",
        "    if choice:\n        state.unclean",
        test=f"{MUSEUM}::test_unclean_elections_are_counted_once_and_clean_ones_never",
        fault="F85",
    ),
    # --- metadata, events, ids, gauges ------------------------------------------------------
    Mutant(
        "no-metadata-without-partitions",
        "the list of live brokers is sent only beside partitions (KAFKA-1867)",
        BATCH,
        "        broker_ids = state.brokers if self._tells_all else self._metadata_brokers\n",
        "        broker_ids = state.brokers if self._tells_all else self._metadata_brokers\n"
        "        broker_ids = broker_ids if partitions else {}\n",
        test=f"{METADATA}::test_every_broker_knows_who_lives_where_there_is_no_topic",
        fault="F86",
    ),
    Mutant(
        "death-without-replicas-untold",
        "the others do not hear of the death of a broker that hosted nothing (KAFKA-972)",
        BROKERS,
        "    if not any(kept.values()) and not any(isinstance(r, Leadership)"
        " for r in results.values()):\n",
        "    if False:\n",
        test=f"{METADATA}::test_every_broker_knows_who_lives_where_there_is_no_topic",
        fault="F86",
    ),
    Mutant(
        "everything-for-everybody",
        "when a broker starts, all brokers get all partitions (KAFKA-7537)",
        BROKERS,
        "        arrived, (p for p in state.all_partitions()",
        "        state.brokers, (p for p in state.all_partitions()",
        test=f"{METADATA}::test_a_newcomer_costs_the_others_no_partition",
        fault="F88",
    ),
    Mutant(
        "waiting-calls-dropped",
        "calls that wait when the queue is emptied are never answered (KAFKA-10193)",
        QUEUE,
        "            if answer is not None:\n                yield answer\n",
        "            if answer is None:\n                yield answer\n",
        test=f"{METADATA}::test_every_call_that_waits_is_answered_once_when_the_node_goes",
        fault="F89",
    ),
    Mutant(
        "calls-after-resigning-dropped",
        "calls that were queued before the controller resigned are never answered (KAFKA-10193)",
        CONTROLLER,
        "                yield from _refuse(event)\n                return\n",
        "                return\n",
        test=f"{METADATA}::test_every_call_that_waits_is_answered_once_when_the_controller_resigns",
        fault="F89",
    ),
    Mutant(
        "no-timer-no-event",
        "an event whose kind has no timer is lost",
        QUEUE,
        "        self.times.add(now_ms - queued.queued_at_ms)\n",
        '        if type(queued.event).__name__.endswith("Answered"):\n            return None\n'
        "        self.times.add(now_ms - queued.queued_at_ms)\n",
        test=f"{METADATA}::test_every_kind_of_event_that_is_put_is_handled",
        fault="F91",
    ),
    Mutant(
        "id-lost-by-an-older-controller",
        "a controller that does not use topic ids drops them when it rewrites topics (KAFKA-12835)",
        MOVES,
        "    topic_id = state.topics[partition.topic].topic_id\n",
        "    topic_id = state.topics[partition.topic].topic_id\n"
        "    if (state.config.protocol.major, state.config.protocol.minor) < (2, 8):\n"
        "        topic_id = None\n",
        test=f"{METADATA}::test_an_id_is_given_once_and_outlives_an_older_controller",
        fault="F92",
    ),
    Mutant(
        "id-needs-a-new-epoch",
        "a replica does not take a topic id that comes without a new leader epoch (KAFKA-13132)",
        BROKER,
        "if leadership.leader_epoch < hosted.leader_epoch or topic_id is None or known_id:",
        "if True:",
        test=f"{METADATA}::test_an_id_is_given_once_and_outlives_an_older_controller",
        fault="F92",
    ),
    Mutant(
        "leaders-that-go-count-as-gone",
        "a partition whose leader is shutting down counts as offline (KAFKA-1168)",
        BROKERS,
        "                known.leader not in state.brokers\n",
        "                known.leader not in state.electable\n",
        test=f"{SHUTDOWN_TESTS}::test_a_leader_that_is_going_is_not_counted_as_gone",
        fault="F94",
    ),
    Mutant(
        "deleted-topics-count-as-offline",
        "partitions of topics that are being deleted count as offline (KAFKA-4441)",
        STATE,
        "        if partition.topic not in self.topics_to_delete:\n            if after",
        "        if partition:\n            if after",
        test="tests/unit/core/test_partition_machine.py",
        fault="F94",
    ),
    Mutant(
        "deleted-topics-inherited-as-offline",
        "a new controller counts partitions of topics that are being deleted as offline",
        STATE,
        "sum(p.topic not in deleted for p in partitions)",
        "sum(p.topic not in () for p in partitions)",
        test=f"{METADATA}::test_gauges_summed_over_all_nodes_count_everything_once",
    ),
    Mutant(
        "gauges-off-the-controller",
        "a node that is not controller shows what it counted when it was (KAFKA-1068)",
        GAUGES,
        "    return reading(state) if state.is_active else 0\n",
        "    return reading(state)\n",
        test="tests/unit/core/test_gauges.py"
        "::test_off_the_controller_every_gauge_of_the_cluster_is_zero",
        fault="F94",
    ),
    Mutant(
        "a-quota-keeps-its-first-rate",
        "a changed quota does not reach those who have used it (KAFKA-10458)",
        QUOTAS,
        "            self._rates[entity] = QuotaRate(per_second, per_second * self._window_s)\n",
        "            rate = QuotaRate(per_second, per_second * self._window_s)\n"
        "            self._rates.setdefault(entity, rate)\n",
        test="tests/unit/core/test_mutation_quotas.py"
        "::test_a_bucket_is_shown_from_its_first_use_with_the_rate_of_now",
        fault="F95",
    ),
)
