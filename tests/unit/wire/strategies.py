"""Random requests of the model, small ones, with every corner of a number in them."""

from hypothesis import strategies as st

from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    UpdateMetadata,
)
from regent.model.ids import BrokerEpoch, BrokerId, ControllerEpoch, LeaderEpoch, ZkVersion
from regent.model.leadership import Leadership
from tests.unit.wire.samples import ORDERS_ID

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
BROKER_ID = INT32.map(BrokerId)
BROKER_IDS = st.lists(BROKER_ID, max_size=3).map(tuple)
#: Few topics, so that their partitions come together and apart again.
TOPIC = st.sampled_from(("a", "b", "orders", "ü" * 70))
TOPIC_IDS = st.lists(
    st.tuples(TOPIC, st.sampled_from((ORDERS_ID, "AAAAAAAAAAAAAAAAAAAAAQ", "not an id"))),
    unique_by=lambda pair: pair[0],
    max_size=4,
).map(tuple)
# A list longer than 127 has two bytes of count in the compact form.
LONG_IDS = st.integers(126, 130).map(lambda count: tuple(map(BrokerId, range(count))))

LEADERSHIP = st.builds(
    Leadership,
    leader=BROKER_ID,
    leader_epoch=INT32.map(LeaderEpoch),
    isr=BROKER_IDS | LONG_IDS,
    controller_epoch=INT32.map(ControllerEpoch),
    zk_version=INT32.map(ZkVersion),
    recovering=st.booleans(),
)
ASSIGNMENT = st.builds(
    Assignment, replicas=BROKER_IDS | LONG_IDS, adding=BROKER_IDS, removing=BROKER_IDS
)
LEADER_AND_ISR_PARTITION = st.builds(
    LeaderAndIsrPartition,
    topic=TOPIC,
    partition=INT32,
    leadership=LEADERSHIP,
    assignment=ASSIGNMENT,
    is_new=st.booleans(),
)
LEADER_AND_ISR = st.builds(
    LeaderAndIsr,
    controller_id=BROKER_ID,
    controller_epoch=INT32.map(ControllerEpoch),
    broker_epoch=INT64.map(BrokerEpoch),
    partitions=st.lists(LEADER_AND_ISR_PARTITION, max_size=6).map(tuple),
    live_leaders=st.lists(st.integers(1, 4).map(BrokerId), max_size=3).map(tuple),
    topic_ids=TOPIC_IDS,
)
PARTITION_METADATA = st.builds(
    PartitionMetadata,
    topic=TOPIC,
    partition=INT32,
    controller_epoch=INT32.map(ControllerEpoch),
    leader=BROKER_ID | st.just(BrokerId(-2)),
    leader_epoch=INT32.map(LeaderEpoch),
    isr=BROKER_IDS,
    zk_version=INT32.map(ZkVersion),
    replicas=BROKER_IDS | LONG_IDS,
    offline_replicas=BROKER_IDS,
)
ENDPOINT = st.builds(
    Endpoint,
    host=st.sampled_from(("one.example", "two.example", "")),
    port=INT32,
    listener=st.sampled_from(("PLAINTEXT", "SAFE")),
    security_protocol=st.sampled_from(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "?")),
)
BROKER = st.builds(
    Broker,
    broker_id=BROKER_ID,
    endpoints=st.lists(ENDPOINT, max_size=3).map(tuple),
    rack=st.none() | st.sampled_from(("", "r1")),
)
UPDATE_METADATA = st.builds(
    UpdateMetadata,
    controller_id=BROKER_ID,
    controller_epoch=INT32.map(ControllerEpoch),
    broker_epoch=INT64.map(BrokerEpoch),
    partitions=st.lists(PARTITION_METADATA, max_size=6).map(tuple),
    live_brokers=st.lists(BROKER, max_size=3).map(tuple),
    topic_ids=TOPIC_IDS,
)
