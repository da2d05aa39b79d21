"""Creating topics: each topic's config and assignment in one multi, or neither.

Whoever comes second finds the topic there, and has not touched the config of whoever came first.
A config that is left over from an earlier topic of the name is replaced.
"""

from collections.abc import Sequence

from regent.core.asks import CreateTopicZnodes, TopicCreation, WriteFailure
from regent.zookeeper import paths
from regent.zookeeper.exchange import Exchange, read_many
from regent.zookeeper.fencing import ROUNDS_MAX, Op, send_fenced
from regent.zookeeper.store import Create, Data, SetData, ZkError
from regent.zookeeper.znodes import encode_config, encode_topic


def create_topic_znodes(ask: CreateTopicZnodes) -> Exchange[tuple[WriteFailure | None, ...]]:
    """Every topic by itself: look, write what is missing, and look again after a failure."""
    results: dict[int, WriteFailure | None] = {}
    #: An attempt at these was lost on the way, so the topic may be there by our own hand.
    doubtful: dict[int, None] = {}
    for _ in range(ROUNDS_MAX):
        unsettled = [index for index in range(len(ask.creations)) if index not in results]
        batches = yield from _look(ask.creations, unsettled, results, doubtful)
        if not batches:
            break
        outcomes = yield from send_fenced(ask.fence, list(batches.values()))
        for index, outcome in zip(batches, outcomes, strict=True):
            if outcome.results:
                results[index] = None
            elif outcome.lost:
                doubtful[index] = None
            elif outcome.error is ZkError.BAD_ARGUMENTS:
                results[index] = WriteFailure.TOO_LARGE
    return tuple(results.get(i, WriteFailure.CONFLICT) for i in range(len(ask.creations)))


def _look(
    creations: Sequence[TopicCreation],
    unsettled: Sequence[int],
    results: dict[int, WriteFailure | None],
    doubtful: dict[int, None],
) -> Exchange[dict[int, list[Op]]]:
    """Settle the topics that are there; for the others, the writes that make them."""
    names = [creations[index].topic for index in unsettled]
    topics = yield from read_many([paths.topic(name) for name in names])
    configs = yield from read_many([paths.topic_config(name) for name in names])
    batches: dict[int, list[Op]] = {}
    for index, topic, config in zip(unsettled, topics, configs, strict=True):
        if topic is None:
            batches[index] = _writes(creations[index], config)
        else:
            is_ours = index in doubtful and _is_made_of(topic, creations[index])
            results[index] = None if is_ours else WriteFailure.EXISTS
    return batches


def _writes(creation: TopicCreation, config: Data | None) -> list[Op]:
    """Config first: as soon as a topic can be seen, so can what is configured on it."""
    config_path, content = paths.topic_config(creation.topic), encode_config(creation.configs)
    return [
        Create(config_path, content) if config is None else SetData(config_path, content),
        Create(paths.topic(creation.topic), _topic_content(creation)),
    ]


def _is_made_of(topic: Data, creation: TopicCreation) -> bool:
    return topic.stat.version == 0 and topic.data == _topic_content(creation)


def _topic_content(creation: TopicCreation) -> bytes:
    return encode_topic(creation.topic_id, creation.partitions)
