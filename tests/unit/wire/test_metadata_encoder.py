"""The answer to Metadata, written by hand, has the very bytes that Kafka and kio write."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regent.model.cluster_requests import (
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import LeaderEpoch
from regent.wire.apis import ApiKey
from regent.wire.cluster import metadata_answer_values
from regent.wire.metadata_encoder import MetadataEncoder
from regent.wire.payloads import encode_payload, response_schema
from tests.unit.wire import samples
from tests.unit.wire.strategies import BROKER_ID, BROKER_IDS, INT32, LONG_IDS, TOPIC

VERSIONS = range(9)
ERROR = st.sampled_from(ErrorCode)
PARTITION = st.builds(
    PartitionDescription,
    partition=INT32,
    error=ERROR,
    leader=BROKER_ID,
    leader_epoch=INT32.map(LeaderEpoch),
    replicas=BROKER_IDS | LONG_IDS,
    isr=BROKER_IDS,
    offline_replicas=BROKER_IDS,
)
ANSWER = st.builds(
    MetadataAnswer,
    nodes=st.lists(
        st.builds(
            NodeAddress,
            node_id=BROKER_ID,
            host=st.sampled_from(("one.example", "")),
            port=INT32,
            rack=st.none() | st.sampled_from(("", "r1")),
        ),
        max_size=3,
    ).map(tuple),
    cluster_id=st.none() | st.sampled_from(("", samples.CLUSTER_ID)),
    controller_id=BROKER_ID,
    topics=st.lists(
        st.builds(
            TopicDescription,
            topic=TOPIC,
            error=ERROR,
            is_internal=st.booleans(),
            partitions=st.lists(PARTITION, max_size=4).map(tuple),
            operations=INT32,
        ),
        max_size=3,
    ).map(tuple),
    cluster_operations=INT32,
)


def written_by_hand(answer: MetadataAnswer, version: int) -> bytes:
    encoder = MetadataEncoder(version)
    topics = map(encoder.topic, answer.topics)
    return encoder.head(answer, len(answer.topics)) + b"".join(topics) + encoder.tail(answer)


def written_by_kio(answer: MetadataAnswer, version: int) -> bytes:
    return encode_payload(response_schema(ApiKey.METADATA, version), metadata_answer_values(answer))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_sample_is_written_as_kio_writes_it(version: int) -> None:
    """The sample is one of the golden messages, so this is also what Kafka writes."""
    answer = samples.answer_of("Metadata", version)
    assert isinstance(answer, MetadataAnswer)

    assert written_by_hand(answer, version).hex() == written_by_kio(answer, version).hex()


@settings(max_examples=100, deadline=None)
@given(answer=ANSWER, version=st.sampled_from(VERSIONS))
def test_any_answer_is_written_as_kio_writes_it(answer: MetadataAnswer, version: int) -> None:
    assert written_by_hand(answer, version) == written_by_kio(answer, version)
