"""The mutants: each is a mistake that somebody could make, and most are mistakes Kafka once had."""

from typing import Final

from tests.mutants import museum_a, museum_b, museum_c, runtime
from tests.mutants.mutant import Mutant

ELECTION: Final = "regent.core.election"
ELECTIONS: Final = "regent.core.leader_elections"
LOOKUP: Final = "regent.core.leadership_lookup"
PARTITIONS: Final = "regent.core.partition_machine"
REPLICAS: Final = "regent.core.replica_machine"
BATCH: Final = "regent.core.request_batch"
BROKERS: Final = "regent.core.broker_changes"
TOPICS: Final = "regent.core.topic_changes"
FAILOVER: Final = "regent.core.failover"
ISR: Final = "regent.core.isr_changes"
STATE: Final = "regent.core.state"
FENCING: Final = "regent.zookeeper.fencing"

MUTANTS: Final = (
    # --- fencing and office -----------------------------------------------------------------
    Mutant(
        "drop-the-epoch-check",
        "controller writes are not conditional on the controller epoch",
        FENCING,
        "check = Check(paths.CONTROLLER_EPOCH, fence.zk_version)",
        'check = Check("/controller_epoch", -1)',
    ),
    Mutant(
        "stay-in-office-without-session",
        "a controller whose session expired does not resign",
        FAILOVER,
        'if state.is_active:\n        yield from resign(state, "the ZooKeeper session expired")',
        'if False:\n        yield from resign(state, "the ZooKeeper session expired")',
    ),
    Mutant(
        "stay-in-office-when-replaced",
        "a controller that sees another in /controller does not resign",
        FAILOVER,
        "if state.is_active and holder != state.controller_id:",
        "if state.is_active and holder is None:",
    ),
    Mutant(
        "keep-talking-after-resigning",
        "the channels stay open when the controller resigns",
        FAILOVER,
        "    yield CloseAllChannels()\n",
        "",
    ),
    Mutant(
        "remember-after-resigning",
        "the cluster is not forgotten when the controller resigns",
        FAILOVER,
        "    yield Journal([ControllerResigned(reason)])\n    state.clear()\n",
        "    yield Journal([ControllerResigned(reason)])\n",
    ),
    Mutant(
        "never-stand-again",
        "nobody stands for election when /controller is deleted",
        FAILOVER,
        "    if holder is None:\n        yield from stand_for_election(state, event.now_ms)\n",
        "",
    ),
    Mutant(
        "leadership-before-brokers",
        "at failover brokers hear of leaders before they hear who is alive (KAFKA-4443)",
        FAILOVER,
        "    yield from tell_live_brokers(state, state.brokers)\n    yield from start_replicas(state)\n",
        "    yield from start_replicas(state)\n",
        fault="F28",
    ),
    # --- elections --------------------------------------------------------------------------
    Mutant(
        "choose-by-isr-order",
        "the head of the ISR is elected, not the head of the assignment (KAFKA-1503)",
        ELECTION,
        "leader = next((r for r in alive if r in isr), None)\n    if leader is None:\n        return None\n    return Choice(leader, tuple(r for r in isr if r in alive)",
        "leader = next((r for r in isr if r in alive), None)\n    if leader is None:\n        return None\n    return Choice(leader, tuple(r for r in isr if r in alive)",
        fault="F80",
    ),
    Mutant(
        "isr-not-shrunk",
        "an election leaves dead brokers in the ISR",
        ELECTION,
        "return Choice(leader, tuple(r for r in isr if r in alive), recipients=alive)",
        "return Choice(leader, isr, recipients=alive)",
    ),
    Mutant(
        "elect-out-of-sync",
        "any live replica may be elected, in sync or not",
        ELECTION,
        "leader = next((r for r in alive if r in isr), None)\n    if leader is None:\n        return None\n    return Choice(leader, tuple(r for r in isr if r in alive)",
        "leader = next(iter(alive), None)\n    if leader is None:\n        return None\n    return Choice(leader, (leader,)",
    ),
    Mutant(
        "unclean-by-default",
        "unclean election is on where nobody turned it on",
        ELECTIONS,
        "step.state.unclean_default if said is None else said",
        "True if said is None else said",
    ),
    Mutant(
        "leader-epoch-not-raised",
        "an election keeps the leader epoch",
        ELECTIONS,
        "LeaderEpoch(before.leader_epoch + 1),",
        "before.leader_epoch,",
    ),
    Mutant(
        "guess-the-version",
        "the version told to the leader is not the one ZooKeeper returned",
        ELECTIONS,
        "written = after.at(result)",
        "written = after",
        fault="F46",
    ),
    Mutant(
        "stale-cache-after-conflict",
        "a lost race is decided again on what was believed before",
        ELECTIONS,
        "        reads = yield from ask(ReadLeaderships(waiting))\n    for",
        "        reads = [p.leadership for p in waiting]\n    for",
    ),
    Mutant(
        "nothing-to-write-unseen",
        "that nothing need be written is believed without a look",
        LOOKUP,
        "        if known is None or not leads_to_write(partition, known):\n",
        "        if known is None:\n",
    ),
    Mutant(
        "conflict-is-failure",
        "an election that lost a race is not held again",
        ELECTIONS,
        "CONFLICTS_MAX: Final = 10",
        "CONFLICTS_MAX: Final = 1",
    ),
    Mutant(
        "send-before-write",
        "replicas are told the outcome of an election before it is written",
        ELECTIONS,
        "        results = yield from ask(WriteLeaderships(fence_of(step.state), elected.writes))\n",
        "        for write, choice in zip(elected.writes, elected.choices):\n"
        "            step.state.set_leadership(write.partition, write.leadership)\n"
        "            step.batch.add_leader_and_isr(choice.recipients, write.partition, is_new=False)\n"
        "        yield from step.batch.send()\n"
        "        results = yield from ask(WriteLeaderships(fence_of(step.state), elected.writes))\n",
    ),
    Mutant(
        "tell-the-leader-only",
        "followers do not hear of an election",
        ELECTIONS,
        "step.batch.add_leader_and_isr(choice.recipients, partition, is_new=is_new)",
        "step.batch.add_leader_and_isr((choice.leader,), partition, is_new=is_new)",
    ),
    Mutant(
        "dead-replicas-begin-in-sync",
        "a new partition's first ISR has all assigned replicas, dead ones too",
        ELECTIONS,
        "alive[0], FIRST_LEADER_EPOCH, alive, state.controller_epoch, ZkVersion(0)",
        "alive[0], FIRST_LEADER_EPOCH, partition.assignment.replicas, state.controller_epoch, ZkVersion(0)",
    ),
    # --- replicas ---------------------------------------------------------------------------
    Mutant(
        "empty-the-last-isr-member",
        "the last member of an ISR is dropped when it dies (KAFKA-708)",
        REPLICAS,
        "isr if len(isr) == 1 else _others(isr, broker_id),",
        "_others(isr, broker_id),",
        fault="F44",
    ),
    Mutant(
        "dead-leader-stays-leader",
        "a replica that goes offline keeps the leadership",
        REPLICAS,
        "NO_LEADER if before.leader == broker_id else before.leader,",
        "before.leader,",
        fault="F44",
    ),
    Mutant(
        "shrink-without-epoch",
        "taking a replica out of the ISR keeps the leader epoch",
        REPLICAS,
        "LeaderEpoch(before.leader_epoch + 1),",
        "before.leader_epoch,",
    ),
    Mutant(
        "shrink-untold",
        "the other replicas do not hear that one left the ISR",
        REPLICAS,
        "        step.batch.add_leader_and_isr(others, partition, is_new=False)\n",
        "        step.batch.add_update_metadata(step.state.brokers, (partition,))\n",
        fault="F46",
    ),
    # --- brokers ----------------------------------------------------------------------------
    Mutant(
        "forget-a-bounce",
        "a broker that died and came back between two looks is not noticed (KAFKA-7235)",
        BROKERS,
        "if b in state.brokers and readable[b].broker_epoch > state.brokers[b].broker_epoch",
        "if False",
        fault="F32",
    ),
    Mutant(
        "returning-broker-hosts-nothing",
        "a broker that comes back is not told what it hosts",
        BROKERS,
        "    yield from move_replicas(state, hosted, ReplicaState.ONLINE)\n",
        "",
    ),
    Mutant(
        "returning-broker-helps-nobody",
        "offline partitions are not tried when a broker comes",
        BROKERS,
        "    yield from try_online(state)\n    yield from resume_reassignments_to(state, arrived)\n",
        "    yield from resume_reassignments_to(state, arrived)\n",
    ),
    Mutant(
        "newcomer-knows-nothing",
        "a new broker gets no metadata of the partitions that are there",
        BROKERS,
        "    yield from everything.send()\n",
        "",
    ),
    Mutant(
        "dead-broker-leads-on",
        "partitions of a dead leader are not elected anew",
        BROKERS,
        "    yield from move_partitions(state, leaderless, PartitionState.OFFLINE)\n",
        "    leaderless = {}\n",
    ),
    Mutant(
        "requests-for-any-life",
        "requests do not say for which life of the broker they are",
        BATCH,
        "                yield broker_id, registered.broker_epoch",
        "                yield broker_id, BrokerEpoch(-1)",
        fault="F32",
    ),
    # --- topics, ISR changes, indexes ---------------------------------------------------------
    Mutant(
        "new-topics-unseen",
        "a topic that is created is not served",
        TOPICS,
        "    yield from _serve_new(state, topics)\n\n\ndef on_topic_changed",
        "\n\ndef on_topic_changed",
    ),
    Mutant(
        "added-partitions-unseen",
        "partitions added to a topic are not served",
        TOPICS,
        "    added = {i: a for i, a in read.partitions.items() if i not in topic.partitions}\n",
        "    added = {}\n",
    ),
    Mutant(
        "isr-for-the-dead",
        "a leader may take dead brokers into its ISR (KAFKA-14140)",
        ISR,
        "if any(member not in state.electable for member in others):",
        "if False:",
    ),
    Mutant(
        "isr-from-old-leaders",
        "a leader of an earlier epoch may change the ISR",
        ISR,
        "    if proposal.leader_epoch < current.leader_epoch:\n        return ErrorCode.FENCED_LEADER_EPOCH\n",
        "    proposal = type(proposal)(proposal.topic, proposal.partition, current.leader_epoch,"
        " proposal.isr, current.zk_version)\n",
        # So far leaders change only with the life of a broker, and its epoch is compared first.
        test="tests/unit/core/test_isr_changes.py",
    ),
    Mutant(
        "repeated-isr-request-refused",
        "an ISR request whose answer was lost is refused when repeated (KAFKA-14144)",
        ISR,
        "        return ErrorCode.NONE\n    if proposal.zk_version < current.zk_version:",
        "        return ErrorCode.INVALID_UPDATE_VERSION\n    if proposal.zk_version < current.zk_version:",
        fault="F47",
    ),
    Mutant(
        "notifications-unread",
        "ISR changes that leaders announce are not looked at",
        ISR,
        "    yield from refresh(state, list(changed))\n    batch = RequestBatch(state)\n    batch.add_update_metadata(state.brokers, changed)",
        "    batch = RequestBatch(state)\n    batch.add_update_metadata(state.brokers, changed)",
        fault="F50",
    ),
    Mutant(
        "offline-count-drifts",
        "a partition that comes online is still counted as offline",
        STATE,
        "            elif before is OFFLINE:\n                self.offline_partition_count -= 1\n",
        "",
    ),
    Mutant(
        "the-next-session-too-early",
        "a new session begins before what the last one held is given up",
        "regent.sim.zookeeper_link",
        "        self._may_connect = False\n        self._answer_all(ZkError.SESSION_EXPIRED)\n",
        "        self._answer_all(ZkError.SESSION_EXPIRED)\n        self._connect()\n",
        test="tests/unit/sim/test_zookeeper_link.py",
    ),
    Mutant(
        "abandon-what-waits-for-a-move",
        "a topic whose deletion waits for a reassignment is no longer led",
        STATE,
        "return topic in self.topics_in_deletion or not self.reassigning_in(topic)",
        "return bool(topic)",
        test="tests/unit/core/test_topic_deletion.py",
    ),
    *museum_a.MUTANTS,
    *museum_b.MUTANTS,
    *museum_c.MUTANTS,
    *runtime.MUTANTS,
)
