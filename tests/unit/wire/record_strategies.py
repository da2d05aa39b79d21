"""Random Produce and Fetch, small ones, with every corner of a number in them."""

from hypothesis import strategies as st

from regent.model.error_codes import ErrorCode
from regent.model.ids import LeaderEpoch, TopicPartition
from regent.model.record_requests import (
    AbortedTransaction,
    AppendResult,
    FetchedRecords,
    FetchRecords,
    FetchRecordsAnswer,
    PartitionRecords,
    PartitionToFetch,
    Produce,
    ProduceAnswer,
    RecordError,
)
from tests.unit.wire.strategies import BROKER_ID, INT32, INT64, TOPIC

NAME = st.builds(TopicPartition, TOPIC, INT32)
TEXT = st.none() | st.sampled_from(("", "why", "ü" * 70))
RECORDS = st.none() | st.binary(max_size=20)
ERROR = st.sampled_from(ErrorCode)

PRODUCE = st.builds(
    Produce,
    acks=st.integers(-(2**15), 2**15 - 1),
    timeout_ms=INT32,
    partitions=st.lists(st.builds(PartitionRecords, NAME, RECORDS), max_size=6).map(tuple),
    transactional_id=TEXT,
)
APPEND_RESULT = st.builds(
    AppendResult,
    name=NAME,
    error=ERROR,
    base_offset=INT64,
    # kio has a datetime there, which goes to the year 9999.
    log_append_time_ms=st.integers(-1, 4_000_000_000_000),
    log_start_offset=INT64,
    record_errors=st.lists(st.builds(RecordError, INT32, TEXT), max_size=3).map(tuple),
    message=TEXT,
)
PRODUCE_ANSWER = st.builds(ProduceAnswer, st.lists(APPEND_RESULT, max_size=6).map(tuple))
PARTITION_TO_FETCH = st.builds(
    PartitionToFetch,
    name=NAME,
    fetch_offset=INT64,
    max_bytes=INT32,
    current_leader_epoch=INT32.map(LeaderEpoch),
    log_start_offset=INT64,
)
FETCH = st.builds(
    FetchRecords,
    partitions=st.lists(PARTITION_TO_FETCH, max_size=6).map(tuple),
    max_wait_ms=INT32,
    min_bytes=INT32,
    max_bytes=INT32,
    replica_id=BROKER_ID,
    isolation_level=st.integers(-128, 127),
    session_id=INT32,
    session_epoch=INT32,
    forgotten=st.lists(NAME, max_size=4).map(tuple),
    rack_id=st.sampled_from(("", "r1", "ü")),
)
FETCHED = st.builds(
    FetchedRecords,
    name=NAME,
    error=ERROR,
    high_watermark=INT64,
    last_stable_offset=INT64,
    log_start_offset=INT64,
    aborted_transactions=st.none()
    | st.lists(st.builds(AbortedTransaction, INT64, INT64), max_size=3).map(tuple),
    preferred_read_replica=BROKER_ID,
    records=RECORDS,
)
FETCH_ANSWER = st.builds(
    FetchRecordsAnswer,
    error=ERROR,
    session_id=INT32,
    partitions=st.lists(FETCHED, max_size=6).map(tuple),
)
