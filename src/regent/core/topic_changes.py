"""Topics that appear, grow or vanish."""

from collections.abc import Iterable, Sequence

from regent.core.asks import (
    ListTopics,
    Malformed,
    MintTopicIds,
    Procedure,
    ReadLeaderships,
    ReadTopics,
    TopicRead,
    TopicWrite,
    WriteTopics,
    ask,
    fence_of,
)
from regent.core.effects import Journal
from regent.core.events import TopicChanged, TopicsChanged
from regent.core.isolation import isolate
from regent.core.partition_machine import move_partitions
from regent.core.replica_machine import move_replicas
from regent.core.state import ControllerState, Partition, Topic
from regent.core.stray_replicas import bring_home
from regent.model.facts import Fact, LoadedPartition, TopicForgotten, TopicIdGiven, TopicLoaded
from regent.model.ids import BrokerId
from regent.model.leadership import Leadership
from regent.model.protocol_version import TOPIC_IDS_SINCE
from regent.model.states import PartitionState, ReplicaState


def on_topics_changed(state: ControllerState, _event: TopicsChanged) -> Procedure[None]:
    """Serve the topics that are new, forget those that are gone (T1)."""
    names = yield from ask(ListTopics())
    known = state.topics
    new = [name for name in names if name not in known]
    if len(known) + len(new) > len(names):  # Otherwise every known one is still listed.
        listed = dict.fromkeys(names)
        yield from _forget_topics(state, [name for name in known if name not in listed])
    topics = yield from load_topics(state, new)
    yield from _serve_new(state, topics)


def on_topic_changed(state: ControllerState, event: TopicChanged) -> Procedure[None]:
    """Serve the partitions that were added to a topic; nothing else in it is looked at (T2)."""
    read = (yield from ask(ReadTopics((event.topic,))))[event.topic]
    if read is None:
        return  # The change of the topic list tells.
    if isinstance(read, Malformed):
        yield from isolate(state, [read])
        return
    yield from isolate(state, _malformed({event.topic: read}), [_path(event.topic)])
    topic = state.topics.get(event.topic)
    if topic is None:
        # It could not be read before, and now it can.
        topics = yield from load_topics(state, [event.topic])
        partitions = [p for topic in topics for p in topic.partitions.values()]
        yield from read_leaderships(state, partitions)
        yield from _serve_new(state, topics)
        return
    yield from give_missing_ids(state, [topic])
    added = {i: a for i, a in read.partitions.items() if i not in topic.partitions}
    if not added:
        return
    if state.is_being_deleted(topic.name):
        # The set of partitions is frozen; otherwise the deletion would never be complete.
        kept = TopicWrite(
            topic.name, topic.topic_id, state.assignments_of(topic.name), is_whole=True
        )
        yield from ask(WriteTopics(fence_of(state), (kept,)))
        return
    partitions = [state.add_partition(topic, i, added[i]) for i in sorted(added)]
    yield Journal([_loaded(topic, partitions)])
    yield from _serve_new_partitions(state, partitions)


def _serve_new(state: ControllerState, topics: Sequence[Topic]) -> Procedure[None]:
    if topics:
        yield from bring_home(state, topics)
        partitions = [p for topic in topics for p in topic.partitions.values()]
        yield Journal([_loaded(topic, topic.partitions.values()) for topic in topics])
        yield from give_missing_ids(state, topics)
        yield from _serve_new_partitions(state, partitions)


def _serve_new_partitions(
    state: ControllerState, partitions: Sequence[Partition]
) -> Procedure[None]:
    """Partitions New, replicas New, partitions Online, replicas Online: in this order (T1)."""
    replicas: dict[BrokerId, list[Partition]] = {}
    for partition in partitions:
        for broker_id in partition.assignment.replicas:
            replicas.setdefault(broker_id, []).append(partition)
    yield from move_partitions(state, partitions, PartitionState.NEW)
    yield from move_replicas(state, replicas, ReplicaState.NEW)
    yield from move_partitions(state, partitions, PartitionState.ONLINE)
    yield from move_replicas(state, replicas, ReplicaState.ONLINE)


def _forget_topics(state: ControllerState, names: Sequence[str]) -> Procedure[None]:
    if names:
        for name in names:
            state.remove_topic(name)
        yield Journal([TopicForgotten(name) for name in names])


# --- loading ----------------------------------------------------------------------------------


def load_topics(state: ControllerState, names: Sequence[str]) -> Procedure[list[Topic]]:
    """Read these topics' assignments and know them; what cannot be read is isolated."""
    if not names:
        return []
    reads = yield from ask(ReadTopics(tuple(names)))
    yield from isolate(state, _malformed(reads), map(_path, names))
    topics = []
    for name in names:
        read = reads[name]
        if isinstance(read, TopicRead):
            topic = state.add_topic(name, read.topic_id)
            state.add_partitions(topic, read.partitions)
            topics.append(topic)
    return topics


def _malformed(reads: dict[str, TopicRead | Malformed | None]) -> Iterable[Malformed]:
    for name, read in reads.items():
        if isinstance(read, Malformed):
            yield read
        elif read is not None:
            for index, reason in read.malformed.items():
                yield Malformed(_path(name), f"partition {index}: {reason}")


def _path(topic: str) -> str:
    return f"/brokers/topics/{topic}"


def give_missing_ids(state: ControllerState, topics: Iterable[Topic]) -> Procedure[None]:
    """Topics made before there were ids get one, written before it is used.

    One with an unreadable partition waits: rewriting its znode would lose that entry.
    """
    if state.config.protocol < TOPIC_IDS_SINCE:
        return
    nameless = [t for t in topics if t.topic_id is None and _path(t.name) not in state.isolated]
    if not nameless:
        return
    minted = yield from ask(MintTopicIds(len(nameless)))
    writes = tuple(
        TopicWrite(topic.name, topic_id, state.assignments_of(topic.name))
        for topic, topic_id in zip(nameless, minted, strict=True)
    )
    results = yield from ask(WriteTopics(fence_of(state), writes))
    facts: list[Fact] = []
    for topic, topic_id, failure in zip(nameless, minted, results, strict=True):
        if failure is None:
            state.give_topic_id(topic, topic_id)
            facts.append(TopicIdGiven(topic.name, topic_id))
    if facts:
        yield Journal(facts)


def load_leaderships(state: ControllerState, partitions: Sequence[Partition]) -> Procedure[None]:
    """Read all leaderships in one go, then record each topic as it was found."""
    yield from read_leaderships(state, partitions)
    yield from bring_home(state, state.topics.values())
    yield Journal([_loaded(t, t.partitions.values()) for t in state.topics.values()])


def read_leaderships(state: ControllerState, partitions: Sequence[Partition]) -> Procedure[None]:
    """Know who leads these, as far as it can be read."""
    reads = yield from ask(ReadLeaderships(partitions))
    unreadable = []
    set_leadership = state.set_leadership
    for partition, read in zip(partitions, reads, strict=True):
        if isinstance(read, Leadership):
            set_leadership(partition, read)
            replicas = partition.assignment.replicas
            if read.isr != replicas and not all(r in replicas for r in read.isr):
                unreadable.append(_outside(partition, read))
        elif read is not None:
            state.unreadable[partition] = None
            unreadable.append(read)
    yield from isolate(state, unreadable)


def _outside(partition: Partition, read: Leadership) -> Malformed:
    """Reported, and served all the same: members outside the assignment are never elected."""
    strangers = [r for r in read.isr if r not in partition.assignment.replicas]
    return Malformed(
        f"/brokers/topics/{partition.topic}/partitions/{partition.index}/state",
        f"the ISR names {strangers}, which are not assigned",
    )


def _loaded(topic: Topic, partitions: Iterable[Partition]) -> TopicLoaded:
    return TopicLoaded(topic.name, tuple(map(_loaded_partition, partitions)), topic.topic_id)


def _loaded_partition(partition: Partition) -> LoadedPartition:
    assignment, leadership = partition.assignment, partition.leadership
    if leadership is None:
        return LoadedPartition(
            partition.index, assignment.replicas, assignment.adding, assignment.removing
        )
    return LoadedPartition(
        partition.index,
        assignment.replicas,
        assignment.adding,
        assignment.removing,
        leadership.leader,
        leadership.leader_epoch,
        leadership.isr,
        leadership.controller_epoch,
        leadership.zk_version,
        leadership.recovering,
    )
