"""Facts in words: the kind of thing that happened, and a line of text, for every fact.

What a controller writes at once and of one kind, such as the moves of a topic's replicas, shares a
line. Whoever shows facts to people, as they come or afterwards, puts them like this.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from regent.model import facts
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId


def shares_a_line(fact: facts.FactBase) -> bool:
    """Whether others of its kind may stand beside it."""
    return type(fact) in _SHARED


def line_key(fact: facts.FactBase) -> tuple[Any, ...]:
    """What facts that share a line have in common."""
    names = _SHARED.get(type(fact), ())
    return type(fact), *(getattr(fact, name) for name in names)


def put_in_words(together: Sequence[facts.FactBase]) -> tuple[str, str]:
    """The kind and the text of one line; no text for what is not worth a line."""
    fact_class = type(together[0])
    kind, describe = WORDS[fact_class]
    return kind, describe(together if fact_class in _SHARED else together[0])


# --- one by one -----------------------------------------------------------------------------------
#
# The facts are `Any` because the table below, not the signature, ties them to their kind.


def _describe_partition_moves(moved: Any) -> str:
    numbers = _ids(fact.partition for fact in moved)
    return f"{moved[0].topic}-{numbers} {moved[0].before.value} → {moved[0].after.value}"


def _describe_replica_moves(moved: Any) -> str:
    before, after = moved[0].replica_before.value, moved[0].replica_after.value
    return f"{moved[0].topic}-{_where(moved)} {before} → {after}"


def _describe_requests(sent: Any) -> str:
    told = ", ".join(f"{fact.broker_id} ({fact.partition_count})" for fact in sent)
    return f"{sent[0].api} to {told}"


def _describe_brokers(came: Any) -> str:
    return _ids(f.broker_id for f in came) + (" found alive" if came[0].loaded else " up")


def _describe_topics(loaded: Any) -> str:
    return ", ".join(f"{fact.topic} ({_count(len(fact.partitions))})" for fact in loaded)


def _describe_deletion(fact: Any) -> str:
    why = "" if fact.reason is None else f": {fact.reason}"
    return f"deletion of {fact.topic} {fact.phase}{why}"


def _describe_dead_replicas(fact: Any) -> str:
    if not fact.offline_brokers:
        return ""
    return f"{fact.topic} has dead replicas on {_ids(fact.offline_brokers)}"


def _describe_start(fact: Any) -> str:
    found = ((fact.new, "NewPartition"), (fact.offline, "OfflinePartition"))
    return ", ".join(f"{fact.topic}-{_ids(which)} is {word}" for which, word in found if which)


def _describe_election(fact: Any) -> str:
    way = fact.before.value + (", unclean" if fact.unclean else "")
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader_before)}→{_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({way})"
    )


def _describe_isr(fact: Any, why: str) -> str:
    return (
        f"{fact.topic}-{fact.partition} leader {_leader(fact.leader)}"
        f" isr {_ids(fact.isr)} epoch {fact.leader_epoch} ({why})"
    )


def _describe_refused_move(fact: Any) -> str:
    after = fact.replica_after or fact.after
    where = "" if fact.broker_id is None else f" on {fact.broker_id}"
    target = "" if after is None else f" → {after.value}"
    return f"{fact.topic}-{fact.partition}{where}{target}: {fact.reason}"


def _describe_answer(fact: Any) -> str:
    """Only a refusal is worth a line."""
    if fact.error is not ErrorCode.NONE:
        return f"{fact.api} by {fact.broker_id}: {fact.error.name}"
    if fact.partition_count:
        return f"{fact.api} by {fact.broker_id}: {_count(fact.partition_count)} refused"
    return ""


def _describe_refused_call(fact: Any) -> str:
    caller = "" if fact.broker_id is None else f" of {fact.broker_id}"
    subject = "" if fact.topic is None else f" for {fact.topic}-{fact.partition}"
    reason = "" if fact.reason is None else f", {fact.reason}"
    return f"{fact.api}{caller}{subject}: {fact.error.name}{reason}"


def _describe_shutdown(fact: Any) -> str:
    return f"{fact.broker_id} is shutting down, leads {_count(fact.partition_count)}"


def _describe_log_dir(fact: Any) -> str:
    served = "is served again" if fact.loaded else "is in a failed log directory"
    return f"{fact.topic}-{fact.partition} on {fact.broker_id} {served}"


def _describe_balance(fact: Any) -> str:
    return f"{fact.broker_id} leads too little, {_count(fact.partition_count)} to move back"


def _describe_reassignment(fact: facts.ReassignmentAdvanced) -> str:
    phases = {"U": "recorded", "A": "under way", "B": "finished", "C": "cancelled"}
    return f"the move of {fact.topic}-{fact.partition} is {phases[fact.phase]}"


def _describe_assignment(fact: Any) -> str:
    return f"{fact.topic}-{fact.partition} replicas {_ids(fact.replicas)}"


def _gone(fact: Any) -> str:
    return "bounced" if fact.bounced else "down"


def _ids(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers)) or "none"


def _leader(broker_id: BrokerId) -> str:
    return str(broker_id) if broker_id >= 0 else "none"


def _count(partition_count: int) -> str:
    return "1 partition" if partition_count == 1 else f"{partition_count} partitions"


def _where(moved: list[facts.ReplicaMoved]) -> str:
    """Partitions by the replicas that moved: `0,1 on 2,3` when they are the same for each."""
    by_partition = {
        partition: tuple(fact.broker_id for fact in group)
        for partition, group in groupby(
            sorted(moved, key=lambda fact: fact.partition), key=lambda fact: fact.partition
        )
    }
    by_brokers: dict[tuple[BrokerId, ...], list[int]] = {}
    for partition, brokers in by_partition.items():
        by_brokers.setdefault(brokers, []).append(partition)
    return "; ".join(f"{_ids(p)} on {_ids(b)}" for b, p in by_brokers.items())


#: Facts of these kinds share a line when they come together and agree in these fields.
_SHARED: Final[Mapping[type, tuple[str, ...]]] = {
    facts.PartitionMoved: ("topic", "before", "after"),
    facts.ReplicaMoved: ("topic", "replica_before", "replica_after"),
    facts.RequestSent: ("api",),
    facts.BrokerUp: ("loaded",),
    facts.TopicLoaded: (),
}

#: The fourth column and the fifth, for every fact; what is told by no words has no line.
# fmt: off
WORDS: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    facts.ControllerElected:  ("controller", lambda _: "elected"),
    facts.ControllerResigned: ("controller", lambda f: f"resigned: {f.reason}"),
    facts.EventFailed:        ("controller", lambda f: f"failed: {f.reason}"),
    facts.BrokerUp:           ("broker",     _describe_brokers),
    facts.BrokerDown:         ("broker",     lambda f: f"{f.broker_id} " + _gone(f)),
    facts.BrokerUpdated:      ("broker",     lambda f: f"{f.broker_id} has other endpoints"),
    facts.ShutdownAdvanced:   ("broker",     _describe_shutdown),
    facts.LogDirFailed:       ("replica",    _describe_log_dir),
    facts.BalanceChecked:     ("broker",     _describe_balance),
    facts.TopicLoaded:        ("topic",      _describe_topics),
    facts.TopicForgotten:     ("topic",      lambda f: f"{f.topic} is gone"),
    facts.DeletionAdvanced:   ("topic",      _describe_deletion),
    facts.TopicIdGiven:       ("topic",      lambda f: f"{f.topic} has id {f.topic_id}"),
    facts.AssignmentChanged:  ("topic",      _describe_assignment),
    facts.ReassignmentAdvanced: ("topic",    _describe_reassignment),
    facts.PartitionsStarted:  ("partition",  _describe_start),
    facts.PartitionMoved:     ("partition",  _describe_partition_moves),
    facts.ReplicasStarted:    ("replica",    _describe_dead_replicas),
    facts.ReplicaMoved:       ("replica",    _describe_replica_moves),
    facts.LeaderElected:      ("election",   _describe_election),
    facts.IsrShrunk:          ("isr",        lambda f: _describe_isr(f, f"{f.broker_id} out")),
    facts.IsrAltered:         ("isr",        lambda f: _describe_isr(f, "asked by the leader")),
    facts.LeadershipLearned:  ("isr",        lambda f: _describe_isr(f, "found in ZooKeeper")),
    facts.LeaderEpochRaised:  ("isr",        lambda f: _describe_isr(f, "announced anew")),
    facts.RequestSent:        ("request",    _describe_requests),
    facts.RequestAnswered:    ("refused",    _describe_answer),
    facts.MoveRefused:        ("refused",    _describe_refused_move),
    facts.CallRefused:        ("refused",    _describe_refused_call),
    facts.ZnodeIsolated:      ("refused",    lambda f: f"{f.path} is left alone: {f.reason}"),
}
# fmt: on
