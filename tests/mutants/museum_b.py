"""Mutants that bring back bounces, stale requests, wrong ISRs and lost moves (F32 to F62)."""

from typing import Final

from tests.mutants.mutant import Mutant

BROKER: Final = "regent.broker.broker_core"
HOSTED: Final = "regent.broker.hosted_partition"
BATCH: Final = "regent.core.request_batch"
BROKERS: Final = "regent.core.broker_changes"
CHANNEL: Final = "regent.core.channel"
CONTROLLER: Final = "regent.core.controller"
EPOCHS: Final = "regent.core.leader_epochs"
FAILOVER: Final = "regent.core.failover"
ISR: Final = "regent.core.isr_changes"
MOVES: Final = "regent.core.reassignment"
PHASES: Final = "regent.core.reassignment_phases"
PLAN: Final = "regent.core.reassignment_znode"
REPLICAS: Final = "regent.core.replica_machine"
ASSIGNMENT: Final = "regent.model.assignment"
READS: Final = "regent.zookeeper.reads"
WRITES: Final = "regent.zookeeper.writes"
PLAN_ZNODE: Final = "regent.zookeeper.reassignment_znode"

BY_HAND: Final = "tests/museum/test_b.py"
ISR_BY_HAND: Final = "tests/museum/test_b_isr.py"
MOVES_BY_HAND: Final = "tests/museum/test_b_moves.py"
SIMULATED: Final = "tests/museum/test_b_simulated.py"

MUTANTS: Final = (
    # --- bounced brokers and stale requests -------------------------------------------------
    Mutant(
        "obey-orders-to-an-earlier-life",
        "a broker obeys requests that were meant for its earlier life (KAFKA-7235)",
        BROKER,
        "if BROKER_EPOCH_UNKNOWN < request.broker_epoch < self.broker_epoch:",
        "if False:",
        test=f"{BY_HAND}::test_a_deletion_meant_for_an_earlier_life_deletes_nothing_in_the_next",
        fault="F32",
    ),
    Mutant(
        "obey-late-stops",
        "a broker does not look at the leader epoch of a StopReplica (KAFKA-9539)",
        BROKER,
        "if order.leader_epoch not in unchecked and order.leader_epoch < hosted.leader_epoch:",
        "if False:",
        test=f"{BY_HAND}::test_a_replica_moved_away_and_back_survives_the_deletion_that_comes_last",
        fault="F34",
    ),
    Mutant(
        "stops-without-leader-epoch",
        "a StopReplica does not say in which leader epoch it was decided (KAFKA-9539)",
        BATCH,
        "        return partition.leadership.leader_epoch\n\n    # --- sending",
        "        return LEADER_EPOCH_UNKNOWN\n\n    # --- sending",
        test=f"{BY_HAND}::test_a_replica_moved_away_and_back_survives_the_deletion_that_comes_last",
        fault="F34",
    ),
    Mutant(
        "obey-older-leaderships",
        "a broker follows the leadership that arrives last, not the newest (KAFKA-1188)",
        BROKER,
        "if hosted is not None and leadership.leader_epoch <= hosted.leader_epoch:",
        "if False:",
        test=f"{BY_HAND}::test_leaderships_delivered_in_reverse_order_leave_the_last_one",
        fault="F35",
    ),
    Mutant(
        "forget-what-could-not-be-sent",
        "a request is dropped when its broker cannot be reached (KAFKA-1187)",
        CHANNEL,
        'It will go again."""\n        self._is_under_way = False\n',
        'It will go again."""\n        if self._is_under_way:\n'
        "            self.head_number += 1\n"
        "            self._queue.popleft()\n"
        "        self._is_under_way = False\n",
        test=f"{SIMULATED}::test_a_broker_that_could_not_be_reached_hears_everything_afterwards",
        fault="F37",
    ),
    Mutant(
        "any-answer-will-do",
        "an answer is taken for the answer to whatever was sent last (KAFKA-907)",
        CHANNEL,
        "if not self.is_open or not self._is_under_way or number != self.head_number:",
        "if not self.is_open or not self._is_under_way:",
        test=f"{BY_HAND}::test_a_late_answer_does_not_confirm_the_request_that_came_next",
        fault="F38",
    ),
    Mutant(
        "resign-by-half",
        "a controller that resigns leaves its timers and channels behind (KAFKA-4959)",
        FAILOVER,
        "    yield CancelTimers()\n    yield CloseAllChannels()\n",
        "",
        test=f"{SIMULATED}::test_the_role_goes_round_fifty_times_over_slow_connections",
        fault="F40",
    ),
    Mutant(
        "stay-in-office-disabled",
        "a controller that failed in the middle of its work keeps the role (KAFKA-2300)",
        FAILOVER,
        "    yield Journal([EventFailed(failure)])\n    if state.is_active:\n",
        "    yield Journal([EventFailed(failure)])\n    if False:\n",
        test=f"{BY_HAND}::"
        "test_a_send_that_fails_in_the_middle_of_a_batch_costs_the_office_and_nothing_else",
        fault="F41",
    ),
    Mutant(
        "resign-when-broken-off",
        "a procedure that is broken off starts to resign in the middle of the shutdown",
        CONTROLLER,
        "        except (ControllerMoved, SessionLost) as gone:\n"
        "            yield from self._leave(",
        "        except (ControllerMoved, SessionLost, GeneratorExit) as gone:\n"
        "            yield from self._leave(",
        test=f"{BY_HAND}::"
        "test_a_move_whose_handling_is_broken_off_anywhere_is_ended_by_the_next_controller",
        fault="F43",
    ),
    # --- the ISR ----------------------------------------------------------------------------
    Mutant(
        "isr-within-the-assignment-only",
        "a leader is not prepared for an ISR member that is no replica (KAFKA-9672)",
        HOSTED,
        "for replica in dict.fromkeys(assignment.replicas + leadership.isr)",
        "for replica in assignment.replicas",
        test=f"{ISR_BY_HAND}::"
        "test_a_leader_puts_up_with_a_member_that_is_no_replica_until_it_can_be_removed",
        fault="F49",
    ),
    Mutant(
        "strangers-stay-in-sync",
        "what a leader took back into the ISR after a move stays there (KAFKA-9672)",
        EPOCHS,
        "        isr = without_strangers(state, partition, read)\n",
        "        isr = read.isr\n",
        test="tests/unit/core/test_reassignment_phases.py::"
        "test_announcing_a_move_puts_strangers_out_of_the_isr",
        fault="F49",
    ),
    Mutant(
        "tell-all-of-every-isr",
        "each notified change of an ISR has all partitions told (KAFKA-2722)",
        ISR,
        "    batch.add_update_metadata(state.brokers, changed)\n",
        "    batch.add_update_metadata(state.brokers, state.all_partitions())\n",
        test=f"{SIMULATED}::"
        "test_an_isr_that_a_leader_wrote_is_soon_known_everywhere_at_its_own_cost",
        fault="F50",
    ),
    Mutant(
        "notifications-removed-elsewhere",
        "handled notifications are looked for below the changes of configs (KAFKA-1367)",
        WRITES,
        "    ops = [Delete(paths.isr_notification(name)) for name in names]\n",
        '    ops = [Delete(f"{paths.CONFIG_CHANGES}/{name}") for name in names]\n',
        test=f"{ISR_BY_HAND}::test_a_handled_notification_is_removed_where_it_is_and_nothing_else_is",
        fault="F50",
    ),
    # --- lists of brokers -------------------------------------------------------------------
    Mutant(
        "one-newcomer-an-event",
        "an event is about one broker, not about the list as it is now (KAFKA-5502)",
        BROKERS,
        "    new = {b: readable[b] for b in sorted(readable) if b not in state.brokers}\n",
        "    new = {b: readable[b] for b in sorted(readable) if b not in state.brokers}\n"
        "    new = dict(list(new.items())[:1])\n",
        test=f"{ISR_BY_HAND}::"
        "test_thirty_brokers_that_came_while_nobody_looked_are_all_met_by_the_first_event",
        fault="F52",
    ),
    Mutant(
        "gone-and-still-listed",
        "a broker that went between the listing and the look counts as there (KAFKA-3085)",
        READS,
        "        broker_id: _to_broker(broker_id, registration)\n"
        "        for broker_id, registration in zip(broker_ids, found, strict=True)\n"
        "        if registration is not None\n",
        "        broker_id: _to_broker(broker_id, registration)\n"
        "        if registration is not None\n"
        '        else Malformed(paths.broker(broker_id), "it is gone")\n'
        "        for broker_id, registration in zip(broker_ids, found, strict=True)\n",
        test="tests/unit/zookeeper/test_reads.py::"
        "test_a_broker_that_went_between_listing_and_look_is_left_out",
        fault="F53",
    ),
    # --- moves ------------------------------------------------------------------------------
    Mutant(
        "leader-unaware-of-the-target",
        "a leader that stays does not hear which replicas are left (KAFKA-1097)",
        PHASES,
        "        return (yield from _announce(state, partition))\n",
        "        return True\n",
        test="tests/unit/core/test_reassignment_phases.py::"
        "test_a_leader_of_the_target_stays_and_hears_of_it_first",
        fault="F55",
    ),
    Mutant(
        "leader-unaware-of-the-move",
        "a leader does not hear that replicas are coming (KAFKA-1097)",
        PHASES,
        "        yield from _announce(state, partition)  # A1\n",
        "        pass\n",
        test=f"{SIMULATED}::"
        "test_a_quiet_partition_ends_with_its_target_in_sync_whoever_freezes_when",
        fault="F55",
    ),
    Mutant(
        "old-replicas-left-on-disk",
        "replicas that are no longer wanted are forgotten without being deleted (KAFKA-1074)",
        PHASES,
        "    for target in WAY_OUT:\n",
        "    for target in WAY_OUT[:1]:\n",
        test=f"{SIMULATED}::test_a_broker_that_a_partition_moved_away_from_has_none_of_it",
        fault="F56",
    ),
    Mutant(
        "plan-gone-with-its-first-entry",
        "the znode of a plan is deleted as soon as one entry is done (KAFKA-6193)",
        PLAN,
        "        yield from ask(WriteReassignmentZnode(fence_of(state), left))\n",
        "        yield from ask(WriteReassignmentZnode(fence_of(state), {}))\n",
        test="tests/unit/core/test_reassignment.py::test_a_plan_stays_until_its_last_move_is_done",
        fault="F58",
    ),
    Mutant(
        "plan-looked-at-once",
        "looking at a plan sets no watch, so the next plan is missed (KAFKA-6193)",
        PLAN_ZNODE,
        "Exists(path, watch=True)",
        "Exists(path)",
        test="tests/unit/zookeeper/test_reassignment_znode.py",
        fault="F58",
    ),
    Mutant(
        "origin-is-the-last-target",
        "a move that replaces another starts from that one's target (KAFKA-9089)",
        ASSIGNMENT,
        "        origin = self.origin\n",
        "        origin = self.target\n",
        test=f"{SIMULATED}::test_a_move_replaced_again_and_again_goes_back_to_where_it_began",
        fault="F59",
    ),
    Mutant(
        "calls-leave-the-plan",
        "a plan that a later call replaced is followed again after a failover (KAFKA-9089)",
        MOVES,
        "    if moves:\n        # The latest word",
        "    if False:\n        # The latest word",
        test="tests/unit/core/test_reassignment.py::"
        "test_replaced_and_taken_over_again_and_again_a_move_still_knows_its_origin",
        fault="F59",
    ),
    Mutant(
        "new-replicas-not-called-new",
        "replicas that a move adds are announced as if they were known (KAFKA-10314)",
        PHASES,
        "batch.add_leader_and_isr(partition.assignment.adding, partition, is_new=True)",
        "batch.add_leader_and_isr(partition.assignment.adding, partition, is_new=False)",
        test=f"{MOVES_BY_HAND}::test_the_first_a_broker_hears_of_a_replica_is_that_it_is_new",
        fault="F61",
    ),
    Mutant(
        "known-to-the-next-controller",
        "a replica that a move adds is not new to the next controller (KAFKA-10314)",
        REPLICAS,
        "        for partition in still_new(broker_id, led):\n",
        "        for partition in ():\n",
        test=f"{MOVES_BY_HAND}::"
        "test_a_replica_that_never_was_in_sync_is_new_to_the_next_life_and_controller",
        fault="F61",
    ),
    Mutant(
        "plans-taken-at-their-word",
        "a plan that makes no sense stops whoever reads it (KAFKA-4914)",
        PLAN_ZNODE,
        "    try:\n        return decode_reassignments(found.data)\n"
        "    except CorruptZnode as corrupt:\n"
        "        return Malformed(corrupt.path, corrupt.reason)\n",
        "    return decode_reassignments(found.data)\n",
        test=f"{MOVES_BY_HAND}::test_a_controller_starts_on_any_plan_and_the_next_plan_is_followed",
        fault="F62",
    ),
    Mutant(
        "unreadable-plans-stay",
        "a plan that makes no sense stays where it is, in the way of the next (KAFKA-4914)",
        PLAN,
        "    if not read:\n        yield from ask",
        "    if False:\n        yield from ask",
        test=f"{MOVES_BY_HAND}::test_a_controller_starts_on_any_plan_and_the_next_plan_is_followed",
        fault="F62",
    ),
)
