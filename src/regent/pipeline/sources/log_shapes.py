"""What a row of the grammar of Kafka's logs is, and what a line of that shape becomes.

A template is the sentence of a log line after its prefix. `{name}` stands for a value of
`log_values.VALUES`, `<<...>>` for words that may be missing. The first letter may be of either
case: before 1.0 the sentence went on after `Controller 1 epoch 2` and began with a small one.

Where a line says what the journal would say it becomes the journal's kind of record. The kinds that
only logs have are in `LOG_KINDS`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from regent.pipeline.sources.log_values import BROKERS, PARTITIONS, TOPICS, Fields

#: The kind of a transition, and its columns.
Said: TypeAlias = tuple[str, Fields]
Meaning: TypeAlias = Callable[["Shape", Fields], Sequence[Said]]


class LogFile(StrEnum):
    """Which of a node's logs a line stands in."""

    STATE_CHANGE = "state-change.log"
    CONTROLLER = "controller.log"


class Who(StrEnum):
    """In which of its two roles a node speaks."""

    CONTROLLER = "controller"
    BROKER = "broker"


def as_said(shape: "Shape", fields: Fields) -> Sequence[Said]:
    """One transition of each kind, with everything that the line says."""
    fields.update(shape.constants)
    return [(kind, fields) for kind in shape.kinds]


class Shape(Struct, frozen=True, kw_only=True):
    """One form of one log line."""

    name: str
    #: The releases that print it, among those that were looked at.
    since: str
    until: str
    levels: str
    template: str
    kinds: tuple[str, ...]
    #: Columns that the sentence implies.
    constants: Mapping[str, object] = MappingProxyType({})
    meaning: Meaning = as_said


class ShapeTable(Struct, frozen=True):
    """The shapes of one speaker in one file."""

    file: LogFile
    who: Who
    shapes: tuple[Shape, ...]
    #: For people, in the page on logs.
    does: str = "says"


# --- lines about several things ---------------------------------------------------------------


def each_broker(shape: Shape, fields: Fields) -> Sequence[Said]:
    """One transition for each broker that the line lists."""
    return _each(shape, fields, ({"broker_id": broker} for broker in fields[BROKERS]))


def each_receiver(shape: Shape, fields: Fields) -> Sequence[Said]:
    """One request for each broker that the line lists; to nobody, none."""
    sent, nothing = shape.kinds
    fields.update(shape.constants)
    said = [(sent, {**fields, "broker_id": broker}) for broker in fields[BROKERS]]
    return said or [(nothing, fields)]


def each_broker_epoch(shape: Shape, fields: Fields) -> Sequence[Said]:
    """One transition for each broker that the line lists, with its epoch."""
    return _each(
        shape,
        fields,
        ({"broker_id": broker, "broker_epoch": epoch} for broker, epoch in fields[BROKERS]),
    )


def each_partition(shape: Shape, fields: Fields) -> Sequence[Said]:
    """One transition for each partition that the line lists."""
    return _each(
        shape,
        fields,
        ({"topic": topic, "partition": partition} for topic, partition in fields[PARTITIONS]),
    )


def each_topic(shape: Shape, fields: Fields) -> Sequence[Said]:
    """One transition for each topic that the line lists."""
    return _each(shape, fields, ({"topic": topic} for topic in fields[TOPICS]))


def _each(shape: Shape, fields: Fields, members: Iterable[Fields]) -> Sequence[Said]:
    """A line that lists nobody is still a line."""
    said = [one for member in members for one in as_said(shape, {**fields, **member})]
    return said or as_said(shape, fields)


def broker_set(shape: Shape, fields: Fields) -> Sequence[Said]:
    """Who left, who came; a broker that bounced did both before anybody noticed."""
    deleted, bounced, added = (fields.get(name, ()) for name in ("_deleted", "_bounced", "_added"))
    listed, down, up = shape.kinds
    return [
        (listed, {}),
        *((down, {"broker_id": broker, "bounced": False}) for broker in deleted),
        *((down, {"broker_id": broker, "bounced": True}) for broker in bounced),
        *((up, {"broker_id": broker, "loaded": False}) for broker in (*bounced, *added)),
    ]


def election(shape: Shape, fields: Fields) -> Sequence[Said]:
    """An election is unclean when it leaves the leader alone and recovering.

    Before 3.2 a line does not say whether it was.
    """
    is_recovering = fields.get("recovering")
    if is_recovering is not None:
        fields["unclean"] = is_recovering and len(fields["isr"]) == 1
    del fields["after"]
    return as_said(shape, fields)


def reassignment_step(shape: Shape, fields: Fields) -> Sequence[Said]:
    """An assignment with replicas to add or remove opens a reassignment, one without ends it."""
    changed, advanced = shape.kinds
    is_open = fields["adding"] or fields["removing"]
    return [(changed, fields), (advanced, {**fields, "phase": "U" if is_open else "B"})]


def sum_of_counts(shape: Shape, fields: Fields) -> Sequence[Said]:
    """Two counts in one line are one number of partitions."""
    fields["partition_count"] += fields["_more"]
    return as_said(shape, fields)


# --- the kinds that only logs have ------------------------------------------------------------

# fmt: off
LOG_KINDS: Final[Mapping[str, str]] = MappingProxyType({
    # said by a controller
    "leadership_told":          "The controller put a partition's leadership into a request.",
    "stop_told":                "The controller put a replica into a StopReplica request.",
    "nothing_sent":             "A request had nobody to go to.",
    "answer_refused":           "A broker's answer was an error; the answer has a line of its own.",
    "election_started":         "The controller began to elect a leader for a partition.",
    "leader_named":             "The controller chose a leader; the election is not written yet.",
    "unclean_leader_chosen":    "Nobody in the ISR is alive, so another replica was chosen.",
    "isr_kept":                 "The last member of an ISR died, and stays in it.",
    "leader_epoch_updated":     "The leader epoch of a partition was raised; the line has no more.",
    "reassignment_not_told":    "The leader of a partition being reassigned could not be told.",
    "reassignment_caught_up":   "The replicas that a reassignment adds are in sync.",
    "reassignment_leader_seen": "Whether the leader of a partition being reassigned may stay.",
    "reassignments_forgotten":  "The plan in ZooKeeper got shorter.",
    "reassignments_done":       "The plan in ZooKeeper is empty and was deleted.",
    "deletion_considered":      "The controller looked whether topics can be deleted.",
    "deletion_waits":           "A topic's deletion is not tried again now.",
    "elections_requested":      "Elections were asked for, by a person or the balance.",
    "preferred_elected":        "An election of the preferred leader succeeded.",
    "preferred_not_elected":    "An election of the preferred leader changed nothing.",
    "balance_started":          "The controller looks whether leadership is balanced.",
    "controller_starting":      "The node begins to become controller; its epoch follows.",
    "controller_won":           "The node took `/controller`; its epoch follows.",
    "controller_ready":         "The controller has taken office.",
    "controller_known":         "Another node is controller.",
    "controller_vanished":      "A controller was elected and resigned before anybody looked.",
    "controller_fenced":        "The controller learned that another had taken over.",
    "controller_forced_out":    "The controller met an illegal state and resigns.",
    "session_expired":          "The node's ZooKeeper session expired.",
    "brokers_listed":           "The controller looked which brokers are live.",
    "broker_epoch_known":       "The controller noted the epoch of a live broker.",
    "broker_start_handled":     "The controller reacts to a broker that came.",
    "broker_failure_handled":   "The controller reacts to a broker that left.",
    "shutdown_forgotten":       "A broker that was shutting down is gone.",
    "topics_listed":            "The controller looked which topics there are.",
    "partition_created":        "The controller learned of a new partition.",
    "topic_created":            "The controller learned of a new topic with this partition.",
    "log_dirs_checked":         "A broker said that a log directory failed; it will be asked.",
    "channel_connected":        "The controller is connected to a broker.",
    "channel_failed":           "The controller could not connect to a broker.",
    "request_not_sent":         "Sending a request failed; it will be tried again.",
    "request_dropped":          "A request was thrown away, since its broker is offline.",
    "features_written":         "The controller wrote the cluster's features.",
    "isr_updated":              "An ISR that a leader asked for was written; the line has no more.",
    "noted":                    "The controller notes a step of its work that no table needs.",
    # said by a broker
    "leadership_heard":         "The broker was told a partition's leadership.",
    "request_received":         "The broker begins to obey a request.",
    "request_handled":          "The broker has obeyed a request.",
    "request_refused":          "The broker ignores a request, or one partition of it.",
    "request_failed":           "The broker met an error while it obeyed a request.",
    "role_change_started":      "The broker begins to lead or to follow a partition.",
    "role_change_finished":     "The broker now leads or follows a partition.",
    "role_change_skipped":      "The broker led or followed the partition already.",
    "role_change_failed":       "The broker cannot follow, since it does not know the leader.",
    "role_step_skipped":        "The broker left out a step of following, since it goes down.",
    "recovery_ended":           "The leader of an unclean election has taken it in.",
    "leader_started":           "The broker leads a partition from here on.",
    "follower_started":         "The broker follows a partition's leader from here on.",
    "fetchers_stopped":         "The broker stopped to fetch.",
    "fetcher_started":          "The broker began to fetch from a new leader.",
    "log_truncated":            "The broker cut a log back to where it agrees with the leader.",
    "topic_id_mismatch":        "The broker knows a topic under another id than the controller.",
    "topic_id_adopted":         "The broker noted a topic's id.",
    "stop_heard":               "The broker was told to stop a replica.",
    "stop_started":             "The broker begins to stop a replica.",
    "stop_finished":            "The broker has stopped a replica.",
    "metadata_cached":          "The broker noted a partition's leadership for its clients.",
    "metadata_forgotten":       "The broker forgot a partition, for its clients.",
    "metadata_updated":         "The broker noted so many changes for its clients.",
    "kraft_said":               "A line about KRaft, which has no such controller.",
})
# fmt: on
